/* cresset top: shows what runs now, in the terminal. */
#include "cmd/top/top.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/files/kernel.h"
#include "tui/feed.h"
#include "tui/plain.h"
#include "tui/screen.h"
#include "tui/ui.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

/* --- signals while we use the terminal ---
 *
 * Signals that request something (INT, TERM, HUP, QUIT, TSTP, CONT, WINCH) are blocked and read
 * from a descriptor. Crash signals are caught: the handler writes fixed bytes and restores the
 * terminal's settings, with functions allowed in handlers, and lets the signal take its effect. */

enum { RESCUE_MAX_BYTES = 256 };

static const int asked[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP };

/* Data for the handler; written before it is installed. */
static struct {
	char bytes[RESCUE_MAX_BYTES];
	size_t len;
	struct termios settings;
	volatile sig_atomic_t has_settings;
} rescue;

/* SA_RESETHAND has restored the signal's default action; the signal is delivered again when this
 * returns. */
static void on_crash(int signal_number)
{
	int saved = errno;
	if (write(STDOUT_FILENO, rescue.bytes, rescue.len) < 0)
		errno = saved; /* nothing can be done here */
	if (rescue.has_settings)
		tcsetattr(STDOUT_FILENO, TCSANOW, &rescue.settings);
	raise(signal_number);
	errno = saved;
}

static void asked_set(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		sigaddset(set, asked[i]);
}

/* text: bytes that make a terminal usable again; copied. *fd: signalfd(2). Call it before the
 * terminal is changed. Returns 0, or -errno with err set. */
static int top_signals_open(const struct buf *text, int *fd, struct err *err)
{
	sigset_t set;
	if (text->len > sizeof rescue.bytes)
		return err_set(err, E2BIG, "too much to write after a crash");
	memcpy(rescue.bytes, text->data, text->len);
	rescue.len = text->len;
	rescue.has_settings = tcgetattr(STDOUT_FILENO, &rescue.settings) == 0;
	asked_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (*fd < 0)
		return err_set(err, errno, "cannot wait for signals: %s", strerror(errno));
	struct sigaction action = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };
	for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
		sigaction(crashes[i], &action, NULL);
	return 0;
}

