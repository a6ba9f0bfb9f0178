/* cresset serve: serves a recording or a store over HTTP. */
#include "base/buf.h"
#include "base/err.h"
#include "base/init_system.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sandbox/sandbox.h"
#include "cmd/cli/config.h"
#include "cmd/cli/interrupt.h"
#include "cmd/daemon/users.h"
#include "cmd/files/data_dir.h"
#include "cmd/files/load.h"
#include "profile/profile.h"
#include "server/server.h"
#include "store/codec/store.h"

#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

enum { LARGE_BYTES = 4 << 20 }; /* larger than most messages, whose buffers are reused */

/* In the order of enum server_log. */
static const char *const log_words[] = { "off", "json", "text", NULL };

struct serve_opts {
	const char *data, *listen;
	uint64_t memory_bytes, query_ns, queries, connections, per_s;
	uint64_t disk_bytes, retention_ns, max_series;
	const char *tokens, *tls_cert, *tls_key;
	const char *config, *ui_dir;
	bool is_insecure;
	int log;
	struct choice_list data_force; /* data_dir_words */
};

#define PART(title, member) .group = title, .offset = offsetof(struct serve_opts, member)
static const struct cmd_opt serve_options[] = {
	{ NULL, "listen", "ADDR", "address and port; port 0: any that is free", OPT_STRING,
	  PART("Where", listen), .def = "127.0.0.1:7070", .basic = true },
	{ NULL, "tokens", "FILE", "token file for access control (see cresset token)", OPT_STRING,
	  PART("Where", tokens), .basic = true },
	{ NULL, "tls-cert", "FILE", "TLS certificate chain (PEM)", OPT_STRING,
	  PART("Where", tls_cert), .basic = true },
	{ NULL, "tls-key", "FILE", "its private key (PEM)", OPT_STRING, PART("Where", tls_key),
	  .basic = true },
	{ NULL, "ui-dir", "DIR",
	  "directory of page files to use instead of the built-in ones, such as web/", OPT_STRING,
	  PART("Where", ui_dir) },
	{ NULL, "insecure", NULL, "accept tokens over plain HTTP from other hosts", OPT_FLAG,
	  PART("Where", is_insecure) },
	{ NULL, "data", "DIR", "store directory, instead of FILE", OPT_STRING, PART("What", data),
	  .basic = true },
	DATA_DIR_FORCE("data-force", "What", offsetof(struct serve_opts, data_force)),
	{ NULL, "retention", "TIME", "age at which data is deleted: 36h, 14d", OPT_DURATION,
	  PART("What", retention_ns), .def = "14d", .min = 1, .basic = true },
	{ NULL, "disk", "SIZE", "maximum disk usage of --data", OPT_SIZE, PART("What", disk_bytes),
	  .def = "10G", .min = 1 << 20, .basic = true },
	{ NULL, "max-series", "N",
	  "maximum number of active series in --data; labels of further ones become [other]",
	  OPT_U64, PART("What", max_series), .def = "20000", .min = 1, .max = UINT32_MAX },
	{ NULL, "memory", "SIZE", "memory limit for request bodies, queries and the store",
	  OPT_SIZE, PART("Limits", memory_bytes), .def = "256M", .min = 8 << 20, .basic = true },
	{ NULL, "log", "HOW", "request log on standard error: off, json or text", OPT_ENUM,
	  PART("Where", log), .words = log_words, .def = "off" },
	{ NULL, "query-timeout", "TIME", "time limit of a query", OPT_DURATION,
	  PART("Limits", query_ns), .def = "30s", .min = 1 },
	{ NULL, "max-queries", "N", "concurrent queries; further ones wait", OPT_U64,
	  PART("Limits", queries), .def = "2", .min = 1, .max = 256 },
	{ NULL, "max-connections", "N", "concurrent connections", OPT_U64,
	  PART("Limits", connections), .def = "256", .min = 1, .max = 10000 },
	{ NULL, "max-rate", "N", "requests per second and sender", OPT_U64, PART("Limits", per_s),
	  .def = "200", .min = 1, .max = 1000000 },
	{ NULL, "config", "FILE", "these options, as YAML", OPT_CONFIG,
	  PART("Configuration", config), .basic = true },
	{ 0 },
};

static int check_data(const struct serve_opts *o)
{
	const struct data_dir_rule rule = { o->data_force, "data-force" };
	struct err err = { 0 };
	if (store_user_take_over(o->data, &err) < 0)
		log_warning(&err);
	return data_dir_check(o->data, &rule, &err) ? cmd_fail(CMD_NO_OUTPUT, &err) : CMD_OK;
}

/* Finds out what is served. Returns CMD_OK, or the exit status with the error printed. */
static int settle_data(const struct cmd_line *line, const struct serve_opts *o, const char **path,
		       struct profile **file)
{
	struct stat st;
	if (o->data && line->args.n)
		return cmd_usage(line, "choose one of FILE and --data");
	if (!o->tls_cert != !o->tls_key)
		return cmd_usage(line, "--tls-cert and --tls-key go together");
	*path = o->data ? o->data : line->args.n ? line->args.v[0] : NULL;
	if (!*path)
		return cmd_usage(line, "FILE is missing, or --data DIR");
	bool is_there = stat(*path, &st) == 0;
	if (o->data && (!is_there || S_ISDIR(st.st_mode)))
		return check_data(o);
	if (is_there && S_ISDIR(st.st_mode))
		return CMD_OK;
	return load_profile(*path, NULL, file);
}

