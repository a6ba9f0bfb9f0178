/* cresset up: the always-on profiler. */
#include "agent/up.h"
#include "agent/health.h"
#include "agent/name_guard.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/init_system.h"
#include "base/log.h"
#include "cmd/daemon/always.h"
#include "cmd/daemon/users.h"
#include "cmd/doctor/doctor.h"
#include "server/listen.h"
#include "server/server.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct up_cmd_opts {
	const char *data, *listen, *ui_dir;
	struct always_opts always;
	uint64_t interval_ns, retention_ns, disk_bytes, memory_bytes, max_series;
};

#define PART(title, member) .group = title, .offset = offsetof(struct up_cmd_opts, member)
static const struct cmd_opt up_options[] = {
	{ NULL, "data", "DIR", "store directory, created if missing", OPT_STRING,
	  PART("Data", data), .def = "/var/lib/cresset", .basic = true },
	ALWAYS_DIR_FORCE(up_cmd_opts, "data-force", "Data"),
	{ NULL, "listen", "ADDR", "address and port of the page and the API; none: off", OPT_STRING,
	  PART("Data", listen), .def = "127.0.0.1:7070", .basic = true },
	{ NULL, "ui-dir", "DIR",
	  "directory of page files to use instead of the built-in ones, such as web/", OPT_STRING,
	  PART("Data", ui_dir) },
	{ NULL, "retention", "TIME", "age at which data is deleted: 36h, 14d", OPT_DURATION,
	  PART("Data", retention_ns), .def = "14d", .min = 1, .basic = true },
	{ NULL, "disk", "SIZE", "maximum disk usage", OPT_SIZE, PART("Data", disk_bytes),
	  .def = "10G", .min = 1 << 20, .basic = true },
	{ NULL, "max-series", "N",
	  "maximum number of active series; labels of further ones become [other]", OPT_U64,
	  PART("Data", max_series), .def = "20000", .min = 1, .max = UINT32_MAX },
	ALWAYS_OPTIONS(up_cmd_opts),
	{ NULL, "interval", "TIME", "interval between writes to the store", OPT_DURATION,
	  PART("Cost and limits", interval_ns), .def = "10s", .min = 100000000,
	  .max = 3600000000000ull },
	{ NULL, "memory", "SIZE", "memory limit of the store process: heads, caches, queries",
	  OPT_SIZE, PART("Cost and limits", memory_bytes), .def = "256M", .min = 8 << 20,
	  .basic = true },
	ALWAYS_CONFIG(up_cmd_opts),
	{ 0 },
};
static const struct cmd_opt up_config_only[] = {
	ALWAYS_CONFIG_ONLY(up_cmd_opts),
	{ 0 },
};

/* --- the server ------------------------------------------------------------------------------- */

struct up_page {
	const char *data, *listen, *ui_dir;
	uint64_t memory_bytes;
	struct users users;
	struct users_query query; /* of a reload */
	struct server *server;
	int socket;               /* listens; 0: none */
	union listen_addr asked;  /* what --listen named when it was made */
	bool is_begun, is_passed; /* is_passed: the init system has made it */
};

static int load_server(void *ctx, struct err *err)
{
	(void)ctx;
	return server_load(err);
}

static uint64_t count_left_alone(const void *guard)
{
	return name_guard_left_alone(guard);
}

static uint64_t silent_since_ns(const void *health)
{
	return health_silent_since_ns(health, clock_mono_ns());
}

static int start_server(void *ctx, struct store *store, const struct up_shared *shared,
			struct sandbox *sandbox, struct err *err)
{
	const struct name_guard *guard = shared->guard;
	const struct health *health = shared->health;
	struct up_page *page = ctx;
	const struct server_opts opts = { .socket = page->socket,
					  .store = store,
					  .sandbox = sandbox,
					  .users = &page->users.given,
					  .unread = { guard ? count_left_alone : NULL, guard },
					  .silent = { health ? silent_since_ns : NULL, health },
					  .ui_dir = page->ui_dir,
					  .memory_bytes = page->memory_bytes };

	return server_start(&opts, &page->server, err);
}

static void say_url(void *ctx)
{
	const struct up_page *page = ctx;
	struct buf url = { 0 };

	server_url(page->server, &url);
	log_info("look at it:  %s", buf_cstr(&url));
	buf_done(&url);
}

static void stop_server(void *ctx)
{
	struct up_page *page = ctx;

	server_stop(page->server);
}

/* --- the socket ------------------------------------------------------------------------------- */

static bool is_off(const struct up_page *page)
{
	return strcmp(page->listen, "none") == 0;
}

