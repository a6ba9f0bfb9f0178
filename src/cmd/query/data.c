/* Opens --data as a store or a file, and warns about files that queries skip. */
#include "cmd/query/remote.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cli/cmd.h"
#include "cmd/files/load.h"
#include "query/source.h"

#include <sys/stat.h>

int data_open(const struct cmd_line *line, const char *path, struct profile **file,
	      struct source **source)
{
	struct err err = { 0 };
	struct stat st;
	*file = NULL;
	if (!path)
		return cmd_usage(line, "--data PATH is missing");
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return source_open_store(path, source, &err) < 0 ? cmd_fail(CMD_BAD_INPUT, &err)
								 : CMD_OK;
	int status = load_profile(path, NULL, file);
	if (status == CMD_OK)
		*source = source_of_profile(*file);
	return status;
}

void data_say_left_out(struct source *source)
{
	struct buf text = { 0 };

	if (source)
		source_note_left_out(source, &text);
	if (text.len)
		log_warn("%s", buf_cstr(&text));
	buf_done(&text);
}
