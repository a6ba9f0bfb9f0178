/* Prints errors with their hints, and tables to standard output. */
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/log.h"
#include "cmd/cli/cmd.h"

#include <errno.h>
#include <stdarg.h>

int cmd_fail(enum cmd_status status, const struct err *err)
{
	log_error(err);
	return status;
}

int cmd_usage(const struct cmd_line *line, const char *fmt, ...)
{
	struct err err = { 0 };
	char text[sizeof err.text];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	err_set(&err, EINVAL, "%s", text);
	err_hint(&err, "usage: cresset %s %s", line->cmd->name, line->cmd->usage);
	return cmd_fail(CMD_USAGE, &err);
}

int cmd_print(struct buf *b)
{
	struct err err = { 0 };
	struct out out;
	int rc = out_open(&out, "-", &err);
	if (rc == 0 && (rc = out_write(&out, b->data, b->len, &err)) < 0)
		out_abort(&out);
	if (rc == 0)
		rc = out_commit(&out, &err);
	buf_done(b);
	return rc < 0 ? cmd_fail(CMD_NO_OUTPUT, &err) : CMD_OK;
}
