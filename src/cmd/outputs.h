/* cmd/outputs.h: the files that record and convert write. A recording's are settled and opened before it starts, so that a wrong name, a
 * full or a write-protected disk costs nobody a recording; written at its end.
 *
 * The first .cresset file is written all the time, so that a crash loses little, and samples that are in it leave memory. Other outputs
 * need all samples at the end: they are read back. Where there is no .cresset file, a temporary one keeps them until then. */
#ifndef CRESSET_CMD_OUTPUTS_H
#define CRESSET_CMD_OUTPUTS_H

#include "cmd/cmd.h"
#include "cmd/sample_sums.h"
#include "format/format.h"
#include "profile/profile.h"
#include "store/recording.h"

/* How text and pictures are written. */
struct text_opts {
	struct choice_list annotate;
	int unit;
};
extern const char *const unit_words[], *const annotate_words[];
/* Rows for the option table of a command whose options struct T has a member `text`. */
/* clang-format off: one row a line */
#define TEXT_ROW(T, member) .group = "Output", .offset = offsetof(struct T, text.member)
#define TEXT_OPTIONS(T) \
	{ NULL, \
	  "annotate", \
	  "k,j,...", \
	  "mark frames, as in main_[k]: k kernel, j JIT, i interpreted, c on-CPU, o off-CPU, G " \
	  "GPU source, g GPU instruction; all", \
	  OPT_CHOICES, \
	  TEXT_ROW(T, annotate), \
	  .words = annotate_words, \
	  .bare = "k,j,i,c,o,G,g" }, \
	{ \
		NULL, "unit", "NAME", "of folded values: samples, ns, us, ms or s", OPT_ENUM, \
			TEXT_ROW(T, unit), .words = unit_words \
	}
/* clang-format on */
struct format_write_opts text_write_opts(const struct text_opts *o);

struct output {
	const char *path;
	const struct format *format;
	struct out out; /* of what is written at the end */
	bool grows;     /* the recorder writes it */
	bool open, written;
	uint64_t size_bytes; /* once written; 0 for standard output */
};
struct outputs {
	struct output *v; /* in the arena of the command line */
	size_t n;
	bool need_samples; /* at the end, all of them */
	/* Since outputs_keep_up was called: */
	struct recorder *recorder; /* has the samples that are not in the profile */
	struct sample_sums sums;   /* of those */
};

/* paths: -o as given, none = a .cresset file named by the time. format_name: --format, may be NULL. CMD_OK, or CMD_USAGE with the
 * error printed. */
int outputs_settle(struct cmd_line *line, const struct str_list *paths, const char *format_name,
		   struct outputs *out);
/* Whether one of them is standard output. */
bool outputs_use_stdout(const struct outputs *o);

int outputs_open(struct cmd_line *line, struct outputs *o, struct err *err);
/* Writes what is new, and takes the samples out of p. A .cresset file that cannot be written is given up: outputs_finish leaves it out. */
int outputs_keep_up(struct outputs *o, struct profile *p, struct err *err);
/* Writes and closes everything; goes on after an error, so that the other files are there. Prints errors; returns an exit status.
 * Afterwards p has all samples, when they were needed, else their sums by series and stack. */
int outputs_finish(struct outputs *o, struct profile *p, const struct format_write_opts *opts);
/* Leaves nothing behind. Fine at any time. */
void outputs_abort(struct outputs *o);

#endif
