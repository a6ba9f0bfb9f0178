/* cmd/files/outputs.h: the output files of record and convert. Those of a recording are checked and
 * opened before it starts, so that a wrong name or a full or write-protected disk does not cost a
 * recording; they are written at its end.
 *
 * The first .cresset file is written continuously, so that a crash loses little, and its samples
 * are removed from memory. Other outputs need all samples at the end: they are read back. Without a
 * .cresset file, a temporary one holds them until then. */
#ifndef CRESSET_CMD_FILES_OUTPUTS_H
#define CRESSET_CMD_FILES_OUTPUTS_H

#include "base/fs.h"
#include "base/hash.h"
#include "base/vec.h"
#include "cmd/cli/cmd.h"
#include "format/common/format.h"

struct err;
struct profile;

struct sample_sum {
	uint32_t series, stack;
	int64_t value;
};
struct sample_sums { /* zeroed = none */
	struct map index;
	VEC(struct sample_sum) all;
};

/* Options for text and graphs. */
struct text_opts {
	struct choice_list annotate;
	int unit;
};
extern const char *const unit_words[], *const annotate_words[];
/* Rows for the option table of a command whose options struct T has a member `text`. */
/* clang-format would break up the rows. */
/* clang-format off */
#define TEXT_ROW(T, member) .group = "Output", .offset = offsetof(struct T, text.member)
#define TEXT_OPTIONS(T) \
	{ NULL, "annotate", "k,j,...", \
	  "mark frames, as in main_[k]: k kernel, j JIT, i interpreted, c on-CPU, o off-CPU, G " \
	  "GPU source, g GPU instruction; all", OPT_CHOICES, TEXT_ROW(T, annotate), \
	  .words = annotate_words, .bare = "k,j,i,c,o,G,g" }, \
	{ NULL, "unit", "NAME", "unit of folded values: samples, ns, us, ms or s", OPT_ENUM, \
	  TEXT_ROW(T, unit), .words = unit_words }
/* clang-format on */
struct format_write_opts text_write_opts(const struct text_opts *o);

struct output {
	const char *path;
	const struct format *format;
	struct out out; /* of outputs written at the end */
	bool grows;     /* the recorder writes it */
	bool open, written;
	uint64_t size_bytes; /* once written; 0 for standard output */
};
struct outputs {
	struct output *v; /* in the arena of the command line */
	size_t n;
	bool need_samples; /* all of them, at the end */
	bool prune;        /* outputs that have no drop_frames are without these frames */
	/* Set by outputs_keep_up: */
	struct recorder *recorder; /* has the samples that are no longer in the profile */
	struct sample_sums sums;   /* of those */
};

/* paths: values of -o; none = a .cresset file named by the time. format_name: value of --format,
 * may be NULL. Returns CMD_OK, or CMD_USAGE with the error printed. */
int outputs_finalize(struct cmd_line *line, const struct str_list *paths, const char *format_name,
		     struct outputs *out);
/* Whether one of the outputs is standard output. */
bool outputs_use_stdout(const struct outputs *o);

int outputs_open(struct cmd_line *line, struct outputs *o, struct err *err);
/* Writes new samples, and removes them from p. Gives up a .cresset file that cannot be written;
 * outputs_finish leaves it out. */
int outputs_keep_up(struct outputs *o, struct profile *p, struct err *err);
/* Writes and closes everything; continues after an error, so that the other files are written.
 * Prints errors; returns an exit status. Afterwards p has all samples if an output needed them,
 * else their sums by series and stack. */
int outputs_finish(struct outputs *o, struct profile *p, const struct format_write_opts *opts);
/* Leaves no files behind. May be called at any time. */
void outputs_abort(struct outputs *o);

#endif
