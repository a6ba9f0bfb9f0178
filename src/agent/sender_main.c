/* The sending process. */
#include "agent/batch_receiver.h"
#include "agent/keep_spool.h"
#include "agent/name_guard.h"
#include "agent/sender.h"
#include "agent/spool.h"
#include "agent/symbols_upload.h"
#include "agent/up.h"
#include "base/err.h"
#include "base/http_get.h"
#include "base/log.h"
#include "base/sandbox/privileges.h"
#include "base/sandbox/sandbox.h"

#include <errno.h>
#include <netdb.h>
#include <resolv.h>
#include <string.h>
#include <unistd.h>

enum { TOKEN_MAX = 4096 };
/* Time to send the last batch of a collector that exits. */
#define DRAIN_NS 500000000ull

struct sending {
	struct ingest_loop taking;
	struct sandbox sandbox;
	struct spool *spool;
	struct keep_spool target;
	struct sender *sender;
	struct symbols_thread *symbols; /* NULL: all names are found in this process */
	struct name_guard *guard;
};

static void set_token(struct sending *s, const char *token)
{
	sender_set_token(s->sender, token);
	if (s->symbols)
		symbols_thread_set_token(s->symbols, token);
}

/* The token is the file's first line. */
static void take_token(void *ctx, int fd)
{
	struct sending *s = ctx;
	char text[TOKEN_MAX];
	ssize_t n = pread(fd, text, sizeof text - 1, 0);

	close(fd);
	if (n < 0) {
		log_warn("cannot read the token: %s; keeping the previous one", strerror(errno));
		return;
	}
	text[n] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	set_token(s, text);
	explicit_bzero(text, sizeof text);
}

static void hear_symbols(void *ctx)
{
	struct sending *s = ctx;

	symbols_thread_heard(s->symbols);
}

static void wake(void *ctx)
{
	struct sending *s = ctx;

	sender_wake(s->sender);
}

static void note_peer(void *ctx, bool is_cresset)
{
	struct sending *s = ctx;

	symbols_thread_set_peer(s->symbols, is_cresset);
}

/* All received batches are in the spool before the sender must end. */
static int send_all(struct sending *s, const struct up_target *t, struct err *err)
{
	s->target = (struct keep_spool){ .spool = s->spool,
					 .resource = t->resource,
					 .n_resource = t->n_resource,
					 .naming = &s->taking.keeper.naming,
					 .added = wake,
					 .ctx = s };
	const struct batch_target target = keep_in_spool(&s->target);
	batch_receiver_init(&s->taking.keeper, &target, &(struct name_files_opts){ 0 });
	s->taking.keeper.naming.symbols = s->symbols;
	s->taking.keeper.naming.guard = s->guard;
	name_guard_look(s->guard);
	if (s->symbols)
		s->taking.names_fd = symbols_thread_fd(s->symbols);
	int rc = ingest_loop_run(&s->taking, err);
	batch_receiver_done(&s->taking.keeper);
	keep_spool_done(&s->target);
	return rc;
}

/* The symbols thread ends last: it gets the server from the sender. */
static int start_threads(struct sending *s, const struct up_target *t, struct err *err)
{
	const struct symbols_thread_opts symbols = { .url = t->url,
						     .ca_file = t->ca_file,
						     .holds = t->token_file != NULL };
	int rc = t->names_there ? symbols_thread_start(&symbols, &s->symbols, err) : 0;
	const struct sender_opts opts = { .url = t->url,
					  .ca_file = t->ca_file,
					  .holds = t->token_file != NULL,
					  .peer = s->symbols ? note_peer : NULL,
					  .ctx = s };

	if (!rc)
		rc = sender_start(s->spool, &opts, &s->sender, err);
	if (!rc && t->token)
		set_token(s, t->token);
	return rc;
}

static int serve_spool(struct sending *s, const struct up_target *t, struct err *err)
{
	struct spool_status left;
	bool ended = true;
	int rc = start_threads(s, t, err);

	if (!rc)
		rc = sandbox_calls(&s->sandbox, err);
	if (!rc)
		rc = send_all(s, t, err);
	if (s->sender)
		ended = sender_stop(s->sender, DRAIN_NS);
	if (ended)
		symbols_thread_stop(s->symbols);
	spool_status(s->spool, &left);
	if (left.waiting)
		log_info("%llu batches remain in the spool and are sent at the next start",
			 (unsigned long long)left.waiting);
	if (ended)
		spool_close(s->spool);
	return rc;
}

/* Copies the host of a URL: "[::1]:80" has "::1". */
static void host_of(const char *url, char *host, size_t size)
{
	const char *scheme = strstr(url, "://"), *from = scheme ? scheme + 3 : url;
	const char *ends = *from == '[' ? "]" : ":/?#";

	from += *from == '[';
	snprintf(host, size, "%.*s", (int)strcspn(from, ends), from);
}

/* Loads libcurl and the C library's resolver modules before the sandbox closes off their
 * directories. Whether the lookup succeeds does not matter, so an unreachable name server costs
 * little. */
static int load(const struct up_target *t, struct err *err)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct http_client *client;
	struct addrinfo *found;
	char host[NI_MAXHOST];
	int rc = http_client_new(&client, err);

	if (rc)
		return rc;
	http_client_free(client); /* the library stays */
	host_of(t->url, host, sizeof host);
	if (res_init() == 0) {
		_res.retrans = _res.retry = 1;
		_res.options &= ~(RES_DNSRCH | RES_DEFNAMES);
	}
	if (getaddrinfo(host, NULL, &hints, &found) == 0)
		freeaddrinfo(found);
	return 0;
}

int sender_main(const struct up_opts *opts, const struct up_shared *shared, int control)
{
	struct sending s = {
		.taking = { .control = control,
			    .names_fd = -1,
			    .ops = { .token = take_token, .names = hear_symbols, .ctx = &s } },
		.sandbox = { .data_dir = opts->data_dir,
			     .read = { opts->target.ca_file },
			     .connects = true },
		.guard = shared->guard
	};
	const struct spool_opts spool = { .dir = opts->data_dir,
					  .max_bytes = opts->target.spool_bytes };
	struct err err = { 0 };
	bool damaged = false;
	int rc = privileges_drop(opts->uid, opts->gid, &err);

	if (!rc)
		rc = load(&opts->target, &err);
	if (!rc)
		rc = sandbox_files(&s.sandbox, &err);
	if (!rc)
		rc = spool_open(&spool, &s.spool, &damaged, &err);
	if (damaged)
		log_warn(
			"the spool in %s was damaged and is set aside: its unsent batches are lost",
			opts->data_dir);
	if (!rc)
		rc = serve_spool(&s, &opts->target, &err);
	if (rc)
		log_error(&err);
	return rc;
}
