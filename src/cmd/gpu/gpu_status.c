/* cresset gpu status [PID]: the state of the library in the programs that have it; cresset gpu
 * detach PID. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "base/str.h"
#include "cmd/attach/attach_cmd.h"
#include "cmd/gpu/gpu.h"
#include "collect/gpu/gpu_survey.h"
#include "gpu/ring/ring_look.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

/* What is known about one program. */
struct found {
	const struct gpu_program *program;
	struct ring_look look;
	struct err err; /* why the ring cannot be read */
	bool probes_known;
	uint32_t places, probed;
};

/* Returns one word for each state, for scripts. */
static const char *word_of(const struct found *f)
{
	static const char *const words[] = {
		[RING_PARKED] = "parked", [RING_OPEN] = "open",   [RING_MUTED] = "muted",
		[RING_BUSY] = "busy",     [RING_INERT] = "inert", [RING_DETACHED] = "detached",
	};
	enum ring_state state = f->look.now.state;

	if (!f->program->has_library)
		return "absent";
	return f->err.code || state >= sizeof words / sizeof *words || !words[state] ? "unknown"
										     : words[state];
}

/* --- text --- */

static void add_text(struct buf *b, const char *text)
{
	esc_term(b, text, strlen(text), 256);
}

static void add_since(struct buf *b, uint64_t now_ns, uint64_t then_ns)
{
	fmt_duration(b, now_ns > then_ns ? now_ns - then_ns : 0);
}

static void add_state(struct buf *b, const struct found *f)
{
	const struct ring_state_now *now = &f->look.now;

	buf_adds(b, "  library   ");
	if (f->err.code) {
		add_text(b, f->err.text);
		buf_addc(b, '\n');
		return;
	}
	buf_adds(b, ring_state_text(now->state));
	if (now->state == RING_BUSY && *now->other) {
		buf_adds(b, ": ");
		add_text(b, now->other);
	} else if (now->error_part) {
		buf_addf(b, ": %s", ring_part_text(now->error_part));
		if (now->error_code)
			buf_addf(b, " (%u)", now->error_code);
	}
	uint32_t v = now->cupti_version;
	if (v >= 100000)
		buf_addf(b, "; CUPTI %u.%u.%u", v / 10000, v / 100 % 100, v % 100);
	else if (v)
		buf_addf(b, "; CUPTI's interface %u", v);
	buf_addc(b, '\n');
}

static void add_window(struct buf *b, const struct ring_state_now *now, uint64_t now_ns)
{
	buf_adds(b, "  window    ");
	if (now->state == RING_OPEN) {
		buf_adds(b, "open for ");
		add_since(b, now_ns, now->opened_ns);
	} else if (!now->closed_ns) {
		buf_adds(b, "none yet");
	} else {
		buf_adds(b, "the last window ended ");
		add_since(b, now_ns, now->closed_ns);
		buf_adds(b, " ago, after ");
		add_since(b, now->closed_ns, now->opened_ns);
	}
	buf_addc(b, '\n');
}

static void add_counts(struct buf *b, const struct ring_state_now *now)
{
	buf_addf(b, "  calls     %" PRIu64 ", stack requests: %" PRIu64 "\n", now->calls,
		 now->probes);
	buf_addf(b,
		 "  lost      %" PRIu64 " records because the ring was full, %" PRIu64
		 " by CUPTI, %" PRIu64 " names, %" PRIu64 " of unknown kind\n",
		 now->dropped, now->cupti_dropped, now->names_lost, now->unknown_records);
	buf_adds(b, "  cost      ");
	fmt_duration(b, now->busy_ns);
	buf_adds(b, " in the program's threads, ");
	fmt_duration(b, now->helper_ns);
	buf_adds(b, " in the library's, ");
	fmt_duration(b, now->overhead_ns);
	buf_adds(b, " by CUPTI's own figure, since it was loaded\n");
}

static void add_probes(struct buf *b, const struct found *f)
{
	if (!f->probes_known)
		buf_adds(b, "  probes    unknown: its memory is not readable\n");
	else if (!f->probed)
		buf_addf(b, "  probes    none, in %" PRIu32 " places of GPU libraries\n",
			 f->places);
	else
		buf_addf(b, "  probes    in %" PRIu32 " of %" PRIu32 " places of GPU libraries\n",
			 f->probed, f->places);
}

static void add_program(struct buf *b, const struct found *f, uint64_t now_ns)
{
	buf_addf(b, "%" PRIu32 "  ", f->program->pid);
	add_text(b, f->program->name);
	buf_addc(b, '\n');
	if (f->program->has_library) {
		add_state(b, f);
		if (!f->err.code) {
			add_window(b, &f->look.now, now_ns);
			attach_cmd_put_agent(b, f->look.has_agent, f->program->reader);
			add_counts(b, &f->look.now);
		}
	} else {
		buf_addf(b, "  library   not loaded: cresset gpu attach %" PRIu32 "\n",
			 f->program->pid);
	}
	add_probes(b, f);
}

/* --- JSON --- */

