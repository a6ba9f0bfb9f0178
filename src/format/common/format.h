/* format/common/format.h: the interface of a file format, and code shared by all formats. A format
 * that holds one type writes the requested type, else the default, else the first. */
#ifndef CRESSET_FORMAT_COMMON_FORMAT_H
#define CRESSET_FORMAT_COMMON_FORMAT_H

#include "base/vec.h"
#include "format/common/user_stack.h"
#include "profile/frame.h"
#include "profile/state.h"
#include "profile/tree/tree.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct input;
struct out;
struct profile;
struct sink;

/* Metrics: numbers over time that accompany the samples, for formats that can show them. */
struct format_counter_point {
	int64_t time_ns; /* Unix time */
	double value;
};
struct format_counter {
	char *track;                             /* the measured object: "GPU 0 by its driver" */
	char *name;                              /* "power (W)" */
	VEC(struct format_counter_point) points; /* ascending; times are unique */
};
struct format_counters { /* ordered by track */
	VEC(struct format_counter) all;
};
void format_counters_done(struct format_counters *c);

/* Frame suffixes requested by --annotate; bit (1 << ANNOTATE_x). */
enum annotate {
	ANNOTATE_KERNEL,          /* _[k] */
	ANNOTATE_JIT,             /* _[j] */
	ANNOTATE_INTERPRETED,     /* _[i] */
	ANNOTATE_ON_CPU,          /* _[c] */
	ANNOTATE_OFF_CPU,         /* _[o] */
	ANNOTATE_GPU_SOURCE,      /* _[G] */
	ANNOTATE_GPU_INSTRUCTION, /* _[g] */
	ANNOTATE_ALL = 0x7f
};

struct format_write_opts {
	const char *type;      /* NULL: default */
	struct tree_opts tree; /* filters, root frames; the writer sets tree.type from type */
	unsigned annotate;     /* bits of enum annotate */
	/* For folded values: "samples", "us", "ns", "bytes" …; NULL: the format's default. */
	const char *unit;
	/* For graphs. */
	const char *title;
	const char *palette; /* kind binary wall classic mono; NULL: see palette.h */
	double min_width_px; /* 0: the default, 0.1; negative: everything is drawn */
	bool icicle;         /* root at the top */
	bool older_widths;   /* for a diff: widths are those of the older side */
	bool force;          /* allow more than SVG_MAX_RECTS rectangles */
	/* For formats that have counters; NULL: none. */
	const struct format_counters *counters;
	/* For a page: appends, as JSON, data that accompanies the samples (query/gpu/gpu_beside.h).
	 * May add strings to p. NULL: none. */
	int (*beside)(struct profile *p, const struct format_write_opts *opts, struct buf *json,
		      struct err *err);
	const void *beside_of; /* opaque argument of next to */
	/* For a page: sentences saying what it does not show and why; NULL-terminated. NULL:
	 * none. */
	char *const *notes;
};

/* Unix times in ns; 0: unknown. */
struct format_code_times {
	int64_t written_ns; /* the names were last written */
	int64_t begun_ns;   /* the process with the pid now started */
};

/* Services to a reader of this machine, for files that were recorded on it. */
struct format_here {
	const char *host; /* host name as in uname(2) */
	/* Returns the name of the code that a process generated at run time at addr, or NULL. Valid
	 * until the next call. */
	const char *(*code_name)(void *ctx, uint32_t pid, uint64_t addr);
	/* Returns false if this pid has no names. NULL: names are of any time. */
	bool (*code_times)(void *ctx, uint32_t pid, struct format_code_times *out);
	void *ctx;
	/* Whether another file is now at the path of one that was mapped. dev, inode and generation
	 * (0: unknown) are the recorded ones. NULL: not known. */
	bool (*is_replaced)(const char *path, uint32_t dev_major, uint32_t dev_minor,
			    uint64_t inode, uint64_t generation);
	/* Whether files at two paths have this build id, but not the same content. NULL: not
	 * known. */
	bool (*are_two)(const char *a, const char *b, const uint8_t *build_id, size_t len);
	/* Whether the content of a file at a path is newer than this. NULL: not known. */
	bool (*is_newer)(const char *path, int64_t than_ns);
	/* When the input file was written and created, as Unix times; 0: unknown. Its size. */
	int64_t written_ns, created_ns;
	uint64_t bytes;
	/* The wall clock minus CLOCK_MONOTONIC, and the latter; 0: unknown. */
	int64_t mono_offset_ns;
	uint64_t up_ns;
	/* Unwinds a stack using the files it ran in. NULL: no stack is unwound. */
	struct user_walk (*walk_stack)(void *stacks, const struct user_stack *s);
	void *stacks;
	/* Returns the offset in a file of an address relative to its first segment; false if the
	 * file is not here. NULL: no file is. */
	bool (*file_offset)(void *offsets, const struct user_file *file, uint64_t relative,
			    uint64_t *offset);
	void *offsets;
};

