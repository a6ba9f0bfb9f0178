/* cmd/top/top.h: the parts of `cresset top`.
 *
 *     top.c           the options, the choice of a feed, and signals
 *     top_live.c      data of this machine, and its CPU use, from a collector in this process
 *     top_rows.c      its samples, as a source
 *     top_server.c    data of a server
 *     top_file.c      data of a file or a store
 *
 * The display is in tui/. */
#ifndef CRESSET_CMD_TOP_TOP_H
#define CRESSET_CMD_TOP_TOP_H

#include "cmd/cli/cmd.h"
#include "cmd/query/remote.h"
#include "collect/collect.h"

struct err;
struct feed;
struct profile;

struct top_opts {
	struct str_list pids;
	struct remote_opts remote;
	struct collect_opts collect; /* without target and events */
	uint64_t interval_ns, window_ns, rows;
	bool once, no_waits;
	int tab;
};

/* Each returns CMD_OK and sets *out (feed_close), or returns the exit status with the error
 * printed. */
int top_live(struct cmd_line *line, const struct top_opts *o, struct feed **out);
int top_server(const struct top_opts *o, struct feed **out);
int top_file(const struct cmd_line *line, const char *path, struct feed **out);

/* Waits until one of these descriptors is readable: for feeds that have nothing else to wait
 * for. */
enum { TOP_WATCHED_MAX = 4 };
struct top_watched {
	int fds[TOP_WATCHED_MAX];
	int n;
};
int top_watch(struct top_watched *w, int fd, struct err *err);
int top_wait(const struct top_watched *w, int timeout_ms);

/* --- top_rows.c: the profile that cresset top collects into, as a source that can be made again
 * each second at no cost.
 *
 * source_of_profile sorts all samples first, for many queries. A picture needs one or two, mostly
 * of all samples in the window: here they are scanned in place. Other queries go to a source of the
 * first kind, which is made when needed. */

/* p stays the caller's and must not change. All its samples have times. */
struct source *top_rows_open(struct profile *p);

#endif
