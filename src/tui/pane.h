/* tui/pane.h: what is in the middle of the screen: one tab's answer to what is looked at. The table of views is the list of tabs: a tab is
 * there when its data is. */
#ifndef CRESSET_TUI_PANE_H
#define CRESSET_TUI_PANE_H

#include "tui/flame.h"
#include "tui/function_sums.h"
#include "tui/heat.h"
#include "tui/look.h"
#include "tui/table.h"

enum view_kind { VIEW_TABLE, VIEW_FLAME, VIEW_HEAT };

struct pane {
	const struct view *view; /* NULL: nothing was made yet */
	struct look look; /* what it is of; its source is gone when the feed has taken again */
	struct tui_table table;
	struct function_sums functions;
	struct tree *tree; /* of the flame graph, and for who calls one */
	struct flame flame;
	struct heat heat;
	double total;     /* of all that is looked at, in unit */
	const char *unit; /* static, or the pane's */
	char unit_room[32];
	bool since_start; /* times are no clock's */
};

struct view {
	const char *name, *title; /* for --tab and JSON; on the screen */
	enum view_kind kind;
	/* The type it looks at when this one was chosen; UINT32_MAX: there is nothing for this tab. */
	uint32_t (*type)(struct source *s, uint32_t chosen);
	int (*make)(struct pane *p, const struct look *l, struct err *err);
	int sort;           /* column, at first */
	bool has_functions; /* rows are functions, else processes or threads */
};
extern const struct view views[];
extern const int views_n;

/* Anew; what it was before is gone, also on failure. The selection stays, where it can. */
int pane_make(struct pane *p, const struct view *v, const struct look *l, struct err *err);
/* The rows below the row of this function, for its callers: NULL takes them away. */
void pane_expand(struct pane *p, const char *function);
void pane_done(struct pane *p);

#endif
