/* The marker texts of incomplete walks. */
#include "collect/kernel/walk_end.h"

#include "bpf/event.h"

#include <stddef.h>

#define REASON(text) \
	{ \
		text, "[truncated: " text "]" \
	}

static const struct {
	const char *reason, *marker;
} ends[WALK_ENDS] = {
	[WALK_NO_FP] = REASON("no frame pointer"),
	[WALK_UNREADABLE] = REASON("stack unreadable"),
	[WALK_DEPTH] = REASON("depth"),
	[WALK_32BIT] = REASON("32-bit"),
	[WALK_RULE] = REASON("unwind rule"),
	[WALK_ASTRAY] = REASON("astray"),
	[WALK_NOT_LOADED] = REASON("unwind table not loaded"),
	[WALK_CUT] = REASON("stack not sent"),
	[WALK_KERNEL] = REASON("kernel"),
	[WALK_LOST] = REASON("lost"),
	[WALK_EXEC] = { "exec", "[exec]" },
	[WALK_TIME] = REASON("time"),
	[WALK_NO_ROOM] = REASON("no room for its mappings"),
	[WALK_EXIT] = { "exit", "[exit]" },
	[WALK_NO_COPY_ROOM] = REASON("stack not copied: ring full"),
	[WALK_NO_COPY_TIME] = REASON("stack not copied: CPU time"),
	[WALK_NO_MAPPING] = REASON("no mapping"),
	[WALK_NO_FILE] = REASON("no file"),
};

const char *walk_end_reason(uint32_t end)
{
	return end < WALK_ENDS ? ends[end].reason : NULL;
}

const char *walk_end_marker(uint32_t end)
{
	return end < WALK_ENDS ? ends[end].marker : NULL;
}

bool walk_end_is_loss(uint32_t end)
{
	return walk_end_marker(end) && end != WALK_EXEC && end != WALK_EXIT;
}