static bool is_same(const union listen_addr *a, const union listen_addr *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* Port 0 is the same as the port that was free. */
static bool has_address(const struct up_page *page, const union listen_addr *addr)
{
	union listen_addr now;

	return page->socket &&
	       (page->is_passed || is_same(&page->asked, addr) ||
		(listen_address(page->socket, &now, NULL) == 0 && is_same(&now, addr)));
}

/* The store process has its own copy until it ends. */
static void let_go(struct up_page *page)
{
	if (page->socket)
		close(page->socket);
	page->socket = 0;
	page->is_passed = false;
}

/* Makes the socket, or another one if the address has changed. */
static int settle_socket(struct up_page *page, const char *listen, struct err *err)
{
	const struct server_opts opts = { .listen = listen };
	union listen_addr addr;

	if (strcmp(listen, "none") == 0) {
		let_go(page);
		return 0;
	}
	int rc = page->is_passed ? 0 : listen_parse(listen, &addr, err);
	if (rc || has_address(page, &addr))
		return rc;
	int fd = server_listen(&opts, err);
	if (fd < 0)
		return fd;
	let_go(page);
	page->socket = fd;
	page->asked = addr;
	return 0;
}

/* --- the command ------------------------------------------------------------------------------ */

/* A name service that does not respond delays a start, but no reload. */
static void look_for_users(struct up_page *page)
{
	int rc = 0;

	if (page->is_begun)
		rc = users_query_begin(&page->query, users_find);
	else
		users_find(&page->users);
	if (rc)
		log_warn("cannot look for users with access: %s; access is unchanged",
			 strerror(-rc));
}

static int fill(void *ctx, struct cmd_line *line, const void *opts, struct up_opts *up,
		struct always **always)
{
	const struct up_cmd_opts *o = opts;
	struct up_page *page = ctx;
	struct err err = { 0 };
	int status = always_check_machine(&o->always);

	if (status == CMD_OK)
		status = always_new(line, &o->always, always);
	if (status != CMD_OK)
		return status;
	if (page->is_begun && settle_socket(page, o->listen, &err)) {
		always_free(*always);
		return cmd_fail(CMD_FAILED, &err);
	}
	*up = (struct up_opts){
		.data_dir = o->data,
		.interval_ns = o->interval_ns,
		.collect = always_collect(&o->always, *always),
		.store = { .retention_ns = o->retention_ns,
			   .disk_bytes = o->disk_bytes,
			   .memory_bytes = o->memory_bytes / 2,
			   .max_series = o->max_series },
	};
	always_attach(&o->always, *always, up->attach);
	look_for_users(page);
	page->data = o->data;
	page->listen = o->listen;
	page->ui_dir = o->ui_dir;
	page->memory_bytes = o->memory_bytes / 2;
	if (!is_off(page))
		up->server = (struct up_server){ .load = load_server,
						 .start = start_server,
						 .say = say_url,
						 .stop = stop_server,
						 .ctx = page,
						 .read_dir = o->ui_dir,
						 .socket = page->socket };
	return CMD_OK;
}

static int begin(void *ctx, struct up_opts *up)
{
	struct up_page *page = ctx;
	struct err err = { 0 };
	int rc = 0;

	if (is_off(page))
		init_socket_close();
	else
		rc = init_socket_take(&err);
	page->is_begun = true;
	page->is_passed = rc > 0;
	page->socket = page->is_passed ? rc : 0;
	if (rc >= 0)
		rc = settle_socket(page, page->listen, &err);
	up->server.socket = page->socket;
	return rc < 0 ? cmd_fail(collect_status(rc), &err) : CMD_OK;
}

/* Frees the port even if the kernel does not end the store process. A socket of the init system
 * continues to listen. */
static void end(struct up_page *page)
{
	if (page->socket && !page->is_passed)
		shutdown(page->socket, SHUT_RDWR);
	let_go(page);
}

static void say(void *ctx)
{
	const struct up_page *page = ctx;

	log_info("recording this machine into %s; query it:  cresset query --data %s 'cpu{}'",
		 page->data, page->data);
}

static int users_fd(void *ctx)
{
	const struct up_page *page = ctx;

	return users_query_fd(&page->query);
}

/* Users who join the group cresset have access from the next reload on. */
static unsigned take_users(void *ctx)
{
	struct up_page *page = ctx;
	struct users now;
	int rc = users_query_take(&page->query, &now);

	if (rc < 0)
		log_warn("the name service does not respond: users have access as before");
	if (rc <= 0)
		return 0;
	bool are_same = users_are_same(&now, &page->users);
	users_done(&page->users);
	page->users = now;
	if (are_same)
		return 0;
	log_info("other users have access now: restarting the store process");
	return UP_KEEPER;
}

static const struct always_key keys[] = {
	ALWAYS_KEYS,
	{ "interval", UP_COLLECTOR },
	{ "listen", UP_KEEPER },
	{ "ui-dir", UP_KEEPER },
	{ "retention", UP_KEEPER },
	{ "disk", UP_KEEPER },
	{ "max-series", UP_KEEPER },
	{ "memory", UP_KEEPER },
	{ 0 },
};

static int up_command(struct cmd_line *line, const void *opts)
{
	struct up_page page = { 0 };
	struct always_run r = {
		.line = line,
		.typed = opts,
		.keys = keys,
		.dir = { .rule = { ((const struct up_cmd_opts *)opts)->always.dir_force,
				   "data-force" },
			 .process = "store process" },
		.fill = fill,
		.begin = begin,
		.say = say,
		.later_fd = users_fd,
		.later = take_users,
		.ctx = &page
	};

	if (line->args.n)
		return cmd_usage(line, "unexpected argument '%s': up records the whole machine",
				 line->args.v[0]);
	int status = always_run(&r);
	end(&page);
	users_query_end(&page.query);
	users_done(&page.users);
	return status;
}

const struct cmd cmd_up = {
	.name = "up",
	.summary = "record this machine continuously into a store",
	.usage = "[OPTIONS]",
	.about = "Records the whole machine until it is stopped, into a directory that cresset "
		"query and cresset sql can read with --data at any time. A privileged process "
		"collects; an unprivileged one stores, symbolizes and serves the data. It runs "
		"as the owner of the directory, or as the user cresset if the owner is root. A "
		"process that dies is restarted; stored data is not affected. SIGTERM and "
		"Ctrl-C store the last samples and end it. SIGHUP reads the --config file again "
		"and restarts the processes that a change affects.",
	.examples = {
		"cresset up\tthis machine, into /var/lib/cresset",
		"cresset up --data prof --retention 30d\tanother directory, for 30 days",
		"cresset up --exclude 'user=\"backup\"'\teverything but a user's processes",
	},
	.options = up_options,
	.config_only = up_config_only,
	.opts_size = sizeof(struct up_cmd_opts),
	.run = up_command,
};
