/* cresset mem list: processes, and how allocations of each can be recorded. */
#include "base/buf.h"
#include "base/err.h"
#include "base/json/json.h"
#include "base/str.h"
#include "base/vec.h"
#include "cmd/mem/mem.h"
#include "collect/gpu/gpu_survey.h"
#include "collect/inspect/inspect.h"
#include "collect/proc/proc_stat.h"
#include "format/common/columns.h"
#include "mem/go/go_heap.h"
#include "mem/live/live_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PID_WIDTH = 7, MEMORY_WIDTH = 10, HOW_WIDTH = 24 };

enum how { RECORDED, PARKED, DETACHED, BY_GO, POSSIBLE, REFUSED };
/* For scripts, and as text. */
static const char *const how_words[] = {
	[RECORDED] = "recorded", [PARKED] = "parked",     [DETACHED] = "detached",
	[BY_GO] = "go",          [POSSIBLE] = "possible", [REFUSED] = "refused",
};

/* Comes from a child whole. */
struct row {
	uint32_t pid;
	enum how how;
	uint64_t anonymous_bytes;
	const char *name; /* the survey's */
	char refusal[32]; /* a word; "": none */
	char error[512];  /* why; "": nothing to say */
};
struct rows {
	VEC(struct row) all;
};

/* --- looking ---------------------------------------------------------------------------------- */

static void refuse(struct row *r, const char *word, const char *why)
{
	r->how = REFUSED;
	snprintf(r->refusal, sizeof r->refusal, "%.31s", word);
	snprintf(r->error, sizeof r->error, "%s", why);
}

static void look_at_library(struct row *r)
{
	struct live_now now = { 0 };
	struct err err = { 0 };

	int rc = live_peek((pid_t)r->pid, &now, &err);

	if (rc == -ENOENT) /* it is loading, or a child of fork that has not been sampled yet */
		r->how = PARKED;
	else if (rc)
		refuse(r, rc == -EACCES || rc == -EPERM ? "permission" : "failed", err.text);
	else if (now.refused)
		refuse(r, "library", live_refusal_text(now.refused));
	else if (now.by_hand == LIVE_DETACHED)
		r->how = DETACHED;
	else
		r->how = now.state != LIVE_PARKED && now.has_reader ? RECORDED : PARKED;
}

/* A thread that could be stopped is not waited for. */
static void look_at_process(struct row *r)
{
	const struct gpu_attach_opts opts = {
		.view = &attach_view,
		.library = &mem_attach_library,
		.dry_run = true,
		.forced = 1u << GPU_ATTACH_YOUNG,
		.wait_ns = 1,
	};
	struct gpu_attach_report report = { 0 };
	struct err err = { 0 }, go_err = { 0 };
	struct go_heap heap;
	int go = inspect_go_heap(r->pid, &heap, &go_err);

	if (go == 0) {
		r->how = BY_GO;
		return;
	}
	int rc = gpu_attach(r->pid, &opts, &report, &err);
	if (rc == 0 || rc == -EBUSY || report.refusal == GPU_ATTACH_NO_THREAD ||
	    report.refusal == GPU_ATTACH_BUSY)
		r->how = POSSIBLE;
	else
		refuse(r, report.refusal ? gpu_attach_refusal_words[report.refusal] : "failed",
		       go == -ENOTSUP ? go_err.text : err.text);
}

/* Reading a process's mappings or its file can take for ever: a child does it, for a second. */
static void look_in_child(struct row *r, bool has_library)
{
	enum { LOOK_MS = 1000 };
	int ends[2];

	refuse(r, "failed", "it cannot be examined");
	if (pipe2(ends, O_CLOEXEC))
		return;
	pid_t child = fork();
	if (child == 0) {
		*r->refusal = *r->error = 0;
		(has_library ? look_at_library : look_at_process)(r);
		ssize_t n = write(ends[1], r, sizeof *r);
		syscall(SYS_exit_group, n == sizeof *r ? 0 : 1);
	}
	close(ends[1]);
	struct pollfd ready = { .fd = ends[0], .events = POLLIN };
	struct row got;
	if (child > 0 && poll(&ready, 1, LOOK_MS) > 0 &&
	    read(ends[0], &got, sizeof got) == sizeof got)
		*r = got;
	else
		refuse(r, "no-answer", "it does not let itself be examined");
	close(ends[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, r->how == REFUSED ? WNOHANG : 0);
	}
}