static void json_known(struct json *j, const struct found *f, uint64_t now_ns)
{
	const struct ring_state_now *now = &f->look.now;

	json_key_text(j, "reason", now->error_part ? ring_part_text(now->error_part) : NULL);
	json_key_u64(j, "error_code", now->error_code);
	json_key_text(j, "other_tool", *now->other ? now->other : NULL);
	json_key_u64(j, "cupti_version", now->cupti_version);
	json_key_bool(j, "has_agent", f->look.has_agent);
	json_key_u64(j, "agent_pid", f->program->reader);
	json_key(j, "opened_s_ago");
	json_num(j, now->opened_ns ? (double)(int64_t)(now_ns - now->opened_ns) / 1e9 : NAN);
	json_key(j, "closed_s_ago");
	json_num(j, now->closed_ns ? (double)(int64_t)(now_ns - now->closed_ns) / 1e9 : NAN);
	json_key_u64(j, "calls", now->calls);
	json_key_u64(j, "stacks", now->probes);
	json_key_u64(j, "dropped", now->dropped);
	json_key_u64(j, "cupti_dropped", now->cupti_dropped);
	json_key_u64(j, "names_lost", now->names_lost);
	json_key_u64(j, "unknown_records", now->unknown_records);
	json_key_u64(j, "busy_ns", now->busy_ns);
	json_key_u64(j, "helper_ns", now->helper_ns);
	json_key_u64(j, "cupti_ns", now->overhead_ns);
}

static void json_program(struct json *j, const struct found *f, uint64_t now_ns)
{
	json_obj(j);
	json_key_u64(j, "pid", f->program->pid);
	json_key_text(j, "name", f->program->name);
	json_key_text(j, "state", word_of(f));
	json_key_text(j, "error", f->err.code ? f->err.text : NULL);
	if (f->program->has_library && !f->err.code)
		json_known(j, f, now_ns);
	json_key(j, "probes");
	if (f->probes_known)
		json_u64(j, f->probed);
	else
		json_str(j, NULL);
	json_key_u64(j, "probe_places", f->places);
	json_end(j);
}

/* --- the commands --- */

/* Prints why there is nothing to report about this process. */
static int none(uint32_t pid)
{
	struct err err = { 0 };
	int status = attach_cmd_check(pid);

	if (status)
		return status;
	err_set(&err, ENOENT, "process %" PRIu32 " uses no GPU, and does not have the library",
		pid);
	return cmd_fail(CMD_NO_TARGET, &err);
}

static size_t add_all(const struct gpu_survey *s, uint32_t pid, bool as_json, struct buf *b)
{
	uint64_t now_ns = clock_mono_ns();
	struct json j = json_to(b);
	size_t n = 0;

	if (as_json) {
		json_obj(&j);
		json_key_u64(&j, "not_looked_at", s->unreadable);
		json_key(&j, "processes");
		json_arr(&j);
	}
	for (size_t i = 0; i < s->all.n; i++) {
		const struct gpu_program *p = &s->all.v[i];
		struct found f = { .program = p };

		if (pid && p->pid != pid)
			continue;
		n++;
		if (p->has_library)
			ring_look(p->pid, now_ns, &f.look, &f.err);
		f.probes_known = gpu_probed(p->pid, &f.places, &f.probed);
		if (as_json)
			json_program(&j, &f, now_ns);
		else
			add_program(b, &f, now_ns);
	}
	if (as_json) {
		json_end(&j);
		json_end(&j);
		buf_addc(b, '\n');
	}
	return n;
}

int gpu_status_run(const struct cmd_line *line, const void *opts)
{
	struct gpu_survey s = { 0 };
	struct buf b = { 0 };
	uint32_t pid = 0;
	int status = line->args.n > 1 ? cmd_pid(line, line->args.v[1], &pid) : CMD_OK;

	(void)opts;
	if (status)
		return status;
	gpu_survey(&survey_cuda, &s);
	size_t n = add_all(&s, pid, line->globals.json, &b);

	if (pid && !n) {
		buf_done(&b);
		status = none(pid);
		gpu_survey_done(&s);
		return status;
	}
	if (!line->globals.json) {
		if (!n)
			buf_adds(&b, "no program uses a GPU, or has the library\n");
		if (!pid && s.unreadable)
			buf_addf(&b, "%" PRIu32 " process%s not accessible to this user\n",
				 s.unreadable, s.unreadable == 1 ? "" : "es");
	}
	gpu_survey_done(&s);
	return cmd_print(&b);
}

int gpu_detach_run(const struct cmd_line *line, const void *opts)
{
	struct err err = { 0 };
	uint32_t pid;
	int status = cmd_pid(line, line->args.v[1], &pid);

	(void)opts;
	if (status)
		return status;
	int rc = ring_detach(pid, &err);

	if (rc == -ENOENT || rc == -ESRCH) {
		if (kill(pid, 0) < 0 && errno == ESRCH)
			return none(pid);
		err_hint(&err, "it does not have the library, or is still loading it: cresset gpu "
			       "status");
	}
	if (rc == -EBUSY)
		err_hint(&err, "end the recording first; cresset gpu status shows its process");
	if (rc && rc != -EALREADY)
		return cmd_fail(attach_cmd_status(rc), &err);
	return attach_cmd_detached(line, "gpu", pid, rc != 0);
}
