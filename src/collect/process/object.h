/* collect/process/object.h: the targets of mappings: one entry per distinct file, for all processes
 * and places that map it.
 *
 * Two objects are the same if their build ids are equal, and their code; a file with the build id
 * of another one has none here. Or, for files without, device, inode, size
 * and modification time. A file is opened when it is first seen (a record) or first needed (a
 * mapping found in /proc), at most max_open descriptors at the same time. Past that the least
 * recently used one is closed, to be opened again by its path, and compared, when its symbols are
 * read.
 *
 *     OBJECT_NEW ──open──▶ OBJECT_OPEN ──limit──▶ OBJECT_CLOSED
 *            ╰──────────▶ OBJECT_GONE when that fails
 *
 * A file on a file system that may not respond is never touched here, nor is a path, which may
 * cross one: another process supplies the file or a copy of it (OBJECT_AWAITED,
 * collect/worker/far_files.h).
 *
 * An object lives while a mapping points to it (refs) or frames do (mapping is set). Others are
 * idle: they survive one or two calls of object_trim, so that a program that is run again and again
 * is opened once, and no deleted file is held for long.
 *
 * The kernel's (device, inode) is a key only while the inode cannot be reused for another file:
 * while it is mapped, or open here. A file that was written again in place is another object from
 * then on; the earlier one is gone, since descriptor and mappings have the new content. */
#ifndef CRESSET_COLLECT_PROCESS_OBJECT_H
#define CRESSET_COLLECT_PROCESS_OBJECT_H

#include "base/cpu_budget.h"
#include "base/file_identity.h"
#include "base/hash.h"
#include "base/vec.h"
#include "collect/process/user_shares.h"
#include "profile/frame.h"

#include <stdbool.h>
#include <stdint.h>

struct proc_map;
struct side_record;

enum {
	OBJECT_NONE = UINT32_MAX,
	OBJECT_ANON = 0, /* anonymous executable memory; always exists */
};
enum {
	OBJECT_MAX = 65536, /* limit: files known at a time; later ones are not */
	/* limit: files of a user but root, once OBJECT_UNCHARGED are known */
	OBJECT_MAX_USER = OBJECT_MAX / 4,
	OBJECT_UNCHARGED = 1024,
};
enum { OBJECT_STARTS = 4 };

struct elf_tls;
struct far_files;
struct runtime_kind;
struct runtime_object;

enum object_kind {
	OBJECT_FILE, /* frames are file offsets */
	OBJECT_JIT,  /* code made at run time: the process has the names */
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
	uint32_t same_as; /* the object that this is identical to, or OBJECT_NONE */
	uint32_t pid;     /* a process that has it mapped */
	uint32_t user;    /* … charged for it; 0: none */
	uint32_t maj, min;
	uint64_t ino, ino_generation; /* ino 0: no inode key; generation 0: unknown */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
	uint64_t fingerprint;       /* of a file with a build id (elf_fingerprint); 0: unknown */
	uint64_t names_fingerprint; /* … (elf_names_fingerprint); 0: unknown, or stripped */
	char *has_build_id_of;      /* name of another file with this build id, which is left out */
	uint32_t awaited;           /* number of the request for it */
	bool is_far;                /* on a file system that may not respond */
	bool is_copy;               /* its descriptor is that of a copy */
	/* Of the open file; unknown if that is a copy, or on a file system that may not respond. */
	struct file_stamp stamp;
	uint64_t looked;   /* reading of records that last compared it */
	uint64_t since_ns; /* CLOCK_MONOTONIC: it was mapped then; 0: unknown */
	bool is_rewritten; /* after it was mapped or opened: it gets neither names nor a table */
	bool opened;       /* at least once: the next two lines are valid */
	uint64_t dev, file_ino, size;
	int64_t mtime_ns;
	struct object *newer, *older; /* by last use, among those with a descriptor */
	bool pinned;                  /* never closed, never freed */
	bool was_idle;                /* at the last trim */

	bool variable_known;
	struct elf_tls *variable; /* collect/process/thread_context.h; NULL: none */

	bool runtime_known;
	const struct runtime_kind *runtime_kind;
	struct runtime_object *runtime; /* collect/walker/interpreted.h; NULL: none */

	/* File offsets of code that threads start in (helper_end.h). */
	bool starts_known;
	uint32_t n_starts;
	struct object_start {
		uint64_t from, to;
	} starts[OBJECT_STARTS];
	struct object_start main; /* zeros: unknown */

