/* base/json/yaml.h: parses YAML configuration into a small tree with line numbers. The only user of
 * libyaml.
 *
 * Features that a configuration does not need are rejected: aliases and anchors (a few lines can
 * expand to gigabytes), tags, several documents, keys that are not plain text, repeated keys, NUL
 * in a text. Scalars are text: the caller interprets "10m" or "yes". */
#ifndef CRESSET_BASE_JSON_YAML_H
#define CRESSET_BASE_JSON_YAML_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct err;

enum {
	YAML_MAX_BYTES = 256 << 10, /* limit: bytes of a configuration file */
	/* limit: its lists and mappings inside each other */
	YAML_MAX_NESTING = 8,
	YAML_MAX_ENTRIES = 512, /* limit: entries of one of these */
};

enum yaml_kind { YAML_TEXT, YAML_LIST, YAML_MAPPING };

struct yaml {
	enum yaml_kind kind;
	unsigned line;     /* from 1 */
	const char *key;   /* of an entry of a mapping */
	const char *text;  /* YAML_TEXT */
	bool is_null;      /* YAML_TEXT without a value: empty, ~ or null */
	struct yaml *kids; /* YAML_LIST, YAML_MAPPING: in file order */
	struct yaml *next; /* of the same list or mapping */
};

/* Parses the single document in data; an empty one is an empty mapping. Allocates in the arena.
 * name: of the file, for messages. Returns -EINVAL, or -EFBIG past YAML_MAX_BYTES, with
 * "name:line: message" in err. */
int yaml_read(const void *data, size_t len, const char *name, struct arena *a,
	      const struct yaml **out, struct err *err);

/* Whether two documents are equal, ignoring line numbers. */
bool yaml_equal(const struct yaml *a, const struct yaml *b);

#endif
