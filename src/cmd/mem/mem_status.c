/* cresset mem status [PID]: the state of the library in the programs that have it. */
#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "base/str.h"
#include "cmd/mem/mem.h"
#include "collect/gpu/gpu_survey.h"
#include "mem/live/live_read.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A program, and its library's state. */
struct found {
	const struct gpu_program *program;
	struct live_now now;
	struct err err; /* why its memory cannot be read */
};

/* One word for each state, for scripts. */
static const char *word_of(const struct found *f)
{
	static const char *const words[LIVE_STATES] = {
		[LIVE_PARKED] = "parked",
		[LIVE_RUNNING] = "running",
		[LIVE_CHILD] = "child",
	};

	return f->err.code                       ? "unknown"
	       : f->now.refused                  ? "refused"
	       : f->now.by_hand == LIVE_DETACHED ? "detached"
						 : words[f->now.state];
}

/* --- text ------------------------------------------------------------------------------------- */

static void add_text(struct buf *b, const char *text)
{
	esc_term(b, text, strlen(text), 256);
}

static void add_state(struct buf *b, const struct found *f)
{
	buf_adds(b, "  library   ");
	if (f->err.code)
		add_text(b, f->err.text);
	else if (f->now.refused)
		buf_addf(b, "cannot sample: %s", live_refusal_text(f->now.refused));
	else if (f->now.by_hand == LIVE_DETACHED)
		buf_addf(b, "detached: cresset mem attach %" PRIu32 " brings it back",
			 f->program->pid);
	else if (f->now.state == LIVE_PARKED)
		buf_adds(b, "parked: nothing reads it");
	else {
		buf_adds(b, f->now.state == LIVE_CHILD
				    ? "of its parent: when one reads it, it samples one in "
				    : "samples one in ");
		fmt_bytes(b, f->now.mean_bytes);
		buf_adds(b, " on average");
	}
	buf_addc(b, '\n');
}

static uint64_t own_samples(const struct live_now *now)
{
	return now->samples > now->inherited ? now->samples - now->inherited : 0;
}

static void add_counts(struct buf *b, const struct live_now *now)
{
	buf_addf(b, "  samples   %" PRIu64 ", blocks freed: %" PRIu64, own_samples(now),
		 now->removed);
	buf_addf(b, ", lost because all rows were taken: %" PRIu64 "\n", now->dropped);
	buf_addf(b,
		 "  calls     %u places in %u objects lead to the library, %u to another "
		 "allocator\n",
		 now->slots, now->objects, now->slots_foreign);
	buf_adds(b, "  cost      ");
	fmt_duration(b, now->helper_ns);
	buf_adds(b, " in the library's thread, since it was loaded\n");
}

static void add_program(struct buf *b, const struct found *f)
{
	buf_addf(b, "%" PRIu32 "  ", f->program->pid);
	add_text(b, f->program->name);
	buf_addc(b, '\n');
	add_state(b, f);
	if (f->err.code || f->now.refused)
		return;
	attach_cmd_put_agent(b, f->now.has_reader, f->program->reader);
	add_counts(b, &f->now);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_known(struct json *j, const struct found *f)
{
	static const char *const decided[LIVE_BY_HANDS] = {
		[LIVE_ATTACHED] = "attached",
		[LIVE_DETACHED] = "detached",
	};
	const struct live_now *now = &f->now;

	json_key_text(j, "refusal", live_refusal_text(now->refused));
	json_key_text(j, "decided", decided[now->by_hand]);
	json_key_bool(j, "has_agent", now->has_reader);
	json_key_u64(j, "agent_pid", f->program->reader);
	json_key_u64(j, "mean_bytes", now->mean_bytes);
	json_key_u64(j, "samples", own_samples(now));
	json_key_u64(j, "freed", now->removed);
	json_key_u64(j, "dropped", now->dropped);
	json_key_u64(j, "slots", now->slots);
	json_key_u64(j, "slots_foreign", now->slots_foreign);
	json_key_u64(j, "objects", now->objects);
	json_key_u64(j, "helper_ns", now->helper_ns);
}

static void json_program(struct json *j, const struct found *f)
{
	json_obj(j);
	json_key_u64(j, "pid", f->program->pid);
	json_key_text(j, "name", f->program->name);
	json_key_text(j, "state", word_of(f));
	json_key_text(j, "error", f->err.code ? f->err.text : NULL);
	if (!f->err.code)
		json_known(j, f);
	json_end(j);
}

/* --- the command ------------------------------------------------------------------------------ */

static void look(struct found *f)
{
	int rc = live_peek((pid_t)f->program->pid, &f->now, &f->err);

	if (rc == -ENOENT)
		err_set(&f->err, ENOENT, "is loaded; its memory is not there yet, or its parent's");
}

static size_t add_all(const struct gpu_survey *s, uint32_t pid, bool as_json, struct buf *b)
{
	struct json j = json_to(b);
	size_t n = 0;

	if (as_json) {
		json_obj(&j);
		json_key_u64(&j, "not_looked_at", s->unreadable);
		json_key(&j, "processes");
		json_arr(&j);
	}
	for (size_t i = 0; i < s->all.n; i++) {
		struct found f = { .program = &s->all.v[i] };

		if (!f.program->has_library || (pid && f.program->pid != pid))
			continue;
		n++;
		look(&f);
		if (as_json)
			json_program(&j, &f);
		else
			add_program(b, &f);
	}
	if (as_json) {
		json_end(&j);
		json_end(&j);
		buf_addc(b, '\n');
	}
	return n;
}

/* Prints why this process has no state. */
static int none(uint32_t pid)
{
	struct err err = { 0 };
	int status = attach_cmd_check(pid);

	if (status)
		return status;
	err_set(&err, ENOENT, "process %" PRIu32 " does not have the library", pid);
	err_hint(&err, "cresset mem attach %" PRIu32 " loads it", pid);
	return cmd_fail(CMD_NO_TARGET, &err);
}

int mem_status_run(const struct cmd_line *line, const void *opts)
{
	struct gpu_survey s = { 0 };
	struct buf b = { 0 };
	uint32_t pid = 0;
	int status = line->args.n > 1 ? cmd_pid(line, line->args.v[1], &pid) : CMD_OK;

	(void)opts;
	if (status)
		return status;
	gpu_survey(&survey_mem, &s);
	size_t n = add_all(&s, pid, line->globals.json, &b);

	if (pid && !n) {
		buf_done(&b);
		gpu_survey_done(&s);
		return none(pid);
	}
	if (!line->globals.json) {
		if (!n)
			buf_adds(&b, "no program has the library\n");
		if (!pid && s.unreadable)
			buf_addf(&b, "%" PRIu32 " process%s not accessible to this user\n",
				 s.unreadable, s.unreadable == 1 ? "" : "es");
	}
	gpu_survey_done(&s);
	return cmd_print(&b);
}
