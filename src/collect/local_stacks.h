/* collect/local_stacks.h: walks the user stacks of a recording of another program (format/user_stack.h) by the unwind tables of the
 * files of this machine.
 *
 * A wrong table leads astray without a word, so a file must be the one that was running: by its build id, or, where the recording
 * has none, by its inode (collect/local_file.h). A walk ends at code whose file is not to be had; the frames before it stay. The
 * table of each file is kept; past LOCAL_STACKS_MAX_BYTES no more are built. Memory is what came along of the stack, and code as it
 * is in the files. */
#ifndef CRESSET_COLLECT_LOCAL_STACKS_H
#define CRESSET_COLLECT_LOCAL_STACKS_H

#include "base/hash.h"
#include "base/vec.h"
#include "bpf/space.h"
#include "format/user_stack.h"
#include "unwind/table.h"

#define LOCAL_STACKS_MAX_BYTES (256ull << 20) /* of tables */
enum { LOCAL_STACKS_MAX_FRAMES = 4096 }; /* 64 KiB, the largest sample, in frames of 16 bytes */

/* Why a stack was not walked to where code was that can be. */
enum local_stacks_end {
	LOCAL_STACKS_WALKED, /* it was; that it may be cut elsewhere its marker says */
	LOCAL_STACKS_MACHINE,
	LOCAL_STACKS_REGISTERS,
	LOCAL_STACKS_MISSING,
	LOCAL_STACKS_DIFFERS,
	LOCAL_STACKS_UNVERIFIED,
	LOCAL_STACKS_UNREADABLE,
	LOCAL_STACKS_BUDGET,
	LOCAL_STACKS_ENDS
};
extern const char *const local_stacks_ends[LOCAL_STACKS_ENDS]; /* in words, after "n stacks" */

struct local_table {
	struct space_table kernel; /* what the walker sees */
	struct unwind_table table;
	enum local_stacks_end end; /* of walks that meet it */
};
struct local_stacks {     /* zeroed = empty */
	const char *home; /* where perf's cache .debug may be; NULL: not looked at */
	VEC(struct local_table) tables;
	struct map by_file;
	uint64_t bytes;
	VEC(uint64_t) frames; /* of the last walk */
	struct {
		bool is_open;
		uint32_t file; /* user_file.id */
		int fd;
	} code; /* the last file that code was read of */
	struct {
		uint64_t n;
		char *example; /* path of a file that was the reason; NULL: none */
	} ends[LOCAL_STACKS_ENDS];
};
void local_stacks_done(struct local_stacks *l);

/* stacks is a struct local_stacks: fits struct format_here. */
struct user_walk local_stacks_walk(void *stacks, const struct user_stack *s);

#endif
