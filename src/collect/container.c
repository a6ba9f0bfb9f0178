#include "collect/container.h"

#include <string.h>

static size_t hex_run(const char *s, size_t len)
{
	size_t n = 0;

	while (n < len && ((s[n] >= '0' && s[n] <= '9') || (s[n] >= 'a' && s[n] <= 'f')))
		n++;
	return n;
}

/* One part of a path: [PREFIX-]ID[.scope]. The prefix ends in '-' or ':', so that no longer number
 * is cut. */
const char *container_id_in_part(const char *part, size_t len)
{
	static const char scope[] = ".scope", monitor[] = "conmon-";
	size_t prefix;

	if (len > sizeof scope - 1 &&
	    memcmp(part + len - (sizeof scope - 1), scope, sizeof scope - 1) == 0)
		len -= sizeof scope - 1;
	if (len < CONTAINER_ID_LEN)
		return NULL;
	prefix = len - CONTAINER_ID_LEN;
	if (hex_run(part + prefix, CONTAINER_ID_LEN) != CONTAINER_ID_LEN)
		return NULL;
	if (prefix && part[prefix - 1] != '-' && part[prefix - 1] != ':')
		return NULL;
	if (memmem(part, prefix, monitor, sizeof monitor - 1))
		return NULL;
	return part + prefix;
}
