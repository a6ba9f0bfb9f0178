#include "base/json.h"
#include "base/log.h"
#include "cmd/record.h"
#include "cmd/trial.h"

#include <errno.h>

/* name, what it shows, whether this version records it. Names are reserved for good, so that a script that asks for one is told
 * the truth by every version. */
#define EVENT_KINDS(ROW) \
	ROW("cpu", "where CPU time goes", true) \
	ROW("off-cpu", "where threads wait, and how long", false) \
	ROW("sched-wait", "runnable but not running", false) \
	ROW("wall", "running and waiting together", false) \
	ROW("page-fault", "who grows a process", false) \
	ROW("alloc", "memory allocations", false) \
	ROW("inuse", "memory in use", false) \
	ROW("lock", "waits for locks", false) \
	ROW("gpu-time", "GPU time by the CPU stack that asked for it", false) \
	ROW("gpu-wait", "CPU waiting for the GPU", false) \
	ROW("gpu-launch", "GPU kernel launches", false) \
	ROW("gpu-copy", "copies to and from the GPU", false) \
	ROW("gpu-stall", "why GPU instructions stall", false) \
	ROW("hbm-alloc", "GPU memory allocations", false) \
	ROW("hbm-inuse", "GPU memory in use", false) \
	ROW("nccl", "communication between GPUs", false)

#define WORD(name, what, built) name,
#define KIND(name, what, built) { name, what, built },
const char *const event_words[] = { EVENT_KINDS(WORD) NULL };
static const struct event_kind {
	const char *name, *what;
	bool built;
} kinds[] = { EVENT_KINDS(KIND) };
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Why a kind does not work here, NULL when it does. */
static const char *kind_obstacle(const struct event_kind *k, const struct trial *t)
{
	if (!k->built)
		return "not in this version";
	return t->rc < 0 ? t->err.text : NULL;
}

static void list_json(struct buf *b, const struct trial *t)
{
	struct json j = json_to(b);
	json_arr(&j);
	for (size_t i = 0; i < KINDS; i++) {
		const char *obstacle = kind_obstacle(&kinds[i], t);
		json_obj(&j);
		json_key(&j, "name");
		json_str(&j, kinds[i].name);
		json_key(&j, "works");
		json_bool(&j, !obstacle);
		json_key(&j, "why_not");
		json_str(&j, obstacle);
		json_key(&j, "what");
		json_str(&j, kinds[i].what);
		json_end(&j);
	}
	json_end(&j);
	buf_addc(b, '\n');
}

static void list_text(struct buf *b, const struct trial *t)
{
	for (size_t i = 0; i < KINDS; i++) {
		const char *obstacle = kind_obstacle(&kinds[i], t);
		buf_addf(b, "%-12s %-46s %s\n", kinds[i].name, kinds[i].what,
			 obstacle ? obstacle : "works here");
	}
}

int events_list(const struct cmd_line *line)
{
	struct trial trial;
	struct buf b = { 0 };
	trial_run(&trial);
	if (line->globals.json)
		list_json(&b, &trial);
	else
		list_text(&b, &trial);
	return cmd_print(&b);
}

int events_check(const struct choice_list *events)
{
	struct err err = { 0 };
	for (int i = 0; i < events->n; i++) {
		if (kinds[events->v[i]].built)
			continue;
		err_set(&err, EOPNOTSUPP, "cannot record %s: this version does not have it yet",
			kinds[events->v[i]].name);
		err_hint(&err, "cresset record --list-events says what works here");
		return cmd_fail(CMD_UNSUPPORTED, &err);
	}
	return CMD_OK;
}
