/* server/answer.h: answers that are written by format/, which writes to descriptors: they lie in memory without a name until they are
 * sent. */
#ifndef CRESSET_SERVER_ANSWER_H
#define CRESSET_SERVER_ANSWER_H

#include "base/fs.h"
#include "format/tree_bin.h"
#include "profile/tree_path.h"
#include "server/request.h"

/* Under which a browser shows a picture: it runs its own script, as an origin of its own: it can reach neither us nor the page around
 * it. */
#define PICTURE_POLICY \
	"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " \
	"frame-ancestors 'self'; sandbox allow-scripts"

/* Of a page in one file: what it says of itself (format/html.h), in a sandbox of its own, too; with room for saving what it exports. */
const char *answer_html_policy(struct request *r);

/* The sentences of a page (format_write_opts.notes) as one line for a header; NULL: there are none. */
const char *answer_note(struct request *r, char *const *notes);

/* Tables: what fmt may ask for, their types of content, and how many rows there are when nobody says. */
enum table_format { TABLE_JSON, TABLE_CSV, TABLE_TEXT };
enum { TOP_DEFAULT = 30 };
extern const char *const table_words[], *const table_types[];

/* How much of a tree is wanted: px, the width it is drawn in (none: everything), and zoom, the path to the node that fills it. */
struct answer_detail { /* zeroed = everything */
	double share;  /* of the whole: what is less is too small */
	bool has_zoom; /* for it */
	struct tree_path zoom;
};
int answer_detail_get(struct request *r, struct answer_detail *out, struct err *err);
void answer_detail_done(struct answer_detail *d);
/* NULL: none. */
const struct tree_path *answer_zoom(const struct answer_detail *d);

/* Replies with the tree's bytes; sorts it. */
void answer_tree_bin(struct request *r, struct tree *t, const struct tree_bin_opts *opts);

int answer_open(struct out *out, struct err *err);
/* rc: what writing ended with. Replies with the answer, or with the failure. */
void answer_close(struct request *r, const char *type, struct out *out, int rc, struct err *err);

#endif
