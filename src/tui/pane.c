/* The table of tabs, and building the current one. */
#include "tui/pane.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"
#include "format/common/value.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/tree/top.h"
#include "query/source.h"

#include <stdlib.h>
#include <string.h>

#define TEXT(key, title) \
	{ \
		key, title, COLUMN_TEXT, 0, true \
	}
#define COUNT(key, title, width) \
	{ \
		key, title, COLUMN_COUNT, width, true \
	}
#define ID(key, title) \
	{ \
		key, title, COLUMN_ID, 8, true \
	}
#define PART(key, title) \
	{ \
		key, title, COLUMN_PERCENT, 8, true \
	}

static double percent(int64_t part, double whole)
{
	return value_percent((double)part, whole);
}

/* Returns the share of one CPU's time in the window; 0 if values are not times. */
static double percent_of_time(const struct pane *p, int64_t value)
{
	bool is_time = strcmp(p->unit, "nanoseconds") == 0 &&
		       !look_is_moment(p->look.from_ns, p->look.to_ns);
	return is_time ? percent(value, (double)(p->look.to_ns - p->look.from_ns)) : 0;
}

static void set_unit(struct pane *p, const char *unit)
{
	snprintf(p->unit_room, sizeof p->unit_room, "%s", unit ? unit : "");
	p->unit = p->unit_room;
}

/* --- functions -------------------------------------------------------------------------------- */

enum { FN_SELF_PERCENT, FN_TOTAL_PERCENT, FN_KIND, FN_NAME, FN_BINARY };
static const struct column function_columns[] = {
	PART("self_percent", "self %"),
	PART("total_percent", "total %"),
	{ "kind", "kind", COLUMN_TEXT, 6, false },
	TEXT("function", "function"),
	{ "binary", "binary", COLUMN_TEXT, 18, true },
};

static int make_functions(struct pane *p, const struct look *l, struct err *err)
{
	p->table.columns = function_columns;
	p->table.n_columns = sizeof function_columns / sizeof *function_columns;
	int rc = function_sums_make(&p->functions, l, err);
	p->total = (double)p->functions.total;
	set_unit(p, p->functions.unit);
	for (size_t i = 0; rc == 0 && i < p->functions.order.n; i++) {
		const struct function_sum *f = &p->functions.all.v[p->functions.order.v[i]];
		struct row *r = tui_table_add(&p->table);
		r->name = f->name;
		r->num[FN_SELF_PERCENT] = percent(f->self, p->total);
		r->num[FN_TOTAL_PERCENT] = percent(f->total, p->total);
		r->text[FN_KIND] = frame_kinds[f->kind].name;
		r->text[FN_NAME] = f->name;
		r->text[FN_BINARY] = f->binary;
	}
	return rc;
}

/* --- callers of a function -------------------------------------------------------------------- */

enum { CALLERS_MAX = 12, CALLERS_DEPTH = 4 };

static uint32_t next_widest(const struct tree *t, uint32_t parent, const bool *seen)
{
	uint32_t best = TREE_NONE;
	for (uint32_t c = t->nodes.v[parent].first_child; c != TREE_NONE; c = t->nodes.v[c].next)
		if (!seen[c] && (best == TREE_NONE || t->nodes.v[c].total > t->nodes.v[best].total))
			best = c;
	return best;
}

static void add_caller(struct pane *p, const struct tree *t, uint32_t node, int depth)
{
	const struct tree_func *f = &t->funcs.v[t->nodes.v[node].func];
	struct buf b = { 0 };
	buf_addf(&b, "%*s└ %6.2f %%  %s  (%s)", 2 * depth, "",
		 percent(t->nodes.v[node].total, (double)t->nodes.v[TREE_ROOT].total),
		 strtab_get(&t->strings, f->name), strtab_get(&t->strings, f->binary));
	vec_push(&p->table.lines, tui_table_text(&p->table, buf_cstr(&b)));
	buf_done(&b);
}

/* Adds the widest callers, each followed by its own callers. */
static void add_callers(struct pane *p, const struct tree *t)
{
	bool *seen = xcalloc(t->nodes.n, sizeof *seen);
	uint32_t at = TREE_ROOT;
	int depth = 0;
	while (p->table.lines.n < CALLERS_MAX) {
		uint32_t next = depth < CALLERS_DEPTH ? next_widest(t, at, seen) : TREE_NONE;
		if (next == TREE_NONE && at == TREE_ROOT)
			break;
		if (next == TREE_NONE) {
			at = t->nodes.v[at].parent;
			depth--;
			continue;
		}
		seen[next] = true;
		add_caller(p, t, next, depth++);
		at = next;
	}
	free(seen);
}

