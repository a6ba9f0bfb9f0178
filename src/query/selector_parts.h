/* query/selector_parts.h: a selector once it is understood. Only selector.c and selector_match.c use it. */
#ifndef CRESSET_QUERY_SELECTOR_PARTS_H
#define CRESSET_QUERY_SELECTOR_PARTS_H

#include "base/arena.h"
#include "query/selector.h"

#include <regex.h>

enum condition_op { OP_EQUAL, OP_NOT_EQUAL, OP_MATCH, OP_NOT_MATCH };
enum sample_column { COLUMN_NONE, COLUMN_PID, COLUMN_TID, COLUMN_CPU, COLUMN_TRACE, COLUMN_STACK };

struct condition {
	const char *label, *value;
	enum condition_op op;
	regex_t regex; /* of OP_MATCH and OP_NOT_MATCH */
	enum sample_column column;
};

enum { TYPE_PARTS = 5 };
struct selector {
	struct arena arena; /* all text */
	const char *type_text;
	const char *parts[TYPE_PARTS];
	int n_parts; /* 0: any type */
	struct condition conditions[SELECTOR_MAX_CONDITIONS];
	int n_conditions;
};

#endif
