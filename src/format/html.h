/* format/html.h: a profile as one page that needs nothing else: docs/formats.md, "report.html".
 *
 *     style, and its hash in the page's policy
 *     a table of functions for browsers without scripts
 *     <script type=application/octet-stream;base64 id=modules>   the modules of web/report, concatenated, packed
 *     <script type=application/octet-stream;base64 id=data>      the container (format/container.h)
 *     <script>                                                   web/report/start.js: unpacks both; its hash is in the policy
 *
 * The policy lets nothing else run and nothing leave: names from a profile are text in the table, and packed bytes elsewhere. */
#ifndef CRESSET_FORMAT_HTML_H
#define CRESSET_FORMAT_HTML_H

#include "format/format.h"

extern const struct format format_html;

/* The page of a difference; older: the profile of its other side, NULL: not known. opts->type and opts->tree are not looked at. */
int html_write_diff(const struct profile *p, uint32_t type, struct tree *t,
		    const struct profile *older, const struct format_write_opts *opts,
		    struct out *out, struct err *err);

/* What the page says of itself in its <meta>, and what a server says of it: beyond that, frame-ancestors and a sandbox. */
void html_policy(struct buf *b);

#endif