void pane_expand(struct pane *p, const char *function)
{
	struct tree *callers = NULL, *callees = NULL;
	vec_clear(&p->table.lines);
	p->table.expanded = NULL;
	if (!function || (!p->tree && look_tree(&p->look, &p->tree, NULL) < 0) ||
	    top_callers(p->tree, function, &callers, &callees, NULL) < 0)
		return;
	p->table.expanded = tui_table_text(&p->table, function);
	add_callers(p, callers);
	if (!p->table.lines.n)
		vec_push(&p->table.lines, "no callers: stacks start here");
	tree_free(callers);
	tree_free(callees);
}

/* --- processes and threads -------------------------------------------------------------------- */

enum { TASK_SHARE, TASK_CPU, TASK_SYS, TASK_IDS };
enum { PROCESS_THREADS = TASK_IDS, PROCESS_PID, PROCESS_NAME, PROCESS_HOT };
enum { THREAD_PID = TASK_IDS, THREAD_TID, THREAD_NAME, THREAD_HOT, THREAD_PROCESS };
static const struct column process_columns[] = {
	PART("percent", "share %"),
	PART("cpu_percent", "of a CPU"),
	PART("kernel_percent", "kernel %"),
	COUNT("threads", "threads", 7),
	ID("pid", "pid"),
	TEXT("process", "process"),
	TEXT("function", "most in"),
};
static const struct column thread_columns[] = {
	PART("percent", "share %"),
	PART("cpu_percent", "of a CPU"),
	PART("kernel_percent", "kernel %"),
	ID("pid", "pid"),
	ID("tid", "tid"),
	{ "thread", "thread", COLUMN_TEXT, 15, true },
	TEXT("function", "most in"),
	{ "process", "process", COLUMN_TEXT, 15, true },
};

static struct row *add_task(struct pane *p, const struct scan_task *t)
{
	struct row *r = tui_table_add(&p->table);
	r->pid = t->pid;
	r->tid = t->tid;
	r->name = tui_table_text(&p->table, t->name);
	r->num[TASK_SHARE] = percent(t->value, p->total);
	r->num[TASK_CPU] = percent_of_time(p, t->value);
	r->num[TASK_SYS] = percent(t->kernel, (double)t->value);
	return r;
}

static void add_process(struct pane *p, const struct scan_task *t)
{
	struct row *r = add_task(p, t);
	r->num[PROCESS_THREADS] = t->threads;
	r->num[PROCESS_PID] = t->pid;
	r->text[PROCESS_NAME] = r->name;
	r->text[PROCESS_HOT] = tui_table_text(&p->table, t->hottest);
}

static void add_thread(struct pane *p, const struct scan_task *t)
{
	struct row *r = add_task(p, t);
	r->num[THREAD_PID] = t->pid;
	r->num[THREAD_TID] = t->tid;
	r->text[THREAD_NAME] = r->name;
	r->text[THREAD_PROCESS] = tui_table_text(&p->table, t->process);
	r->text[THREAD_HOT] = tui_table_text(&p->table, t->hottest);
}

static int make_tasks(struct pane *p, const struct look *l, enum scan_by by, struct err *err)
{
	struct scan scan = { 0 };
	int rc = scan_tasks(&scan, l, by, err);
	p->total = (double)scan.total;
	set_unit(p, scan.unit);
	for (size_t i = 0; rc == 0 && i < scan.tasks.n; i++)
		(by == SCAN_PROCESS ? add_process : add_thread)(p, &scan.tasks.v[i]);
	scan_done(&scan);
	return rc;
}

static int make_processes(struct pane *p, const struct look *l, struct err *err)
{
	p->table.columns = process_columns;
	p->table.n_columns = sizeof process_columns / sizeof *process_columns;
	return make_tasks(p, l, SCAN_PROCESS, err);
}

static int make_threads(struct pane *p, const struct look *l, struct err *err)
{
	p->table.columns = thread_columns;
	p->table.n_columns = sizeof thread_columns / sizeof *thread_columns;
	return make_tasks(p, l, SCAN_THREAD, err);
}

/* --- waits ------------------------------------------------------------------------------------ */

enum {
	WAIT_SHARE,
	WAIT_TIME,
	WAIT_COUNT,
	WAIT_REASON,
	WAIT_PID,
	WAIT_PROCESS,
	WAIT_WAKER,
	WAIT_LONGEST
};
static const struct column wait_columns[] = {
	PART("percent", "share %"),
	{ "time_ns", "time", COLUMN_TIME, 9, true },
	COUNT("waits", "waits", 6),
	{ "reason", "waits for", COLUMN_TEXT, 17, true },
	ID("pid", "pid"),
	TEXT("process", "process"),
	{ "waker", "woken by", COLUMN_TEXT, 14, true },
	{ "longest_ns", "longest", COLUMN_TIME, 9, true },
};

