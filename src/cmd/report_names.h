/* cmd/report_names.h: for `report --by binary`: what the names of each binary come from, and, of binaries that are on this
 * machine, how to get better ones. */
#ifndef CRESSET_CMD_REPORT_NAMES_H
#define CRESSET_CMD_REPORT_NAMES_H

#include "base/arena.h"
#include "base/vec.h"
#include "format/table.h"

struct report_names {
	struct table_binaries binaries; /* those with the most frames first */
	struct arena text;
	VEC(struct table_binary) rows;
	VEC(uint32_t) mappings; /* of the rows, before they are sorted */
	VEC(struct table_origin) origins;
};

void report_names_init(struct report_names *r, struct profile *p);
void report_names_done(struct report_names *r);

#endif
