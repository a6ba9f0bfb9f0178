/* server/answer.h: responses written by format/, which writes to descriptors: each is an unnamed
 * file in memory until it is sent. */
#ifndef CRESSET_SERVER_ANSWER_H
#define CRESSET_SERVER_ANSWER_H

#include "profile/tree/tree_path.h"

struct err;
struct out;
struct request;
struct tree;
struct tree_bin_opts;

/* The policy for graphs: a graph runs its own script, in a separate origin, and can reach
 * neither the server nor the page around it. */
#define PICTURE_POLICY \
	"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " \
	"frame-ancestors 'self'; sandbox allow-scripts"

/* The policy for a page in one file: its own (format/html/html.h), sandboxed too, with permission
 * to save its exports. */
const char *answer_html_policy(struct request *r);

/* Returns the notes of a page (format_write_opts.notes) as one line for a header, or NULL if there
 * are none. */
const char *answer_note(struct request *r, char *const *notes);

/* Tables: the values of fmt, their content types, and the default number of rows. */
enum table_format { TABLE_JSON, TABLE_CSV, TABLE_TEXT };
enum { TOP_DEFAULT = 30 };
extern const char *const table_words[], *const table_types[];

/* The detail of a tree that the client wants: px, the width it is drawn in (none: everything), and
 * zoom, the path to the node that fills it. */
struct answer_detail { /* zeroed = everything */
	double share;  /* of the whole; smaller nodes are left out */
	bool has_zoom;
	struct tree_path zoom;
};
int answer_detail_get(struct request *r, struct answer_detail *out, struct err *err);
void answer_detail_done(struct answer_detail *d);
/* Returns NULL if no zoom exists. */
const struct tree_path *answer_zoom(const struct answer_detail *d);

/* Sorts t and replies with its bytes. */
void answer_tree_bin(struct request *r, struct tree *t, const struct tree_bin_opts *opts);

int answer_open(struct out *out, struct err *err);
/* rc: result of writing. Replies with the response, or with the error. */
void answer_close(struct request *r, const char *type, struct out *out, int rc, struct err *err);

#endif