/* Call it when the terminal is restored: a crash has nothing left to repair. */
static void top_signals_close(int fd)
{
	sigset_t set;
	for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
		signal(crashes[i], SIG_DFL);
	if (fd >= 0)
		close(fd);
	asked_set(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static const char *const tab_words[] = { "functions", "processes", "threads", "waits",
					 "flame",     "heatmap",   "gpu",     NULL };

#define ROW(title, member) .group = title, .offset = offsetof(struct top_opts, member)
#define WHERE(member)      ROW("What to watch", member)
#define SHOW(member)       ROW("What to show", member)
#define COST(member)       ROW("Cost", member)
static const struct cmd_opt top_options[] = {
	{ "p", "pid", "PID,...", "these processes and their future children", OPT_COMMA,
	  WHERE(pids), .basic = true },
	{ NULL, "server", "URL", "show data of a server, instead of this machine", OPT_STRING,
	  WHERE(remote.server), .basic = true },
	{ NULL, "token-file", "FILE", "token file (default: $CRESSET_TOKEN)", OPT_STRING,
	  WHERE(remote.token_file) },
	{ NULL, "ca-file", "FILE", "trust only the CA certificates in this PEM file", OPT_STRING,
	  WHERE(remote.ca_file) },
	{ NULL, "once", NULL, "print one interval as text and exit", OPT_FLAG, SHOW(once),
	  .basic = true },
	{ NULL, "tab", "TAB", "functions processes threads waits flame heatmap gpu", OPT_ENUM,
	  SHOW(tab), .words = tab_words, .def = "functions", .basic = true },
	{ "n", "rows", "N", "rows of --once and --json", OPT_U64, SHOW(rows), .def = "20", .min = 1,
	  .max = 1000000, .basic = true },
	{ "i", "interval", "TIME", "refresh interval; with --once: duration", OPT_DURATION,
	  SHOW(interval_ns), .def = "1s", .min = 100000000, .max = 3600000000000, .basic = true },
	{ NULL, "window", "TIME", "length of the time window that is shown", OPT_DURATION,
	  SHOW(window_ns), .def = "10s", .min = 100000000, .max = 60000000000, .basic = true },
	{ "F", "freq", "HZ", "samples per second and CPU", OPT_U64, COST(collect.sampler.freq_hz),
	  .def = OPT_DEF(SAMPLER_FREQ_HZ), .min = 1, .max = 10000, .basic = true },
	CLOCK_OPTION(top_opts, collect.sampler.clock, "Cost"),
	{ NULL, "no-waits", NULL, "do not record waits", OPT_FLAG, COST(no_waits) },
	KERNEL_BTF_OPTION(top_opts, collect.sampler.kernel.btf_file),
	{ 0 },
};

/* --- --once ----------------------------------------------------------------------------------- */

/* Waits one interval for live data. */
static int wait_interval(struct feed *feed, uint64_t interval_ns, struct err *err)
{
	uint64_t end_ns = clock_mono_ns() + interval_ns;
	int rc = 0;
	for (uint64_t now_ns; rc == 0 && (now_ns = clock_mono_ns()) < end_ns;)
		rc = feed->ops->wait(feed, (int)((end_ns - now_ns) / 1000000) + 1, err);
	return rc;
}

static int print_once(const struct cmd_line *line, const struct top_opts *o, struct ui *ui)
{
	const struct plain_opts opts = { .rows = o->rows, .cols = line->term.width_out };
	struct err err = { 0 };
	struct buf b = { 0 };
	int rc = 0;
	ui->wants_waits = true;
	if (ui->feed->is_live) {
		rc = ui_take(ui, &err); /* costs and CPUs are counted from here on */
		ui->reset_ns = ui->take.to_ns;
		if (rc == 0)
			rc = wait_interval(ui->feed, o->interval_ns, &err);
	}
	if (rc == 0)
		rc = ui_take(ui, &err);
	if (rc < 0)
		return cmd_fail(CMD_FAILED, &err);
	bool has_any = ui->take.samples > 0;
	if (line->globals.json)
		plain_json(ui, &opts, &b);
	else
		plain_text(ui, &opts, &b);
	int status = cmd_print(&b);
	if (status == CMD_OK && !has_any)
		log_warn("no sample was seen");
	return status == CMD_OK && !has_any ? CMD_NO_SAMPLE : status;
}

/* --- the screen ------------------------------------------------------------------------------- */

/* Returns an exit status; 128 + the signal that ended it. */
static int show(const struct cmd_line *line, const struct top_opts *o, struct ui *ui,
		struct screen *screen, int signals)
{
	struct app app = {
		.ui = ui, .screen = screen, .signals = signals, .interval_ns = o->interval_ns
	};
	struct err err = { 0 };
	(void)line;
	ui->has_colour = screen_has_colour(screen);
	int rc = app_run(&app, &err);
	screen_close(screen);
	top_signals_close(signals);
	if (rc < 0)
		return cmd_fail(CMD_FAILED, &err);
	return rc ? 128 + rc : CMD_OK;
}

static int open_screen(const struct cmd_line *line, const struct top_opts *o, struct ui *ui)
{
	struct screen *screen;
	struct buf rescue = { 0 };
	struct err err = { 0 };
	int signals = -1;
	screen_rescue_text(&rescue);
	int rc = top_signals_open(&rescue, &signals, &err);
	buf_done(&rescue);
	if (rc == 0)
		rc = screen_open(&screen, line->term.color_out, &err);
	if (rc == 0)
		return show(line, o, ui, screen, signals);
	top_signals_close(signals);
	err_hint(&err, "cresset top --once prints plain text");
	return cmd_fail(CMD_USAGE, &err);
}

/* --- all together ----------------------------------------------------------------------------- */

static int check(const struct cmd_line *line, const struct top_opts *o)
{
	const char *term = getenv("TERM");
	bool has_file = line->args.n > 0;
	if (o->remote.server && (o->pids.n || has_file))
		return cmd_usage(line, "choose one of --server, --pid and a FILE");
	if (has_file && o->pids.n)
		return cmd_usage(line, "choose one of --pid and a FILE");
	if (o->once)
		return CMD_OK;
	if (!isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO))
		return cmd_usage(line,
				 "this is not a terminal: cresset top --once prints plain text");
	if (!term || !*term || strcmp(term, "dumb") == 0)
		return cmd_usage(line,
				 "TERM=%s: unsupported terminal: cresset top --once prints "
				 "plain text",
				 term ? term : "");
	return CMD_OK;
}

static int open_feed(struct cmd_line *line, const struct top_opts *o, struct feed **out)
{
	if (o->remote.server)
		return top_server(o, out);
	return line->args.n ? top_file(line, line->args.v[0], out) : top_live(line, o, out);
}

static int top_run(struct cmd_line *line, const void *opts)
{
	struct top_opts o = *(const struct top_opts *)opts;
	struct feed *feed = NULL;
	struct ui ui;
	o.once |= line->globals.json;
	int status = check(line, &o);
	if (status == CMD_OK)
		status = open_feed(line, &o, &feed);
	if (status != CMD_OK)
		return status;
	ui_init(&ui, feed, false, !line->term.utf8);
	ui_set_tab(&ui, tab_words[o.tab]);
	status = o.once ? print_once(line, &o, &ui) : open_screen(line, &o, &ui);
	ui_done(&ui);
	feed_close(feed);
	return status;
}

const struct cmd cmd_top = {
	.name = "top",
	.summary = "live view of this machine in the terminal",
	.usage = "[FILE] [OPTIONS]",
	.about = "Shows the functions, processes and threads that use the CPUs, the waits of "
		"threads, a flame graph and a heatmap, updated every second. The data comes "
		"from this machine, a server, or a file of any format. Recording this machine "
		"needs root, or the capabilities that cresset doctor lists. h shows the keys.\n"
		 "--once prints one interval as text, for scripts, and --json all tables as one "
		 "object. The exit status is 130 after Ctrl-C and 143 after SIGTERM.",
	.examples = {
		"cresset top\tthe whole machine",
		"cresset top -p 4242\tone process and its children",
		"cresset top --once -n 5 cpu.cresset\tthe start of a recording's table",
	},
	.options = top_options,
	.opts_size = sizeof(struct top_opts),
	.max_args = 1,
	.arg_name = "FILE",
	.has_json = true,
	.run = top_run,
};
