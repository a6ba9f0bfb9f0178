/* cmd/mem/mem.h: the subcommands of cresset mem. */
#ifndef CRESSET_CMD_MEM_MEM_H
#define CRESSET_CMD_MEM_MEM_H

#include "cmd/attach/attach_cmd.h"

struct mem_opts {
	struct attach_options attach;
};

int mem_list_run(const struct cmd_line *line, const void *opts);
int mem_attach_run(const struct cmd_line *line, const void *opts);
int mem_detach_run(const struct cmd_line *line, const void *opts);
int mem_status_run(const struct cmd_line *line, const void *opts);

#endif
