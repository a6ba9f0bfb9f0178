/* cresset up: the always-on profiler. */
#include "agent/up.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/trial.h"
#include "server/server.h"

#include <dirent.h>
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

/* As up_events. */
static const char *const event_words_up[] = { "cpu", "off-cpu", "sched-wait", NULL };
static const uint32_t up_events[] = { COLLECT_CPU, COLLECT_OFF_CPU, COLLECT_SCHED_WAIT };

/* What always-on use can afford. */
enum {
	UP_BUFFER_BYTES = 512 << 10,
	UP_STACK_BYTES = 2 << 20,
	UP_MAX_BLOCK_S = 3600,
};

struct up_cmd_opts {
	const char *data, *listen;
	struct choice_list events;
	uint64_t freq_hz, interval_ns, min_block_ns, max_rate;
	uint64_t retention_ns, disk_bytes, memory_bytes, max_series;
};

#define PART(title, member) .group = title, .offset = offsetof(struct up_cmd_opts, member)
static const struct cmd_opt up_options[] = {
	{ NULL, "data", "DIR", "folder of the store; made when it is not there", OPT_STRING,
	  PART("Data", data), .def = "/var/lib/cresset", .basic = true },
	{ NULL, "listen", "ADDR", "address and port of the page and the API; none: there is none",
	  OPT_STRING, PART("Data", listen), .def = "127.0.0.1:7070", .basic = true },
	{ NULL, "retention", "TIME", "keep data that long: 36h, 14d", OPT_DURATION,
	  PART("Data", retention_ns), .def = "14d", .min = 1, .basic = true },
	{ NULL, "disk", "SIZE", "and no more than that", OPT_SIZE, PART("Data", disk_bytes),
	  .def = "10G", .min = 1 << 20, .basic = true },
	{ NULL, "max-series", "N", "more of them at once are folded together", OPT_U64,
	  PART("Data", max_series), .def = "20000", .min = 1, .max = UINT32_MAX },
	{ "e", "events", "KIND,...", "what is recorded: cpu, off-cpu, sched-wait", OPT_CHOICES,
	  PART("What to record", events), .words = event_words_up, .def = "cpu,off-cpu",
	  .basic = true },
	{ "Ff", "freq", "HZ", "samples per second and CPU", OPT_U64,
	  PART("What to record", freq_hz), .def = "19", .min = 1, .max = 1000, .basic = true },
	{ "m", "min-block", "TIME", "no stack of shorter waits; a bare number is us", OPT_DURATION,
	  PART("What to record", min_block_ns), .def = "1ms", .bare_unit_ns = 1000 },
	{ NULL, "max-rate", "N", "stacks of waits per second; of more a weighted sample is taken",
	  OPT_U64, PART("What to record", max_rate), .def = "200", .min = 1, .max = 1000000 },
	{ NULL, "interval", "TIME", "how often the store is given what was recorded", OPT_DURATION,
	  PART("Cost and limits", interval_ns), .def = "10s", .min = 100000000,
	  .max = 3600000000000ull },
	{ NULL, "memory", "SIZE", "of the store process: heads, caches, queries", OPT_SIZE,
	  PART("Cost and limits", memory_bytes), .def = "256M", .min = 8 << 20, .basic = true },
	{ 0 },
};

/* --- the data directory ----------------------------------------------------------------------- */

static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool empty = d != NULL;

	while (d && (e = readdir(d)))
		empty &= strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0;
	if (d)
		closedir(d);
	return empty;
}

static int find_nobody(struct up_opts *up, struct err *err)
{
	const struct passwd *nobody = getpwnam("nobody");

	if (!nobody)
		return err_set(err, ENOENT,
			       "there is no user 'nobody' to run the store process as");
	up->uid = nobody->pw_uid;
	up->gid = nobody->pw_gid;
	return 0;
}

/* A new or empty folder of root's becomes nobody's. */
static int give_away(const struct up_opts *up, const char *dir, struct err *err)
{
	if (!is_empty(dir)) {
		err_set(err, EACCES, "%s is root's and not empty: the store process is not root",
			dir);
		return err_hint(err, "if it is a store:  chown -R nobody %s", dir);
	}
	if (chown(dir, up->uid, up->gid) || chmod(dir, 0700))
		return err_set(err, errno, "cannot give %s to the store process: %s", dir,
			       strerror(errno));
	return 0;
}