/* Limits the strings, frames, stacks and labels of a profile read from a file; beyond it reading
 * fails with -EFBIG. Each reader limits the samples itself. */
/* limit: strings, frames, stacks and labels of a profile read */
#define FORMAT_MAX_KEPT_BYTES (4ull << 30)

struct format {
	const char *name;           /* "pprof" */
	const char *summary;        /* "pprof protobuf, gzipped" */
	const char *notes;          /* its limitations, in sentences for the manual; may be NULL */
	const char *const *endings; /* ".pb.gz", … NULL-terminated; none: only by name */
	bool one_type;              /* holds one type only */
	bool keeps_drop_frames;     /* has the fields of profile/prune.h */
	bool has_timeline; /* can show when: threads, GPU work and what the driver reported */
	bool has_counters; /* shows only that, and counters (format_counters) */
	bool no_negative;  /* writes no values below zero (profile/change/signed.h) */
	/* Returns whether the first bytes (already decompressed, up to INPUT_PEEK) look like this
	 * format. Formats are queried in the order of the table. */
	bool (*detect)(const char *head, size_t len);
	/* Returns whether the first bytes may be of this format, as those of many other files. They
	 * are taken for it if the file has one of own_endings. May be NULL. */
	bool (*detect_maybe)(const char *head, size_t len);
	const char *const *own_endings; /* of nothing else; NULL-terminated */
	/* Reads everything into sink. Returns -EBADMSG with a message if nothing is usable; skipped
	 * parts are counted in LOSS_INPUT_SKIPPED. NULL: cannot be read. */
	int (*read)(struct input *in, struct sink *sink, struct err *err);
	/* For formats that hold addresses without names: same as read, with the help of this
	 * machine. Frames with a mapping are symbolized afterwards (collect/resolve/local.h). */
	int (*read_here)(struct input *in, struct sink *sink, const struct format_here *here,
			 struct err *err);
	int (*write)(struct profile *p, const struct format_write_opts *opts, struct out *out,
		     struct err *err);
};

/* Returns the suffix of a frame of this kind, such as "_[k]"; "" if its bit is not in
 * `annotate`. */
const char *format_suffix(enum frame_kind kind, unsigned annotate);

/* Returns the suffix of a stack's leaf for what its thread was doing: "_[c]", "_[o]"; "" if its bit
 * is not in `annotate`. */
const char *format_state_suffix(enum thread_state state, unsigned annotate);

/* Returns annotate plus the bits that stacks of this type always have: both of "_[c]" and "_[o]"
 * for `wall`. */
unsigned format_annotate(unsigned annotate, const char *type_name);

/* Picks the type for a format of one type: want, else the default, else the first. Returns -ENOENT
 * with a list of the types. */
int format_pick_type(const struct profile *p, const char *want, uint32_t *type, struct err *err);

/* Writes a graph. If it has too many frames (-E2BIG), writes it again without the narrowest. For
 * callers that cannot retry with another option. Sets *min_width_px to the width below which frames
 * were dropped. */
int format_write_fitting(const struct format *f, struct profile *p,
			 const struct format_write_opts *opts, struct out *out,
			 double *min_width_px, struct err *err);

/* Writes to path (through NAME.tmp and a rename) or to standard output for "-". */
int format_write_file(const struct format *f, struct profile *p,
		      const struct format_write_opts *opts, const char *path, struct err *err);

#endif
