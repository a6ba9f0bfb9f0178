/* cmd/top.h: the parts of `cresset top`.
 *
 *     top.c           the options, and which of the three it is
 *     top_live.c      data of this machine, from a collector in this process
 *     top_names.c     names for it, as soon as it is seen
 *     top_cpus.c      how busy CPUs are
 *     top_server.c    data of a server
 *     top_file.c      data of a file or a store
 *     top_signals.c   signals through a descriptor; the terminal after a crash
 *
 * What is shown is tui/. */
#ifndef CRESSET_CMD_TOP_H
#define CRESSET_CMD_TOP_H

#include "cmd/cmd.h"
#include "cmd/remote.h"
#include "tui/feed.h"

struct top_opts {
	struct str_list pids;
	struct remote_opts remote;
	int clock; /* enum collect_clock */
	uint64_t freq_hz, interval_ns, window_ns, rows;
	bool once, no_waits;
	int tab;
	const char *btf; /* a file */
};

/* Each: CMD_OK and *out (feed_close), or the exit status with the error printed. */
int top_live(struct cmd_line *line, const struct top_opts *o, struct feed **out);
int top_server(const struct top_opts *o, struct feed **out);
int top_file(const struct cmd_line *line, const char *path, struct feed **out);

/* Waits for what is readable of these: for feeds that have nothing else to wait for. */
enum { TOP_WATCHED_MAX = 4 };
struct top_watched {
	int fds[TOP_WATCHED_MAX];
	int n;
};
int top_watch(struct top_watched *w, int fd, struct err *err);
int top_wait(const struct top_watched *w, int timeout_ms);

#endif
