/* cresset serve: a recording or a store over HTTP, read-only. */
#include "cmd/cmd.h"
#include "cmd/interrupt.h"
#include "cmd/load.h"
#include "server/server.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

struct serve_opts {
	const char *data, *listen;
	uint64_t memory_bytes, query_ns, queries, connections, per_s;
};

#define PART(title, member) .group = title, .offset = offsetof(struct serve_opts, member)
static const struct cmd_opt serve_options[] = {
	{ NULL, "listen", "ADDR", "address and port; port 0: any that is free", OPT_STRING,
	  PART("Where", listen), .def = "127.0.0.1:7070", .basic = true },
	{ NULL, "data", "DIR", "a folder of the store, in place of FILE", OPT_STRING,
	  PART("What", data), .basic = true },
	{ NULL, "memory", "SIZE", "for queries, and a quarter of it for bodies of requests",
	  OPT_SIZE, PART("Limits", memory_bytes), .def = "256M", .min = 4 << 20, .basic = true },
	{ NULL, "query-timeout", "TIME", "of a query", OPT_DURATION, PART("Limits", query_ns),
	  .def = "30s", .min = 1 },
	{ NULL, "max-queries", "N", "queries at once; more wait", OPT_U64, PART("Limits", queries),
	  .def = "2", .min = 1, .max = 256 },
	{ NULL, "max-connections", "N", "connections at once", OPT_U64, PART("Limits", connections),
	  .def = "256", .min = 1, .max = 10000 },
	{ NULL, "max-rate", "N", "requests per second of a sender", OPT_U64, PART("Limits", per_s),
	  .def = "200", .min = 1, .max = 1000000 },
	{ 0 },
};

/* What is served. CMD_OK, or the exit status with the error printed. */
static int settle_data(const struct cmd_line *line, const struct serve_opts *o, const char **path,
		       struct profile **file)
{
	struct stat st;
	if (o->data && line->args.n)
		return cmd_usage(line, "choose one of FILE and --data");
	*path = o->data ? o->data : line->args.n ? line->args.v[0] : NULL;
	if (!*path)
		return cmd_usage(line, "FILE is missing, or --data DIR");
	if (stat(*path, &st) == 0 && S_ISDIR(st.st_mode))
		return CMD_OK;
	return load_profile(*path, NULL, file);
}

/* On standard output, where scripts wait for it. */
static int say_where(const struct server *s)
{
	struct buf url = { 0 };
	server_url(s, &url);
	buf_addc(&url, '\n');
	return cmd_print(&url);
}

/* Signals that ask for the end: blocked in every thread that the server starts, and here but for while we wait, so none is missed. */
static void block_stops(sigset_t *before)
{
	sigset_t stops;
	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	sigaddset(&stops, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &stops, before);
}

static void wait_for_end(const sigset_t *before)
{
	while (!interrupt_count())
		sigsuspend(before);
}

static int serve(const struct serve_opts *o, const char *path, struct profile *file)
{
	struct server_opts opts = { .listen = o->listen,
				    .path = path,
				    .file = file,
				    .memory_bytes = o->memory_bytes,
				    .query_ns = o->query_ns,
				    .queries = o->queries,
				    .connections = o->connections,
				    .per_s = o->per_s };
	struct server *server;
	struct err err = { 0 };
	sigset_t before;
	block_stops(&before);
	int rc = server_start(&opts, &server, &err);
	if (rc < 0)
		return cmd_fail(rc == -EINVAL || rc == -EPERM ? CMD_USAGE
				: rc == -EADDRINUSE           ? CMD_FAILED
				: rc == -ENOSYS               ? CMD_UNSUPPORTED
							      : CMD_BAD_INPUT,
				&err);
	int status = say_where(server);
	if (status == CMD_OK)
		wait_for_end(&before);
	server_stop(server);
	return status;
}

static int serve_run(struct cmd_line *line, const void *opts)
{
	const struct serve_opts *o = opts;
	struct profile *file = NULL;
	const char *path = NULL;
	interrupt_install();
	int status = settle_data(line, o, &path, &file);
	if (status == CMD_OK)
		status = serve(o, path, file);
	profile_free(file);
	return status;
}

const struct cmd cmd_serve = {
	.name = "serve",
	.summary = "a recording or the store over HTTP",
	.usage = "FILE | --data DIR [OPTIONS]",
	.about = "Serves a page to look at and an API to ask, read-only: any file that cresset reads, or the folder of a store, which "
		 "may be written meanwhile, and prints the address once it answers. docs/api.md has the routes; queries are those of cresset query and cresset sql.\n"
		 "Only this machine can ask: addresses other than loopback are refused. What a request may cost is limited; what is "
		 "over a limit is answered with 413, 429 or 503.",
	.examples = {
		"cresset serve cpu.cresset\ta page at 127.0.0.1:7070",
		"cresset serve cpu.cresset --listen [::1]:8080\telsewhere",
	},
	.options = serve_options,
	.opts_size = sizeof(struct serve_opts),
	.max_args = 1,
	.arg_name = "FILE",
	.run = serve_run,
};
