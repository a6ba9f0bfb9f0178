#include "cmd/load_file.h"

#include "base/log.h"
#include "cmd/names_env.h"
#include "collect/local_code.h"
#include "collect/local_names.h"
#include "collect/local_stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/utsname.h>

static void say_problem(const char *path, const struct profile *p, const struct local_report *r,
			enum local_problem problem)
{
	uint32_t n = r->problems[problem].n;
	struct buf names = { 0 };
	for (uint32_t i = 0; i < n && i < LOCAL_EXAMPLES; i++)
		buf_addf(&names, "%s%s", i ? ", " : "",
			 profile_str(p, r->problems[problem].examples[i]));
	if (n > LOCAL_EXAMPLES)
		buf_adds(&names, ", …");
	if (n)
		log_warn("%s: %u %s %s: %s", path, n, n == 1 ? "binary" : "binaries",
			 local_problems[problem], buf_cstr(&names));
	buf_done(&names);
}

static void name_frames(const char *path, struct profile *p)
{
	struct local_report report;
	struct name_files_opts opts;
	struct arena text = { 0 };
	names_env(&text, &opts);
	local_names(p, getenv("HOME"), &opts, &report);
	arena_done(&text);
	names_say_failures(&report.not_fetched);
	for (enum local_problem i = 0; i < LOCAL_PROBLEMS; i++)
		say_problem(path, p, &report, i);
}

static void say_stacks(const char *path, const struct local_stacks *l)
{
	uint64_t all = 0;
	for (enum local_stacks_end i = 0; i < LOCAL_STACKS_ENDS; i++)
		all += l->ends[i].n;
	for (enum local_stacks_end i = LOCAL_STACKS_WALKED + 1; i < LOCAL_STACKS_ENDS; i++) {
		const char *example = l->ends[i].example;
		if (l->ends[i].n)
			log_warn("%s: %" PRIu64 " of %" PRIu64 " user stacks not walked: %s%s%s",
				 path, l->ends[i].n, all, local_stacks_ends[i], example ? ": " : "",
				 example ? example : "");
	}
}

int load_file(const char *path, const struct format *as, struct profile *p, struct err *err)
{
	struct local_code code = { 0 };
	struct utsname host = { 0 };
	const struct format *used;
	uname(&host);
	struct local_stacks stacks = { .home = getenv("HOME") };
	struct format_here here = { .host = host.nodename,
				    .code_name = local_code_name,
				    .ctx = &code,
				    .walk_stack = local_stacks_walk,
				    .stacks = &stacks };
	int rc = format_read_file_here(path, as, profile_sink(p), &here, &used, err);
	if (rc == 0 && used->read_here) {
		say_stacks(path, &stacks);
		name_frames(path, p);
	}
	local_stacks_done(&stacks);
	local_code_done(&code);
	return rc;
}
