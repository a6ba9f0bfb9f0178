/* cmd/relabel_rules.h: the key "relabel" of a configuration file. */
#ifndef CRESSET_CMD_RELABEL_RULES_H
#define CRESSET_CMD_RELABEL_RULES_H

#include "base/err.h"
#include "base/yaml.h"
#include "profile/relabel.h"

/* The row of struct cmd's config_only; at: of a const struct yaml * in the options struct. */
#define RELABEL_ROW(title, at) \
	{ \
		NULL, "relabel", "RULES", \
			"rules that change labels or drop series, in this order, as Prometheus' " \
			"relabel_configs; actions: replace, keep, drop, " \
			"labelmap, labeldrop, labelkeep", \
			OPT_TREE, .group = title, .offset = (at), .bare = relabel_example \
	}
extern const char relabel_example[];

/* y: NULL for no rules, which gives NULL. file: for messages. 0 and *out (relabel_free), or -EINVAL with "file:line: words". */
int relabel_read(const struct yaml *y, const char *file, struct relabel **out, struct err *err);

#endif
