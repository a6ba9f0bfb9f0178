#include "base/asset.h"

#include <string.h>

const struct asset *asset_find(const char *path)
{
	for (const struct asset *a = assets; a->path; a++)
		if (strcmp(a->path, path) == 0)
			return a;
	return NULL;
}
