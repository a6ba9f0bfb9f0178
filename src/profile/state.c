#include "profile/state.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

#define BLOCKED "[blocked: "

const char *const thread_state_names[THREAD_STATES] = {
	[STATE_UNSAID] = "",
	[STATE_ON_CPU] = "on-cpu",
	[STATE_OFF_CPU] = "off-cpu",
	[STATE_SCHED_WAIT] = "sched-wait",
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
	{ "[off-CPU below ", STATE_OFF_CPU },
	{ STATE_SCHED_WAIT_MARKER, STATE_SCHED_WAIT },
	{ STATE_ON_MARKER, STATE_ON_CPU },
	{ STATE_OFF_MARKER, STATE_OFF_CPU },
};

enum thread_state state_of_marker(const char *name, const char **reason, size_t *reason_len)
{
	size_t len = strlen(name);

	*reason = NULL;
	*reason_len = 0;
	if (str_starts(name, BLOCKED) && name[len - 1] == ']') {
		*reason = name + sizeof BLOCKED - 1;
		*reason_len = len - sizeof BLOCKED;
	}
	for (size_t i = 0; i < sizeof markers / sizeof *markers; i++)
		if (str_starts(name, markers[i].start))
			return markers[i].state;
	return STATE_UNSAID;
}

struct stack_state state_of_stack(struct profile *p, uint32_t stack)
{
	uint32_t depth = stack_depth(&p->stacks, stack);
	uint32_t *frames = xmalloc((depth + 1) * sizeof *frames);
	struct stack_state out = { STATE_UNSAID, 0 };

	stack_frames(&p->stacks, stack, frames);
	for (uint32_t i = depth; i-- > 0 && out.state == STATE_UNSAID;) {
		const struct frame *f = &p->frames.frames.v[frames[i]];
		const char *reason;
		size_t len;

		if (f->kind != FRAME_MARKER)
			continue;
		out.state = state_of_marker(profile_str(p, f->function), &reason, &len);
		if (reason)
			out.reason = strtab_putn(&p->strings, reason, len);
	}
	free(frames);
	return out;
}
