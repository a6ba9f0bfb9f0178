/* server/answer.h: answers that are written by format/, which writes to descriptors: they lie in memory without a name until they are
 * sent. */
#ifndef CRESSET_SERVER_ANSWER_H
#define CRESSET_SERVER_ANSWER_H

#include "base/fs.h"
#include "server/request.h"

/* Under which a browser shows a picture: it runs its own script, as an origin of its own: it can reach neither us nor the page around
 * it. */
#define PICTURE_POLICY \
	"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; " \
	"frame-ancestors 'self'; sandbox allow-scripts"

/* Tables: what fmt may ask for, their types of content, and how many rows there are when nobody says. */
enum table_format { TABLE_JSON, TABLE_CSV, TABLE_TEXT };
enum { TOP_DEFAULT = 30 };
extern const char *const table_words[], *const table_types[];

int answer_open(struct out *out, struct err *err);
/* rc: what writing ended with. Replies with the answer, or with the failure. */
void answer_close(struct request *r, const char *type, struct out *out, int rc, struct err *err);

#endif
