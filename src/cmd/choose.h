/* cmd/choose.h: --only and --exclude: which processes are recorded, by selectors of their labels.
 *
 * A series is kept when one of --only selects it (or there is none), and none of --exclude does. It is asked with the labels that a query
 * would see (query/selector.h), so what was found by a query can be left out by the same words. */
#ifndef CRESSET_CMD_CHOOSE_H
#define CRESSET_CMD_CHOOSE_H

#include "base/vec.h"
#include "cmd/cmd.h"
#include "collect/series_hook.h"

struct selector;
struct choose { /* zeroed = everything is recorded */
	VEC(struct selector *) only, exclude;
	VEC(struct selector *) attach;
};
void choose_done(struct choose *c);

/* Status, with what is wrong printed. */
int choose_settle(struct cmd_line *line, struct choose *c, const struct str_list *only,
		  const struct str_list *exclude);

/* Without a function where there is nothing to choose. c has to outlive it. */
struct series_hook choose_hook(const struct choose *c);

/* --gpu-attach: likewise, of programs that are to get the GPU library: one of the selectors takes them, and their GPU time is recorded. After choose_settle. */
int choose_settle_attach(struct cmd_line *line, struct choose *c, const struct str_list *attach);
struct series_hook choose_attach_hook(const struct choose *c);

#define CHOOSE_OPTIONS(only_at, exclude_at) \
	{ NULL,        "only",  "SELECTOR",   "only these: 'unit=\"nginx.service\"'; repeatable", \
	  OPT_STRINGS, only_at, .basic = true }, \
	{ \
		NULL, "exclude", "SELECTOR", "not these: 'comm=~\"kworker.*\"'; repeatable", \
			OPT_STRINGS, exclude_at, .basic = true \
	}

#endif
