/* The views of cresset query: types, labels, table, tree, callers, heatmap, idle times and
 * files. */
#include "cmd/query/query_cmd.h"

#include "base/err.h"
#include "base/log.h"
#include "query/page.h"

#include <errno.h>

int query_fail(const struct err *err)
{
	bool is_asked = err->code == EINVAL || err->code == ENOENT;
	return cmd_fail(is_asked ? CMD_USAGE : CMD_FAILED, err);
}

void query_note_ids(bool missing)
{
	if (missing)
		log_info("%s", query_ids_missing_words);
}
