/* The Content-Type of a file by the ending of its name. */
#include "base/asset.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *ending, *type;
} types[] = {
	{ ".html", "text/html; charset=utf-8" },
	{ ".js", "text/javascript; charset=utf-8" },
	{ ".css", "text/css; charset=utf-8" },
	{ ".svg", "image/svg+xml" },
};

const char *content_type_of(const char *path)
{
	const char *ending = strrchr(path, '.');

	for (size_t i = 0; ending && i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].ending, ending) == 0)
			return types[i].type;
	return NULL;
}
