/* cmd/always_run.h: cresset up and cresset agent run, and on SIGHUP go on with what their configuration file says then. */
#ifndef CRESSET_CMD_ALWAYS_RUN_H
#define CRESSET_CMD_ALWAYS_RUN_H

#include "cmd/always.h"

/* Which process has to begin again when an option of this name has changed; others take a restart of the whole. */
struct always_key {
	const char *name;
	unsigned part; /* UP_COLLECTOR, UP_KEEPER */
};
/* Rows of what ALWAYS_OPTIONS has. */
#define ALWAYS_KEYS \
	{ "events", UP_COLLECTOR }, { "freq", UP_COLLECTOR }, { "only", UP_COLLECTOR }, \
		{ "exclude", UP_COLLECTOR }, { "min-block", UP_COLLECTOR }, \
		{ "max-rate", UP_COLLECTOR }, { "buffer", UP_COLLECTOR }, { "gpu", UP_COLLECTOR }, \
		{ "gpu-budget", UP_COLLECTOR }, { "gpu-attach", UP_COLLECTOR }, \
		{ "gpu-attach-force", UP_COLLECTOR }, { "btf", UP_COLLECTOR }, \
	{ \
		"relabel", UP_COLLECTOR \
	}

struct always_run {
	struct cmd_line *line;
	const void *typed;             /* options */
	const struct always_key *keys; /* ends with a row without name */
	const char *process;           /* what the unprivileged one is called */
	/* Makes both of these options. Status, with what is wrong printed; *always is the caller's then. */
	int (*fill)(void *ctx, struct cmd_line *line, const void *opts, struct up_opts *up,
		    struct always **always);
	/* All is well, and it records; may be NULL. */
	void (*say)(void *ctx);
	/* After a reload has filled both: what has to begin again but for options. May be NULL. */
	unsigned (*look_again)(void *ctx);
	void *ctx;
	/* Of always_run alone; zeroed before. */
	const void *now;           /* options, since the last reload */
	struct config_again again; /* that now is in; zeroed: it is the typed one */
	struct always *always;
	struct up_opts up;
};

/* Until SIGINT or SIGTERM. Status. */
int always_run(struct always_run *r);

#endif
