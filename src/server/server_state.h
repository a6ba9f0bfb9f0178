/* server/server_state.h: a server inside. Only the files of server/ use it. */
#ifndef CRESSET_SERVER_SERVER_STATE_H
#define CRESSET_SERVER_SERVER_STATE_H

#include "server/budget.h"
#include "server/connections.h"
#include "server/counters.h"
#include "server/listen.h"
#include "server/mhd.h"
#include "server/rate.h"
#include "server/served.h"
#include "server/server.h"
#include "server/workers.h"

enum {
	SERVER_CONNECTION_BYTES = 16 << 10, /* for the request line, headers and what is sent */
	SERVER_WAITING = 64,                /* requests that wait for a worker */
	SERVER_PIECE = 64 << 10,            /* of a body: one second more for each */
};

struct server {
	struct server_opts opts; /* with the defaults filled in */
	struct mhd mhd;
	struct MHD_Daemon *daemon;
	struct listener listener;
	struct connections connections;
	struct workers *workers;
	struct rate rate;
	struct budget bodies;
	struct served data;
	struct counters counters;
	_Atomic bool ends;
	uint64_t start_ns; /* monotonic */
};

#endif
