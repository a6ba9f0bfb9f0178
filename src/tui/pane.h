/* tui/pane.h: the middle of the screen: the content of one tab. The table of views is the list of
 * tabs. A tab is shown only if there is data for it. */
#ifndef CRESSET_TUI_PANE_H
#define CRESSET_TUI_PANE_H

#include "tui/flame.h"
#include "tui/look.h"
#include "tui/scan.h"
#include "tui/table.h"

#include <stdbool.h>
#include <stdint.h>

struct err;

enum view_kind { VIEW_TABLE, VIEW_FLAME, VIEW_HEAT };

struct pane {
	const struct view *view; /* NULL: nothing made yet */
	struct look look;        /* its scope; the source is invalid after the feed's next take */
	struct tui_table table;
	struct function_sums functions;
	struct tree *tree; /* of the flame graph; also used for callers */
	struct flame flame;
	struct heat heat;
	double total;     /* of everything in scope, in unit */
	const char *unit; /* static, or owned by the pane */
	char unit_room[32];
	bool since_start; /* times are relative to the start, not wall clock */
};

struct view {
	const char *name, *title; /* name for --tab and JSON; title on the screen */
	enum view_kind kind;
	/* Returns the type to show when `chosen` is selected; UINT32_MAX: no data for this tab. */
	uint32_t (*type)(struct source *s, uint32_t chosen);
	int (*make)(struct pane *p, const struct look *l, struct err *err);
	int sort;           /* initial sort column */
	bool has_functions; /* rows are functions, not processes or threads */
};
extern const struct view views[];
extern const int views_n;

/* Rebuilds the pane. The previous content is freed, also on failure. The selection is retained
 * where possible. */
int pane_make(struct pane *p, const struct view *v, const struct look *l, struct err *err);
/* Shows the callers of a function in rows below its own. NULL removes them. */
void pane_expand(struct pane *p, const char *function);
void pane_done(struct pane *p);

#endif