/* Who the store process is to be: the folder's owner. */
static int settle_data(struct up_opts *up, struct err *err)
{
	const char *dir = up->data_dir;
	struct stat st;

	if (mkdir(dir, 0700) && errno != EEXIST)
		return err_set(err, errno, "cannot make %s: %s", dir, strerror(errno));
	if (stat(dir, &st))
		return err_set(err, errno, "%s: %s", dir, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return err_set(err, ENOTDIR, "%s is not a folder", dir);
	up->uid = st.st_uid;
	up->gid = st.st_gid;
	if (st.st_uid != 0 || geteuid() != 0)
		return 0;
	int rc = find_nobody(up, err);
	return rc ? rc : give_away(up, dir, err);
}

/* --- permissions ------------------------------------------------------------------------------ */

static int check_permissions(struct err *err)
{
	struct check check = { 0 };

	collect_check_capabilities(&check);
	if (check.state != CHECK_MISSING)
		return 0;
	err_set(err, EPERM, "cannot watch this machine: %s", check.detail);
	return err_hint(err, "%s", check.remedy);
}

/* --- the server ------------------------------------------------------------------------------- */

struct up_page {
	const char *listen;
	uint64_t memory_bytes;
	struct server *server;
};

static int start_server(void *ctx, struct store *store, struct err *err)
{
	struct up_page *page = ctx;
	const struct server_opts opts = { .listen = page->listen,
					  .store = store,
					  .memory_bytes = page->memory_bytes };
	struct buf url = { 0 };
	int rc = server_start(&opts, &page->server, err);

	if (rc)
		return rc;
	server_url(page->server, &url);
	log_info("look at it:  %s", buf_cstr(&url));
	buf_done(&url);
	return 0;
}

static void stop_server(void *ctx)
{
	struct up_page *page = ctx;

	server_stop(page->server);
}

/* --- the command ------------------------------------------------------------------------------ */

static struct up_opts settle(const struct up_cmd_opts *o, const struct utsname *host)
{
	struct up_opts up = {
		.data_dir = o->data,
		.interval_ns = o->interval_ns,
		.collect = { .freq_hz = o->freq_hz,
			     .host = host->nodename,
			     .min_block_ns = o->min_block_ns,
			     .min_block_set = true,
			     .max_block_ns = UP_MAX_BLOCK_S * 1000000000ull,
			     .max_rate = o->max_rate,
			     .buffer_bytes = UP_BUFFER_BYTES,
			     .stack_bytes = UP_STACK_BYTES },
		.store = { .retention_ns = o->retention_ns,
			   .disk_bytes = o->disk_bytes,
			   .memory_bytes = o->memory_bytes,
			   .max_series = o->max_series },
	};

	for (int i = 0; i < o->events.n; i++)
		up.collect.events |= up_events[o->events.v[i]];
	return up;
}

static int up_command(struct cmd_line *line, const void *opts)
{
	const struct up_cmd_opts *o = opts;
	struct err err = { 0 };
	struct utsname host = { 0 };

	if (line->args.n)
		return cmd_usage(line, "what is '%s'? The whole machine is recorded",
				 line->args.v[0]);
	uname(&host);
	struct up_opts up = settle(o, &host);
	struct up_page page = { .listen = o->listen, .memory_bytes = o->memory_bytes };
	if (strcmp(o->listen, "none") != 0)
		up.server = (struct up_server){ start_server, stop_server, &page };
	int rc = check_permissions(&err);
	if (rc)
		return cmd_fail(CMD_PERMISSION, &err);
	rc = settle_data(&up, &err);
	if (rc)
		return cmd_fail(CMD_NO_OUTPUT, &err);
	log_info("recording this machine into %s; ask it:  cresset query --data %s 'cpu{}'",
		 o->data, o->data);
	rc = up_run(&up);
	return rc ? collect_status(rc) : CMD_OK;
}

const struct cmd cmd_up = {
	.name = "up",
	.summary = "record this machine always, and keep it in a store",
	.usage = "[OPTIONS]",
	.about = "Records the whole machine until it is stopped, and keeps what it sees in a folder that cresset query and cresset "
		 "sql read with --data, also while it runs. A privileged process collects; another one, without any privilege, "
		 "keeps the data, finds names and answers. It is the folder's owner, or nobody where that is root. Whichever dies is "
		 "started again, and what was stored stays. SIGTERM and Ctrl-C end it; what was recorded up to then is stored.",
	.examples = {
		"cresset up\tthis machine, into /var/lib/cresset",
		"cresset up --data prof --retention 30d\tsomewhere else, and longer",
	},
	.options = up_options,
	.opts_size = sizeof(struct up_cmd_opts),
	.run = up_command,
};
