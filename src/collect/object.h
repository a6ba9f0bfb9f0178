/* collect/object.h: what mappings point to: one entry per distinct file, whoever mapped it
 * wherever.
 *
 * Two objects are one when their build ids are equal, or, for files without, device, inode, size
 * and time of change. A file is opened when it is first seen (a record) or first needed (a mapping
 * found in /proc), at most max_open descriptors at once: past that the least recently used is
 * closed, to be opened again by its path, and compared, when its symbols are read.
 *
 *     OBJECT_NEW ──open──▶ OBJECT_OPEN ──limit──▶ OBJECT_CLOSED
 *            ╰──────────▶ OBJECT_GONE when that fails
 *
 * A file on a file system that may not answer is never touched here, nor is a path, which may lead over one: another
 * process is asked for the file or a copy of it (OBJECT_AWAITED, collect/far_files.h).
 *
 * An object lives while a mapping points to it (refs) or frames do (mapping is set). Others are
 * idle: they stay over one or two calls of object_trim, so that a program that is run again and
 * again is opened once, and no deleted file is held for long.
 *
 * The kernel's (device, inode) is a key only while the inode cannot be given to another file: while
 * it is mapped or open here. */
#ifndef CRESSET_COLLECT_OBJECT_H
#define CRESSET_COLLECT_OBJECT_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/proc_maps.h"
#include "collect/side_band.h"
#include "profile/frame.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	OBJECT_NONE = UINT32_MAX,
	OBJECT_ANON = 0, /* anonymous executable memory: always there */
};
enum { OBJECT_MAX = 65536 }; /* objects at once; later ones are not known */
enum { OBJECT_STARTS = 4 };

struct elf_tls;
struct far_files;
struct runtime_kind;
struct runtime_object;

enum object_kind {
	OBJECT_FILE, /* frames are file offsets */
	OBJECT_JIT,  /* code made at run time: frames are named by the process */
	OBJECT_NAMED /* the kernel's, with a name but no file: [vsyscall], [uprobes] */
};
enum object_state { OBJECT_NEW, OBJECT_OPEN, OBJECT_CLOSED, OBJECT_GONE, OBJECT_AWAITED };

struct object {
	uint32_t id;
	enum object_kind kind;
	enum object_state state;
	int fd;     /* -1 unless OBJECT_OPEN */
	char *name; /* path as the process sees it, without " (deleted)" */
	uint32_t refs;
	uint32_t same_as; /* the object this turned out to be, or OBJECT_NONE */
	uint32_t pid;     /* a process that has it mapped */
	uint32_t maj, min;
	uint64_t ino, ino_generation; /* ino 0: not known by inode; generation 0: unknown */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
	uint32_t awaited; /* the number of what was asked for */
	bool is_far;      /* on a file system that may not answer */
	bool is_copy;     /* its descriptor is of a copy */
	bool opened;      /* once: the next two lines are valid */
	uint64_t dev, file_ino, size;
	int64_t mtime_ns;
	struct object *newer, *older; /* by last use, of those with a descriptor */
	bool pinned;                  /* never closed, never freed */
	bool was_idle;                /* at the last trim */

	bool variable_known;
	struct elf_tls *variable; /* collect/thread_context.h; NULL: it has none */

	bool runtime_known;
	const struct runtime_kind *runtime_kind;
	struct runtime_object *runtime; /* collect/interpreted.h; NULL: it has none */

	bool starts_known; /* collect/helper_end.h: file offsets of code that threads begin in */
	uint32_t n_starts;
	struct object_start {
		uint64_t from, to;
	} starts[OBJECT_STARTS];

	uint32_t number, table; /* in frames and of the unwind table (collect/space.h); 0 = none */

	/* The resolver's. */
	uint32_t mapping;  /* of the sink, or MAPPING_NONE while no frame was given */
	struct map frames; /* offset → frame of the sink */
	bool loss_counted;
};

struct object_table {
	VEC(struct object *) all; /* by id; NULL where free */
	VEC(uint32_t) free_ids;
	struct map by_inode, by_build_id, by_stat, by_name;
	struct object *newest,
		*oldest; /* of those with a descriptor; pinned ones are not in the list */
	uint32_t n, n_open, max_open;
	struct far_files *far; /* the caller's; NULL: all files are opened here */
	struct map awaited;    /* number → id */
	uint64_t far_bytes;    /* of copies that are open */
};

void object_table_init(struct object_table *t, uint32_t max_open);
void object_table_done(struct object_table *t);

/* The object of a mapping in a record or in /proc/PID/maps. A record's file is opened now if it
 * never was. The id is good until the next object_trim, and after object_ref until object_unref.
 * OBJECT_NONE when the table is full. */
uint32_t object_of_record(struct object_table *t, const struct side_record *r);
uint32_t object_of_map(struct object_table *t, uint32_t pid, const struct proc_map *m);

void object_ref(struct object_table *t, uint32_t id);
void object_unref(struct object_table *t, uint32_t id);

/* Where an object is mapped, for opening it. */
struct object_place {
	uint32_t pid;
	uint64_t start, end, pgoff;
};
/* The object behind an id, opened if it never was, marked as used. */
struct object *object_use(struct object_table *t, uint32_t id, const struct object_place *place);

/* A descriptor for reading the object's symbols, opened again when it was closed; -1 when there is
 * none any more. Stays the table's, until the next call that opens something. */
int object_fd(struct object_table *t, struct object *o);

/* Takes what was asked for and has come. Call it some times a second. */
void object_take_far(struct object_table *t);

/* Frees what has been idle since the call before. Call it every few seconds. */
void object_trim(struct object_table *t);

/* jit-PID.dump: mapping such a file is how a JIT compiler announces it. */
bool object_is_jitdump(const struct object *o);

#endif
