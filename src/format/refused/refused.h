/* format/refused/refused.h: files that are known and not read: the error names them, and says what
 * to use instead. */
#ifndef CRESSET_FORMAT_REFUSED_REFUSED_H
#define CRESSET_FORMAT_REFUSED_REFUSED_H

#include <stdbool.h>
#include <stddef.h>

struct refused {
	const char *name; /* "it is NAME" */
	const char *hint; /* what can be read instead */
	bool (*detect)(const char *head, size_t len);
};

/* Returns the row for the first bytes of a file, or NULL. Asked before the formats: logs look like
 * folded stacks. */
const struct refused *refused_find(const char *head, size_t len);

/* Whether this directory has the data of uftrace. */
bool refused_is_uftrace(const char *directory);

#endif
