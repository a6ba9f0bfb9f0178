/* format/format.h: the table of file formats: one file and one row each.
 *
 * Readers are found by content, never by name, and write to a sink. Writers take a profile and are
 * found by the ending of the output's name or by --format. A format that holds one type writes the
 * asked, else the default, else the first. */
#ifndef CRESSET_FORMAT_FORMAT_H
#define CRESSET_FORMAT_FORMAT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/input.h"
#include "format/user_stack.h"
#include "profile/profile.h"
#include "profile/state.h"
#include "profile/tree.h"

#include <stdbool.h>
#include <stddef.h>

/* Frame suffixes that --annotate asks for; bit (1 << ANNOTATE_x). */
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

struct format_counters;
struct format_write_opts {
	const char *type; /* NULL: default */
	struct tree_opts
		tree;      /* filters and root frames; tree.type is set by the writer from type */
	unsigned annotate; /* bits of enum annotate */
	/* Of folded values: "samples", "us", "ns", "bytes" …; NULL: the format's habit. */
	const char *unit;
	/* Pictures */
	const char *title;
	const char *palette; /* kind binary wall classic mono; NULL: as palette.h says */
	double min_width_px; /* 0: the default, 0.1; negative: nothing is left out */
	bool icicle;         /* root on top */
	bool older_widths;   /* of a difference: frames are as wide as the older side */
	bool force;          /* more than SVG_MAX_RECTS rectangles */
	/* Beside the samples, for formats that have counters; NULL: none. */
	const struct format_counters *counters;
	/* Of a page: what else it has beside the samples, as JSON (query/gpu_beside.h). p may get strings. NULL: nothing. */
	int (*beside)(struct profile *p, const struct format_write_opts *opts, struct buf *json,
		      struct err *err);
	const void *beside_of; /* what it is made of; its own matter */
	/* Of a page: what it does not show, and why, in sentences; the last is NULL. NULL: nothing. */
	char *const *notes;
};

/* What a reader may ask the machine it runs on, for files that were recorded there. */
struct format_here {
	const char *host; /* the machine's name, as uname(2) says it */
	/* What the code is called that a process has made at run time, at one of its addresses;
	 * valid until the next call. NULL: not known. */
	const char *(*code_name)(void *ctx, uint32_t pid, uint64_t addr);
	void *ctx;
	/* Walks a stack by the files it ran in. NULL: none is walked. */
	struct user_walk (*walk_stack)(void *stacks, const struct user_stack *s);
	void *stacks;
};

/* A profile's strings, frames, stacks and labels while it is read from a file: more is -EFBIG. The
 * samples are limited by each reader. */
#define FORMAT_MAX_KEPT_BYTES (4ull << 30)

struct format {
	const char *name;    /* "pprof" */
	const char *summary; /* "pprof protobuf, gzipped" */
	const char *notes;   /* what it cannot say, in sentences, for the manual; may be NULL */
	const char *const *endings; /* ".pb.gz", … NULL-terminated; none = only by name */
	bool one_type;              /* holds one type only */
	bool has_timeline; /* shows when: threads, what ran on GPUs, and what their driver said */
	bool has_counters; /* … nothing but that, and what was said as counters (counter.h) */
	/* Whether the first bytes (already unpacked, up to INPUT_PEEK) look like this format. Asked
	 * in the order of the table. */
	bool (*detect)(const char *head, size_t len);
	/* Reads everything into sink. -EBADMSG with words when nothing of it can be used; what was
	 * skipped is counted in LOSS_INPUT_SKIPPED. NULL: cannot be read. */
	int (*read)(struct input *in, struct sink *sink, struct err *err);
	/* Of formats that hold addresses without names: the same with the help of this machine.
	 * Frames with a mapping get their names afterwards (collect/local_names.h). */
	int (*read_here)(struct input *in, struct sink *sink, const struct format_here *here,
			 struct err *err);
	int (*write)(struct profile *p, const struct format_write_opts *opts, struct out *out,
		     struct err *err);
};

extern const struct format *const formats[]; /* NULL-terminated */

const struct format *format_by_name(const char *name); /* NULL when unknown */
const struct format *format_by_ending(
	const char *path); /* longest ending wins; NULL when none fits */

/* What --annotate puts behind a frame of this kind: "_[k]"; "" when its bit is not among
 * `annotate`. */
const char *format_suffix(enum frame_kind kind, unsigned annotate);

/* What it puts behind the leaf of a stack by what the thread was doing: "_[c]", "_[o]", "" likewise. */
const char *format_state_suffix(enum thread_state state, unsigned annotate);

/* annotate, and what the stacks of this type have in any case: in `wall` both of the last. */
unsigned format_annotate(unsigned annotate, const char *type_name);

/* The type that a format of one type writes: want, else the default, else the first. -ENOENT with
 * the types there are. */
int format_pick_type(const struct profile *p, const char *want, uint32_t *type, struct err *err);

/* Opens path ("-" is standard input), finds the format (or takes `as` when not NULL) and reads
 * it. */
int format_read_file(const char *path, const struct format *as, struct sink *sink, struct err *err);

/* The same where the files that were running may be at hand: here is passed on to formats that can
 * use it, and *used, when not NULL, is the format. */
int format_read_file_here(const char *path, const struct format *as, struct sink *sink,
			  const struct format_here *here, const struct format **used,
			  struct err *err);

/* Writes a picture that has too many frames (-E2BIG) without the narrowest, for what cannot be repeated with another option. *min_width_px
 * is what was left out below. */
int format_write_fitting(const struct format *f, struct profile *p,
			 const struct format_write_opts *opts, struct out *out,
			 double *min_width_px, struct err *err);

/* Writes to path (NAME.tmp, renamed) or to standard output for "-". */
int format_write_file(const struct format *f, struct profile *p,
		      const struct format_write_opts *opts, const char *path, struct err *err);

#endif