	/* Addresses of the file (collect/resolve/locks.c). */
	bool extent_known;
	struct object_extent {
		uint64_t from, to;  /* to 0: unknown */
		uint64_t code_skew; /* address of code less its file offset */
	} extent;

	uint32_t number,
		table; /* in frames; of the unwind table (collect/walker/space.h); 0 = none */

	/* Used by the resolver. */
	uint32_t mapping;  /* of the sink; MAPPING_NONE until it has a frame */
	struct map frames; /* offset → frame of the sink */
	bool loss_counted, build_id_said;
};

struct object_table {
	VEC(struct object *) all; /* by id; NULL: unused */
	VEC(uint32_t) free_ids;
	/* object_index.c */
	struct map by_inode, by_build_id, by_stat, by_name;
	/* One file has several names in mount namespaces and by links: each may be an object. */
	struct map by_inode_and_name;
	struct object *newest, *oldest; /* of those with a descriptor, except pinned ones */
	uint32_t n, n_open, max_open;
	struct far_files *far;      /* the caller's; NULL: all files are opened here */
	struct proc_reader *reader; /* reads of processes; the caller's; NULL: this process does */
	struct map awaited;         /* number → id */
	struct map parted;          /* ids of copies that are read from their own files again */
	uint64_t far_bytes;         /* of open copies */
	struct user_shares users;
	uint64_t refused;        /* mappings of files beyond the limits */
	struct allowance mounts; /* CPU time for reading lists of them */
	/* Number of the reading of records (object_begin_reading); 0: each record for itself. */
	uint64_t reading;
};

void object_table_init(struct object_table *t, uint32_t max_open);
void object_table_done(struct object_table *t);

/* All records from here on were written before this call: for a file that many of them map, one
 * look shows whether it was written before any of them. */
void object_begin_reading(struct object_table *t);
/* Return the object of a mapping in a record or in /proc/PID/maps. A record's file is opened now if
 * it never was. The id is valid until the next object_trim, and after object_ref until
 * object_unref. OBJECT_NONE when the table is full. */
uint32_t object_of_record(struct object_table *t, const struct side_record *r);
uint32_t object_of_map(struct object_table *t, uint32_t pid, const struct proc_map *m);

/* Notes that the file of a record is in use; nothing is opened or added. */
void object_touch(struct object_table *t, const struct side_record *r);

void object_ref(struct object_table *t, uint32_t id);
void object_unref(struct object_table *t, uint32_t id);

/* Where an object is mapped, for opening it. */
struct object_place {
	uint32_t pid;
	uint64_t start, end, pgoff;
};
/* Returns the object with this id, opened if it never was, and marks it as used. */
struct object *object_use(struct object_table *t, uint32_t id, const struct object_place *place);

/* Returns a descriptor for reading the object's symbols, reopened if it was closed; -1 when it is
 * no longer available. It stays the table's, until the next call that opens something. */
int object_fd(struct object_table *t, struct object *o);

/* Takes the requested files that have come. Call it some times a second. */
void object_take_far(struct object_table *t);

/* Frees objects that were idle at the previous call. Call it every few seconds. */
void object_trim(struct object_table *t);

/* --- object_index.c: the keys of a table ---
 *
 * A file is found by its inode, its build id or its result of stat; an object without a file by its
 * name. A key has one object, the last one that was added under it. Removing an object leaves keys
 * that another one has taken. The searches return OBJECT_NONE if they find nothing. */

/* The name is as the kernel writes it; generation 0: unknown. */
uint32_t object_index_find_inode(const struct object_table *t, const char *name, uint32_t maj,
				 uint32_t min, uint64_t ino, uint64_t generation);
uint32_t object_index_find_build_id(const struct object_table *t, const struct object *like);
uint32_t object_index_find_stat(const struct object_table *t, const struct object *like);
uint32_t object_index_find_name(const struct object_table *t, const char *name);

/* An object without an inode is not put. */
void object_index_put_inode(struct object_table *t, const struct object *o);

/* By its build id, or without one by its result of stat. */
void object_index_put_content(struct object_table *t, const struct object *o);

void object_index_put_name(struct object_table *t, const struct object *o);

/* The object then has no inode. */
void object_index_drop_inode(struct object_table *t, struct object *o);

/* Drops all keys of an object. */
void object_index_drop(struct object_table *t, struct object *o);

void object_index_done(struct object_table *t);

#endif
