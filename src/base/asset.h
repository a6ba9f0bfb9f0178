/* base/asset.h: the files of the web page, compressed with gzip, which tools/mkassets embeds in the
 * program.
 *
 * A path is relative to web/ ("page/index.html"). "report/report.js" is the script of the
 * single-file report. esbuild bundles modules and style sheets into the few files of PAGE_ENTRY
 * (Makefile) and page/core.js; a bundled module has no path of its own. */
#ifndef CRESSET_BASE_ASSET_H
#define CRESSET_BASE_ASSET_H

#include <stddef.h>

/* tools/mkassets/embed.c writes these rows as well, in assembler. */
struct asset {
	const char *path, *type; /* content type */
	const char *etag;        /* W/"…": the same whether compressed or not */
	const unsigned char *gz;
	size_t gz_len, len; /* compressed; uncompressed */
};
/* The last row has no path. */
extern const struct asset assets[];

/* Returns NULL if none exists. */
const struct asset *asset_find(const char *path);

/* Returns the HTTP content type for a file's extension; NULL: not a type of web page files. */
const char *content_type_of(const char *path);

#endif