static void add_wait(struct pane *p, const struct scan_wait *w)
{
	struct row *r = tui_table_add(&p->table);
	r->pid = w->pid;
	r->num[WAIT_SHARE] = percent(w->value, p->total);
	r->num[WAIT_TIME] = (double)w->value;
	r->num[WAIT_COUNT] = (double)w->n;
	r->num[WAIT_LONGEST] = (double)w->longest;
	r->num[WAIT_PID] = w->pid;
	r->text[WAIT_REASON] = tui_table_text(&p->table, w->reason);
	r->text[WAIT_PROCESS] = tui_table_text(&p->table, w->process);
	r->text[WAIT_WAKER] = tui_table_text(&p->table, w->waker);
	struct buf name = { 0 };
	buf_addf(&name, "%s %s %s", w->process, w->reason, w->waker);
	r->name = tui_table_text(&p->table, buf_cstr(&name));
	buf_done(&name);
}

static int make_waits(struct pane *p, const struct look *l, struct err *err)
{
	struct scan scan = { 0 };
	p->table.columns = wait_columns;
	p->table.n_columns = sizeof wait_columns / sizeof *wait_columns;
	int rc = scan_waits(&scan, l, err);
	p->total = (double)scan.total;
	set_unit(p, scan.unit);
	for (size_t i = 0; rc == 0 && i < scan.waits.n; i++)
		add_wait(p, &scan.waits.v[i]);
	scan_done(&scan);
	return rc;
}

/* --- pictures --------------------------------------------------------------------------------- */

static int make_flame(struct pane *p, const struct look *l, struct err *err)
{
	int rc = look_tree(l, &p->tree, err);
	if (rc < 0)
		return rc;
	p->total = (double)p->tree->nodes.v[TREE_ROOT].total;
	set_unit(p, p->tree->unit);
	tree_sort(p->tree, ORDER_NAME);
	return 0;
}

static int make_heat(struct pane *p, const struct look *l, struct err *err)
{
	int rc = scan_heat(&p->heat.scan, l, l->heat_columns, l->heat_rows, err);
	p->total = (double)p->heat.scan.total;
	set_unit(p, p->heat.scan.unit);
	return rc;
}

/* --- the tabs --------------------------------------------------------------------------------- */

static uint32_t chosen_type(struct source *s, uint32_t chosen)
{
	const struct profile *p = s->ops->catalog(s);
	return chosen < p->series.types.n ? chosen : UINT32_MAX;
}

/* Returns a type that records why threads wait: the chosen type if it does. */
static uint32_t wait_type(struct source *s, uint32_t chosen)
{
	static const char *const names[] = { "off-cpu", "wall", "sched-wait" };
	const struct profile *p = s->ops->catalog(s);
	uint32_t found = UINT32_MAX;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		uint32_t type = look_find_type(s, names[i], false);
		if (type != UINT32_MAX && (found == UINT32_MAX || type == chosen))
			found = type;
	}
	return p->series.types.n ? found : UINT32_MAX;
}

static uint32_t timed_type(struct source *s, uint32_t chosen)
{
	return s->is_block ? UINT32_MAX : chosen_type(s, chosen);
}

static uint32_t gpu_type(struct source *s, uint32_t chosen)
{
	(void)chosen;
	return look_find_type(s, "gpu-time", true);
}

const struct view views[] = {
	{ "functions", "Functions", VIEW_TABLE, chosen_type, make_functions, FN_SELF_PERCENT,
	  true },
	{ "processes", "Processes", VIEW_TABLE, chosen_type, make_processes, TASK_SHARE, false },
	{ "threads", "Threads", VIEW_TABLE, chosen_type, make_threads, TASK_SHARE, false },
	{ "waits", "Waits", VIEW_TABLE, wait_type, make_waits, WAIT_TIME, false },
	{ "flame", "Flame", VIEW_FLAME, chosen_type, make_flame, 0, true },
	{ "heatmap", "Heatmap", VIEW_HEAT, timed_type, make_heat, 0, false },
	{ "gpu", "GPU", VIEW_TABLE, gpu_type, make_functions, FN_SELF_PERCENT, true },
};
const int views_n = sizeof views / sizeof *views;

/* --- rebuilding ------------------------------------------------------------------------------- */

static void clear(struct pane *p)
{
	tui_table_clear(&p->table);
	function_sums_clear(&p->functions);
	flame_set_tree(&p->flame, NULL);
	tree_free(p->tree);
	scan_done(&p->heat.scan);
	p->tree = NULL;
	p->total = 0;
}

int pane_make(struct pane *p, const struct view *v, const struct look *l, struct err *err)
{
	clear(p);
	p->view = v;
	p->look = *l;
	p->since_start = l->source->since_start;
	int rc = v->make(p, l, err);
	if (rc == 0 && v->kind == VIEW_FLAME)
		flame_set_tree(&p->flame, p->tree);
	return rc;
}

void pane_done(struct pane *p)
{
	clear(p);
	tui_table_done(&p->table);
	function_sums_done(&p->functions);
	flame_done(&p->flame);
	heat_done(&p->heat);
	*p = (struct pane){ 0 };
}
