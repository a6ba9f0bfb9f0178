#include "cmd/load.h"

#include "base/log.h"
#include "cmd/load_file.h"
#include "format/format.h"

static bool is_stdin(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* Standard input can be read once only. */
static bool stdin_twice(const struct str_list *files)
{
	size_t n = 0;
	for (size_t i = 0; i < files->n; i++)
		n += is_stdin(files->v[i]);
	return n > 1;
}

static void warn_skipped(const char *path, const struct profile *p)
{
	uint64_t n = p->meta.loss[LOSS_INPUT_SKIPPED];
	if (n)
		log_warn("%s: %llu %s could not be read and %s left out",
			 is_stdin(path) ? "standard input" : path, (unsigned long long)n,
			 n == 1 ? "record" : "records", n == 1 ? "was" : "were");
}

static int load_one(const char *path, struct profile **out, struct err *err)
{
	struct profile *p = profile_new();
	int rc = load_file(path, NULL, p, err);
	if (rc < 0) {
		profile_free(p);
		return rc;
	}
	warn_skipped(path, p);
	*out = p;
	return 0;
}

int load_profiles(const struct cmd_line *line, struct profile **out)
{
	struct profile *all = NULL, *one;
	struct err err = { 0 };
	if (stdin_twice(&line->args))
		return cmd_usage(line, "standard input (-) can be read only once");
	for (size_t i = 0; i < line->args.n; i++) {
		if (load_one(line->args.v[i], &one, &err) < 0) {
			profile_free(all);
			return cmd_fail(CMD_BAD_INPUT, &err);
		}
		if (!all) {
			all = one;
			continue;
		}
		profile_merge(all, one);
		profile_free(one);
	}
	*out = all;
	return CMD_OK;
}