/* Prints the address on standard output, where scripts wait for it. */
static int say_where(const struct server *s)
{
	struct buf url = { 0 };
	server_url(s, &url);
	buf_addc(&url, '\n');
	return cmd_print(&url);
}

/* Blocks signals in this thread and every thread that the server starts; wait_for_end waits for
 * them. */
static void block_signals(sigset_t *all)
{
	sigemptyset(all);
	sigaddset(all, SIGINT);
	sigaddset(all, SIGTERM);
	sigaddset(all, SIGHUP);
	pthread_sigmask(SIG_BLOCK, all, NULL);
}

/* Only tokens and certificates can change while it runs. */
static void say_changes(const struct cmd_line *line, const struct serve_opts *o)
{
	struct config_again again;
	struct err err = { 0 };
	if (config_again(line, o, &again, &err)) {
		log_warn("keeping the previous configuration: %s", err.text);
		return;
	}
	for (size_t i = 0; i < again.changed.n; i++)
		log_warn("%s has changed: restart to apply it", again.changed.v[i]);
	config_again_done(&again);
}

static void reload(const struct cmd_line *line, const struct serve_opts *o, struct server *server)
{
	struct err err = { 0 };
	if (o->config)
		say_changes(line, o);
	if (!o->tokens && !o->tls_cert)
		return;
	if (server_reload(server, &err) < 0)
		log_warn("keeping the previous configuration: %s", err.text);
	else
		log_info("tokens and certificates are read again");
}

/* Reports to the init system that the server is ready, again and again while its queue is full.
 * SIGHUP reloads if there is anything to reload, else it ends the server as well. */
static void wait_for_end(const struct cmd_line *line, const struct serve_opts *o,
			 const sigset_t *all, struct server *server, int init)
{
	static const struct timespec again = { .tv_nsec = NOTIFY_WAIT_MS * 1000000L };
	bool can_reload = o->tokens || o->tls_cert || o->config;
	bool init_awaits = notify_tell(init, "READY=1") != 0;
	while (!interrupt_count()) {
		int signal_number = sigtimedwait(all, NULL, init_awaits ? &again : NULL);
		if (signal_number < 0) {
			init_awaits = init_awaits && notify_tell(init, "READY=1") != 0;
			continue;
		}
		if (signal_number != SIGHUP || !can_reload)
			return;
		reload(line, o, server);
	}
}

static int serve(const struct cmd_line *line, const struct serve_opts *o, const char *path,
		 struct profile *file)
{
	const struct store_opts keep = { .memory_bytes = o->memory_bytes / 2,
					 .disk_bytes = o->disk_bytes,
					 .retention_ns = (int64_t)o->retention_ns,
					 .max_series = (uint32_t)o->max_series };
	struct users users;
	struct sandbox sandbox = { .data_dir = o->data,
				   .store_dir = o->data || file ? NULL : path,
				   .read = { o->tokens, o->tls_cert, o->tls_key, o->config },
				   .read_dir = o->ui_dir };
	struct server_opts opts = { .listen = o->listen,
				    .sandbox = &sandbox,
				    .ui_dir = o->ui_dir,
				    .path = path,
				    .file = file,
				    .tokens = o->tokens,
				    .users = &users.given,
				    .tls_cert = o->tls_cert,
				    .tls_key = o->tls_key,
				    .is_insecure = o->is_insecure,
				    .log = (enum server_log)o->log,
				    .keep = o->data ? &keep : NULL,
				    .memory_bytes = o->memory_bytes / (o->data ? 2 : 1),
				    .query_ns = o->query_ns,
				    .queries = o->queries,
				    .connections = o->connections,
				    .per_s = o->per_s };
	struct server *server;
	struct err err = { 0 };
	sigset_t all;
	mem_give_back(LARGE_BYTES);
	users_find(&users);
	block_signals(&all);
	int init = notify_open(); /* the sandbox allows no new sockets */
	int rc = init_socket_take(&err);
	opts.socket = rc;
	if (rc >= 0)
		rc = server_start(&opts, &server, &err);
	if (rc < 0) {
		users_done(&users);
		return cmd_fail(rc == -EINVAL || rc == -EPERM ? CMD_USAGE
				: rc == -EADDRINUSE           ? CMD_FAILED
				: rc == -ENOSYS               ? CMD_UNSUPPORTED
							      : CMD_BAD_INPUT,
				&err);
	}
	int status = say_where(server);
	if (status == CMD_OK)
		wait_for_end(line, o, &all, server, init);
	notify_tell(init, "STOPPING=1");
	server_stop(server);
	users_done(&users);
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
		status = serve(line, o, path, file);
	profile_free(file);
	return status;
}

const struct cmd cmd_serve = {
	.name = "serve",
	.summary = "serve a recording or the store over HTTP",
	.usage = "FILE | --data DIR [OPTIONS]",
	.about = "Serves a file of any format, or a store, as a web page and an HTTP API, and "
		"prints the address when it is ready. docs/api.md lists the routes; queries are "
		"those of cresset query and cresset sql. With --data DIR it writes to the store "
		"there and accepts uploads: OTLP profiles and metrics, and profiles of any "
		"format.\n"
		 "Without tokens only users of this machine have access: root and the user who "
		 "started it, and, without the right to delete, the caller of sudo and members "
		 "of the group cresset. Other hosts need --tokens and TLS; SIGHUP reads both "
		 "again. Requests above a limit get status 413, 429 or 503.",
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
