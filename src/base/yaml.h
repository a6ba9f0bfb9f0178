/* base/yaml.h: YAML that people write for a program to obey, as a small tree with line numbers (libyaml; this is its only user).
 *
 * What a configuration has no use for is refused: aliases and anchors (a few lines can stand for gigabytes), tags, several
 * documents, keys that are no plain text, a key that comes twice, NUL in a text. Scalars are text: what "10m" or "yes" means,
 * who asked for it decides. */
#ifndef CRESSET_BASE_YAML_H
#define CRESSET_BASE_YAML_H

#include "base/arena.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	YAML_MAX_BYTES = 256 << 10,
	YAML_MAX_NESTING = 8,   /* lists and mappings inside each other */
	YAML_MAX_ENTRIES = 512, /* of one list or mapping */
};

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAPPING };

struct yaml {
	enum yaml_kind kind;
	unsigned line;     /* from 1 */
	const char *key;   /* of an entry of a mapping */
	const char *text;  /* YAML_TEXT */
	bool is_null;      /* YAML_TEXT that says there is no value: nothing, ~ or null */
	struct yaml *kids; /* YAML_LIST, YAML_MAPPING: in their order */
	struct yaml *next; /* of the same list or mapping */
};

/* The one document in data; an empty one is an empty mapping. All is in the arena. name: of the file, for messages. -EINVAL, or
 * -EFBIG past YAML_MAX_BYTES, with "name:line: words". */
int yaml_read(const void *data, size_t len, const char *name, struct arena *a,
	      const struct yaml **out, struct err *err);

/* The same document, but for its lines. */
bool yaml_equal(const struct yaml *a, const struct yaml *b);

#endif
