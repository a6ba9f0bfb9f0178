/* base/asset.h: the files of the page, packed with gzip, as tools/mkassets puts them into the program.
 *
 * A path is as below web/ ("page/index.html", "flame.js"); "report/report.js" is the script of the one-file report, made of many. The
 * scripts of the page are packs (tools/mkassets/pack.h): a module that is part of another's has no path of its own. */
#ifndef CRESSET_BASE_ASSET_H
#define CRESSET_BASE_ASSET_H

#include <stddef.h>

/* The assembler writes these rows, too (tools/mkassets/embed.c). */
struct asset {
	const char *path, *type; /* of the content */
	const char *etag;        /* W/"…": packed or not, it is the same */
	const unsigned char *gz;
	size_t gz_len, len; /* packed; unpacked */
};
/* The last row has no path. */
extern const struct asset assets[];

/* NULL: there is none. */
const struct asset *asset_find(const char *path);

#endif
