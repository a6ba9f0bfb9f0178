/* The store process. */
#include "agent/batch_receiver.h"
#include "agent/name_guard.h"
#include "agent/name_requests.h"
#include "agent/up.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sandbox/privileges.h"
#include "base/sandbox/sandbox.h"

#include <errno.h>

/* CPU time per round of maintenance, and the interval; shorter while more is left to do. */
#define MAINTAIN_BUDGET_NS 20000000
#define MAINTAIN_EVERY_NS  10000000000ull
#define MAINTAIN_SOON_NS   1000000000ull
#define TRIM_EVERY_NS      60000000000ull
/* How long a query waits for the names it shows. */
#define LOOK_NS            700000000ull
enum { LARGE_BYTES = 128 << 10 };

struct keeping {
	struct ingest_loop taking;
	struct sandbox sandbox;
	struct store *store;
	struct keep_store target;
	const struct up_shared *shared;
	struct name_requests *asks;
	const struct up_server *server;
	uint64_t maintain_ns, trim_ns;
};

static int maintain(void *ctx, struct err *err)
{
	struct keeping *k = ctx;
	struct err news = { 0 };
	uint64_t now_ns = clock_mono_ns();

	while (store_news(k->store, &news))
		log_warning(&news);
	if (now_ns < k->maintain_ns)
		return 0;
	if (now_ns >= k->trim_ns) {
		mem_trim();
		k->trim_ns = now_ns + TRIM_EVERY_NS;
	}
	int more = store_maintain(k->store, MAINTAIN_BUDGET_NS, err);
	k->maintain_ns = now_ns + (more > 0 ? MAINTAIN_SOON_NS : MAINTAIN_EVERY_NS);
	return more < 0 && more != -ENOSPC ? more : 0; /* the store itself reports a full disk */
}

/* --- queries ---------------------------------------------------------------------------------- */

static void hear_asks(void *ctx)
{
	struct keeping *k = ctx;

	name_queue_hear(&k->taking.keeper.naming);
}

static bool frames_wait(void *ctx)
{
	return name_requests_has(ctx);
}

static bool name_frames(void *ctx, const struct profile *dict, const uint32_t *frames, size_t n)
{
	return name_requests_wait(ctx, dict, frames, n, LOOK_NS);
}

/* Call before queries are accepted. */
static int hear_queries(struct keeping *k, struct err *err)
{
	int rc = name_requests_new(&k->asks, err);

	if (rc)
		return rc;
	store_set_namer(k->store, &(struct store_namer){ .frames_wait = frames_wait,
							 .name = name_frames,
							 .ctx = k->asks });
	k->taking.names_fd = name_requests_fd(k->asks);
	return 0;
}

/* --- the loop --------------------------------------------------------------------------------- */

static void say_where(void *ctx)
{
	const struct keeping *k = ctx;

	if (k->server->say)
		k->server->say(k->server->ctx);
}

static int keep(struct keeping *k, struct err *err)
{
	const struct up_server *server = k->server;
	int rc = hear_queries(k, err);

	if (!rc)
		rc = server->start
			     ? server->start(server->ctx, k->store, k->shared, &k->sandbox, err)
			     : 0;

	if (!rc)
		rc = sandbox_calls(&k->sandbox, err);
	if (rc)
		return rc;
	k->target.store = k->store;
	const struct batch_target target = keep_in_store(&k->target);
	batch_receiver_init(&k->taking.keeper, &target, &(struct name_files_opts){ 0 });
	k->taking.keeper.naming.guard = k->shared->guard;
	k->taking.keeper.naming.asks = k->asks;
	name_guard_look(k->shared->guard);
	rc = ingest_loop_run(&k->taking, err);
	if (server->stop)
		server->stop(server->ctx);
	log_verbose("symbolization took %llu ms of CPU time; files were read %llu times",
		    (unsigned long long)k->taking.keeper.naming.spent_ns / 1000000,
		    (unsigned long long)k->taking.keeper.naming.reads);
	batch_receiver_done(&k->taking.keeper);
	return rc;
}

int store_main(const struct up_opts *opts, const struct up_shared *shared, int control)
{
	struct keeping k = { .taking = { .control = control,
					 .names_fd = -1,
					 .ops = { .names = hear_asks,
						  .tend = maintain,
						  .joined = say_where,
						  .ctx = &k } },
			     .sandbox = { .data_dir = opts->data_dir,
					  .read_dir = opts->server.read_dir },
			     .shared = shared,
			     .server = &opts->server };
	struct err err = { 0 };

	mem_give_back(LARGE_BYTES);
	int rc = opts->server.load ? opts->server.load(opts->server.ctx, &err) : 0;

	if (!rc)
		rc = privileges_drop(opts->uid, opts->gid, &err);
	if (!rc)
		rc = sandbox_files(&k.sandbox, &err);
	if (!rc)
		rc = store_open(opts->data_dir, &opts->store, &k.store, &err);
	if (!rc)
		rc = keep(&k, &err);
	if (rc)
		log_error(&err);
	int closed = store_close(k.store, &err);
	if (closed && !rc)
		log_error(&err);
	name_requests_free(k.asks);
	return rc ? rc : closed;
}
