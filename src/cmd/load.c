#include "cmd/load.h"

#include "base/log.h"
#include "cmd/format_name.h"

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

static int load_one(const char *path, const struct format *as, struct profile **out,
		    struct err *err)
{
	struct profile *p = profile_new();
	int rc = format_read_file(path, as, profile_sink(p), err);
	if (rc < 0) {
		profile_free(p);
		return rc;
	}
	warn_skipped(path, p);
	*out = p;
	return 0;
}

int load_profile(const char *path, const char *from, struct profile **out)
{
	const struct format *as = NULL;
	struct err err = { 0 };
	if (from && !(as = format_asked(from, FORMAT_READS, &err)))
		return cmd_fail(CMD_USAGE, &err);
	return load_one(path, as, out, &err) < 0 ? cmd_fail(CMD_BAD_INPUT, &err) : CMD_OK;
}

static int stdin_error(const struct cmd_line *line)
{
	return cmd_usage(line, "standard input (-) can be read only once");
}

int load_sides(const struct cmd_line *line, const char *from, const char *older,
	       struct profile **out, struct profile **out_older)
{
	bool is_among = false;
	for (size_t i = 0; i < line->args.n; i++)
		is_among |= is_stdin(line->args.v[i]);
	if (older && is_among && is_stdin(older))
		return stdin_error(line);
	int status = load_profiles(line, from, out);
	if (status == CMD_OK && older)
		status = load_profile(older, from, out_older);
	return status;
}

int load_profiles(const struct cmd_line *line, const char *from, struct profile **out)
{
	struct profile *all = NULL, *one;
	if (stdin_twice(&line->args))
		return stdin_error(line);
	for (size_t i = 0; i < line->args.n; i++) {
		int status = load_profile(line->args.v[i], from, &one);
		if (status != CMD_OK) {
			profile_free(all);
			return status;
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