static void look_at_all(const struct gpu_survey *s, struct rows *out)
{
	uint32_t self = (uint32_t)getpid();

	for (size_t i = 0; i < s->all.n; i++) {
		const struct gpu_program *p = &s->all.v[i];
		struct row r = { .pid = p->pid, .name = p->name };

		if (p->pid == self || proc_rss_anon(p->pid, &r.anonymous_bytes) < 0)
			continue;
		look_in_child(&r, p->has_library);
		vec_push(&out->all, r);
	}
}

static int by_memory(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->anonymous_bytes != y->anonymous_bytes)
		return x->anonymous_bytes < y->anonymous_bytes ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

/* --- text ------------------------------------------------------------------------------------- */

static void add_cell(struct buf *b, struct buf *text, size_t width, bool is_right)
{
	(is_right ? columns_right : columns_left)(b, buf_cstr(text), width);
	buf_adds(b, "  ");
	buf_clear(text);
}

static void add_row(struct buf *b, const struct row *r)
{
	struct buf text = { 0 };

	buf_addf(&text, "%" PRIu32, r->pid);
	add_cell(b, &text, PID_WIDTH, true);
	fmt_bytes(&text, r->anonymous_bytes);
	add_cell(b, &text, MEMORY_WIDTH, true);
	buf_adds(&text, how_words[r->how]);
	if (*r->refusal)
		buf_addf(&text, ": %s", r->refusal);
	add_cell(b, &text, HOW_WIDTH, false);
	columns_fit(b, r->name, sizeof((struct gpu_program *)0)->name);
	buf_addc(b, '\n');
	buf_done(&text);
}

static void list_text(const struct rows *rows, uint32_t unreadable, struct buf *b)
{
	columns_right(b, "pid", PID_WIDTH);
	buf_adds(b, "  ");
	columns_right(b, "anonymous", MEMORY_WIDTH);
	buf_adds(b, "  ");
	columns_left(b, "allocations", HOW_WIDTH);
	buf_adds(b, "  name\n");
	for (size_t i = 0; i < rows->all.n; i++)
		add_row(b, &rows->all.v[i]);
	if (unreadable)
		buf_addf(b, "%" PRIu32 " process%s not accessible to this user\n", unreadable,
			 unreadable == 1 ? "" : "es");
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void list_json(const struct rows *rows, uint32_t unreadable, struct buf *b)
{
	struct json j = json_to(b);

	json_obj(&j);
	json_key_u64(&j, "not_looked_at", unreadable);
	json_key(&j, "processes");
	json_arr(&j);
	for (size_t i = 0; i < rows->all.n; i++) {
		const struct row *r = &rows->all.v[i];

		json_obj(&j);
		json_key_u64(&j, "pid", r->pid);
		json_key_text(&j, "name", r->name);
		json_key_u64(&j, "anonymous_bytes", r->anonymous_bytes);
		json_key_text(&j, "allocations", how_words[r->how]);
		json_key_text(&j, "refusal", r->refusal);
		json_key_text(&j, "error", r->error);
		json_end(&j);
	}
	json_end(&j);
	json_end(&j);
	buf_addc(b, '\n');
}

int mem_list_run(const struct cmd_line *line, const void *opts)
{
	struct gpu_survey s = { 0 };
	struct rows rows = { 0 };
	struct buf b = { 0 };

	(void)opts;
	gpu_survey(&survey_mem, &s);
	look_at_all(&s, &rows);
	if (rows.all.n)
		qsort(rows.all.v, rows.all.n, sizeof *rows.all.v, by_memory);
	if (line->globals.json)
		list_json(&rows, s.unreadable, &b);
	else
		list_text(&rows, s.unreadable, &b);
	vec_done(&rows.all);
	gpu_survey_done(&s);
	return cmd_print(&b);
}
