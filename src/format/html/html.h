/* format/html/html.h: a profile as one self-contained page: docs/formats.md, "report.html".
 *
 *     style, and its hash in the page's policy
 *     a table of functions for browsers without scripts
 *     <script type=application/octet-stream;base64 id=modules>   the modules of web/report,
 *                                                                concatenated, compressed
 *     <script type=application/octet-stream;base64 id=data>      the container (container.h)
 *     <script>                                                   web/report/start.js: unpacks both;
 *                                                                its hash is in the policy
 *
 * The policy allows no other code to run and no data to leave the page: names from a profile are
 * text in the table and compressed bytes elsewhere. */
#ifndef CRESSET_FORMAT_HTML_HTML_H
#define CRESSET_FORMAT_HTML_HTML_H

#include "format/common/format.h"

struct buf;
struct err;
struct out;
struct profile;

extern const struct format format_html;

/* Writes the page of a difference. older: the profile of its older side, NULL if unknown.
 * opts->type and opts->tree are ignored. */
int html_write_diff(const struct profile *p, uint32_t type, struct tree *t,
		    const struct profile *older, const struct format_write_opts *opts,
		    struct out *out, struct err *err);

/* Appends the policy in the page's <meta>. A server sends it with frame-ancestors and a sandbox
 * added. */
void html_policy(struct buf *b);

#endif
