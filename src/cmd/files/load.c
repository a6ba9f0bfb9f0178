/* Reads files into a sink one after the other, and prints their losses. */
#include "cmd/files/load.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cli/cmd.h"
#include "cmd/files/names_env.h"
#include "collect/process/local_file.h"
#include "collect/resolve/local.h"
#include "format/common/format.h"
#include "format/formats.h"
#include "profile/profile.h"
#include "profile/prune.h"
#include "profile/sink.h"
#include "profile/units.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

/* --- one file --- */

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

static int64_t time_ns(const struct statx_timestamp *t)
{
	return t->tv_sec * 1000000000LL + t->tv_nsec;
}

static void set_times(struct format_here *here, const char *path)
{
	struct statx st;
	here->mono_offset_ns = clock_wall_offset_ns();
	here->up_ns = clock_mono_ns();
	if (strcmp(path, "-") == 0 ||
	    statx(AT_FDCWD, path, 0, STATX_BASIC_STATS | STATX_BTIME, &st) < 0 ||
	    !S_ISREG(st.stx_mode))
		return;
	here->written_ns = time_ns(&st.stx_mtime);
	here->created_ns = st.stx_mask & STATX_BTIME ? time_ns(&st.stx_btime) : 0;
	here->bytes = st.stx_size;
}

static void say_code(const char *path, const struct profile *p)
{
	uint64_t n = p->meta.loss[LOSS_CODE_UNREAD];
	if (n)
		log_warn("%s: %" PRIu64
			 " %s of generated code without a name: the perf map is of another "
			 "program of the process, or its time is not known; perf record -k "
			 "CLOCK_MONOTONIC records that",
			 path, n, n == 1 ? "frame" : "frames");
}

/* A recording has been counted when it was made. */
static bool count_too_large(struct profile *p)
{
	uint64_t n = profile_too_large(p), *counted = &p->meta.loss[LOSS_INPUT_TOO_LARGE];
	bool is_more = n > *counted;
	if (is_more)
		*counted = n;
	return is_more;
}

int load_file(const char *path, const struct format *as, struct profile *p, struct err *err)
{
	struct local_code code = { 0 };
	struct utsname host = { 0 };
	const struct format *used;
	uname(&host);
	struct local_stacks stacks = { .home = getenv("HOME") };
	struct local_offsets offsets = { .home = getenv("HOME") };
	struct format_here here = { .host = host.nodename,
				    .code_name = local_code_name,
				    .code_times = local_code_times,
				    .ctx = &code,
				    .is_replaced = local_file_is_replaced,
				    .are_two = local_files_differ,
				    .is_newer = local_file_is_newer,
				    .walk_stack = local_stacks_walk,
				    .stacks = &stacks,
				    .file_offset = local_offset,
				    .offsets = &offsets };
	set_times(&here, path);
	int rc = format_read_file_here(path, as, profile_sink(p), &here, &used, err);
	if (rc == -EISDIR)
		err_hint(err, "query a store:  cresset query --data %s 'cpu{}'", path);
	if (rc == 0 && used->read_here) {
		say_stacks(path, &stacks);
		say_code(path, p);
		name_frames(path, p);
	}
	if (rc == 0) {
		profile_unify_units(p);
		count_too_large(p);
	}
	local_stacks_done(&stacks);
	local_offsets_done(&offsets);
	local_code_done(&code);
	return rc;
}

static bool is_stdin(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* Standard input can be read only once. */
static bool stdin_twice(const struct str_list *files)
{
	size_t n = 0;
	for (size_t i = 0; i < files->n; i++)
		n += is_stdin(files->v[i]);
	return n > 1;
}

static void say_skipped(const char *name, const struct profile *p)
{
	uint64_t n = p->meta.loss[LOSS_INPUT_SKIPPED];
	struct buf time = { 0 };
	loss_time_text(&time, &p->meta, LOSS_INPUT_SKIPPED);
	log_warn("%s: %" PRIu64 " %s could not be read and %s skipped%s", name, n,
		 n == 1 ? "record" : "records", n == 1 ? "was" : "were", buf_cstr(&time));
	buf_done(&time);
}

static void say_loss(const char *name, const struct profile *p, enum loss reason)
{
	const struct loss_info *info = &loss_reasons[reason];
	struct buf time = { 0 };
	loss_time_text(&time, &p->meta, reason);
	log_warn("%s: %s: %" PRIu64 "%s%s%s", name, info->text, p->meta.loss[reason],
		 buf_cstr(&time), *info->remedy ? "; " : "", info->remedy);
	buf_done(&time);
}

void load_say_losses(const char *name, const struct profile *p)
{
	for (int i = 0; i < LOSS_REASONS; i++) {
		if (!p->meta.loss[i] || !loss_reasons[i].is_input)
			continue;
		if (i == LOSS_INPUT_SKIPPED)
			say_skipped(name, p);
		else
			say_loss(name, p, i);
	}
}

void load_prune(const char *name, struct profile *p)
{
	struct err err = { 0 };
	uint64_t n;
	if (profile_prune(p, &n, &err) < 0)
		log_warn("%s: %s: all frames are shown", name, err.text);
}

static int load_one(const char *path, const struct format *as, bool all_frames,
		    struct profile **out, struct err *err)
{
	const char *name = is_stdin(path) ? "standard input" : path;
	struct profile *p = profile_new();
	int rc = load_file(path, as, p, err);
	if (rc < 0) {
		profile_free(p);
		return rc;
	}
	if (!all_frames)
		load_prune(name, p);
	load_say_losses(name, p);
	*out = p;
	return 0;
}

int load_profile(const char *path, const struct load_opts *opts, struct profile **out)
{
	const struct load_opts o = opts ? *opts : (struct load_opts){ 0 };
	const struct format *as = NULL;
	struct err err = { 0 };
	if (o.from && !(as = format_asked(o.from, FORMAT_READS, &err)))
		return cmd_fail(CMD_USAGE, &err);
	return load_one(path, as, o.all_frames, out, &err) < 0 ? cmd_fail(CMD_BAD_INPUT, &err)
							       : CMD_OK;
}

static int stdin_error(const struct cmd_line *line)
{
	return cmd_usage(line, "standard input (-) can be read only once");
}

int load_sides(const struct cmd_line *line, const struct load_opts *opts, const char *older,
	       struct profile **out, struct profile **out_older)
{
	bool is_among = false;
	for (size_t i = 0; i < line->args.n; i++)
		is_among |= is_stdin(line->args.v[i]);
	if (older && is_among && is_stdin(older))
		return stdin_error(line);
	int status = load_profiles(line, opts, out);
	if (status == CMD_OK && older)
		status = load_profile(older, opts, out_older);
	return status;
}

int load_profiles(const struct cmd_line *line, const struct load_opts *opts, struct profile **out)
{
	struct profile *all = NULL, *one;
	bool are_apart = true;
	if (stdin_twice(&line->args))
		return stdin_error(line);
	for (size_t i = 0; i < line->args.n; i++) {
		int status = load_profile(line->args.v[i], opts, &one);
		if (status != CMD_OK) {
			profile_free(all);
			return status;
		}
		are_apart &= !profile_has_counts_and_times(one);
		if (line->args.n > 1)
			profile_part_nameless(one);
		if (!all) {
			all = one;
			continue;
		}
		profile_merge_file(all, one);
		profile_free(one);
	}
	if (all && line->args.n > 1) {
		all = profile_join_nameless(all);
		profile_unify_names(all, are_apart);
		if (count_too_large(all))
			say_loss("all files", all, LOSS_INPUT_TOO_LARGE);
	}
	*out = all;
	return CMD_OK;
}
