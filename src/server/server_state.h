/* server/server_state.h: a server inside. Only the files of server/ use it. */
#ifndef CRESSET_SERVER_SERVER_STATE_H
#define CRESSET_SERVER_SERVER_STATE_H

#include "base/vec.h"
#include "server/budget.h"
#include "server/connections.h"
#include "server/counters.h"
#include "server/listen.h"
#include "server/mhd.h"
#include "server/peer.h"
#include "server/rate.h"
#include "server/server.h"
#include "server/workers.h"

struct access;
struct live;
struct tenants;

enum {
	SERVER_CONNECTION_BYTES = 16 << 10, /* for the request line, headers and what is sent */
	SERVER_WAITING = 64,                /* requests that wait for a worker */
	SERVER_WRITES_WAITING = 256,
	SERVER_PIECE = 64 << 10, /* of a body: one second more for each */
};

struct server {
	struct server_opts opts; /* with the defaults filled in */
	struct mhd mhd;
	/* The first one takes connections; those behind it have the certificates before, and go on with the connections they have. */
	pthread_mutex_t daemons_lock;
	VEC(struct MHD_Daemon *) daemons;
	struct listener listener;
	struct connections connections;
	struct workers *workers; /* for queries */
	struct workers *writers; /* for what is added: no query keeps it waiting */
	struct rate rate;
	struct budget bodies;
	struct tenants *tenants;
	struct access *access;
	struct peers peers;       /* without tokens */
	struct server_users self; /* when opts.users is NULL */
	struct live *live;
	int ui_dir;    /* -1: none */
	bool is_local; /* only this machine can reach it */
	struct counters counters;
	_Atomic bool ends;
	uint64_t start_ns; /* monotonic */
};

#endif
