/* Finds the marker at the leaf, and its state and reason. */
#include "profile/state.h"

#include "base/mem.h"
#include "base/parse.h"
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "profile/strtab.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define BLOCKED "[blocked: "
#define BELOW   "[off-CPU below "
#define GPU     "[waiting for GPU"

const char *const thread_state_names[THREAD_STATES] = {
	[STATE_UNSAID] = "",           [STATE_ON_CPU] = "on-cpu",
	[STATE_OFF_CPU] = "off-cpu",   [STATE_SCHED_WAIT] = "sched-wait",
	[STATE_GPU_WAIT] = "gpu-wait",
};

const char *const wait_reason_names[WAIT_REASONS] = {
	[WAIT_OTHER] = "other",           [WAIT_FUTEX] = "futex/lock",
	[WAIT_SLEEP] = "sleep/timer",     [WAIT_POLL] = "poll/epoll",
	[WAIT_READ] = "pipe/socket read", [WAIT_WRITE] = "pipe/socket write",
	[WAIT_DISK] = "disk I/O",         [WAIT_PAGE_FAULT] = "page fault",
	[WAIT_CHILD] = "wait for child",  [WAIT_STOPPED] = "stopped",
};

static const struct {
	const char *start;
	enum thread_state state;
} markers[] = {
	{ BLOCKED, STATE_OFF_CPU },
	{ BELOW, STATE_OFF_CPU },
	{ STATE_OFF_CPU_MARKER, STATE_OFF_CPU },
	{ STATE_SCHED_WAIT_MARKER, STATE_SCHED_WAIT },
	{ GPU, STATE_GPU_WAIT },
	{ STATE_ON_MARKER, STATE_ON_CPU },
	{ STATE_OFF_MARKER, STATE_OFF_CPU },
	{ STATE_IDLE_FRAME, STATE_OFF_CPU },
};

static bool starts(const char *name, size_t len, const char *start)
{
	size_t n = strlen(start);

	return len >= n && memcmp(name, start, n) == 0;
}

enum thread_state state_of_marker(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
		if (starts(name, len, markers[i].start))
			return markers[i].state;
	return STATE_UNSAID;
}

const char *state_reason(const char *name, size_t len, size_t *reason_len)
{
	if (!starts(name, len, BLOCKED) || name[len - 1] != ']' || len < sizeof BLOCKED)
		return NULL;
	*reason_len = len - sizeof BLOCKED;
	return name + sizeof BLOCKED - 1;
}

uint64_t state_below_ns(const char *name, size_t len)
{
	enum { SECOND_NS = 1000000000, TIME_MAX = 32 };
	char text[TIME_MAX];
	uint64_t ns;

	if (!starts(name, len, BELOW) || name[len - 1] != ']' || len - strlen(BELOW) > TIME_MAX)
		return 0;
	len -= strlen(BELOW) + 1;
	memcpy(text, name + strlen(BELOW), len);
	text[len] = '\0';
	return parse_duration(text, SECOND_NS, &ns) == 0 ? ns : 0;
}

static const struct {
	const char *type;
	enum thread_state state;
} types[] = {
	{ "cpu", STATE_ON_CPU },
	{ "wall", STATE_ON_CPU },
	{ "off-cpu", STATE_OFF_CPU },
	{ "sched-wait", STATE_SCHED_WAIT },
};

enum thread_state state_of_type(const char *type_name)
{
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(type_name, types[i].type) == 0)
			return types[i].state;
	return STATE_UNSAID;
}

static bool has_text(const struct profile *p, const char *text)
{
	return strtab_find(&p->strings, text) != UINT32_MAX;
}

/* Whether some stack says that it waits, or why, as those of a recording do. */
static bool has_waits(const struct profile *p)
{
	char marker[64];
	if (has_text(p, STATE_OFF_CPU_MARKER) || has_text(p, STATE_SCHED_WAIT_MARKER))
		return true;
	for (int i = 0; i < WAIT_REASONS; i++) {
		snprintf(marker, sizeof marker, BLOCKED "%s]", wait_reason_names[i]);
		if (has_text(p, marker))
			return true;
	}
	return false;
}

enum thread_state state_of_type_in(const struct profile *p, uint32_t type)
{
	const char *period = profile_str(p, p->series.types.v[type].period_type);
	const char *name = profile_type_name(p, type);
	if (strcmp(name, "wall") == 0 && strcmp(period, "wall") == 0 && !has_waits(p))
		return STATE_UNSAID;
	return state_of_type(name);
}

struct stack_state state_of_stack(struct profile *p, uint32_t stack)
{
	uint32_t depth = stack_depth(&p->stacks, stack);
	uint32_t *frames = xmalloc((depth + 1) * sizeof *frames);
	struct stack_state out = { STATE_UNSAID, 0 };

	stack_frames(&p->stacks, stack, frames);
	for (uint32_t i = depth; i-- > 0 && out.state == STATE_UNSAID;) {
		const struct frame *f = &p->frames.frames.v[frames[i]];
		const char *name = profile_str(p, f->function), *reason;
		size_t len;

		if (f->kind != FRAME_MARKER || f->mapping != MAPPING_NONE)
			continue;
		out.state = state_of_marker(name, strtab_len(&p->strings, f->function));
		reason = state_reason(name, strtab_len(&p->strings, f->function), &len);
		if (reason)
			out.reason = strtab_putn(&p->strings, reason, len);
	}
	free(frames);
	return out;
}
