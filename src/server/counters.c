/* Counters of requests, by route and status. */
#include "server/server_state.h"

const char *const refusal_names[REFUSALS] = {
	[REFUSED_CONNECTIONS] = "connections",
	[REFUSED_RATE] = "rate",
	[REFUSED_BUSY] = "busy",
	[REFUSED_BODIES] = "bodies",
	[REFUSED_SIZE] = "size",
	[REFUSED_FRAMING] = "framing",
	[REFUSED_USER] = "user",
};
