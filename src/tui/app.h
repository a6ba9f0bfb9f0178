/* tui/app.h: the loop of `cresset top`: data, keys, signals, pictures. */
#ifndef CRESSET_TUI_APP_H
#define CRESSET_TUI_APP_H

#include "tui/screen.h"
#include "tui/ui.h"

struct app {
	struct ui *ui;
	struct screen *screen;
	int signals;          /* signalfd(2): of what is to come through it */
	uint64_t interval_ns; /* between two takes */
};

/* 0: q. A signal's number: that one ended it. Or -errno with words: the feed has failed. */
int app_run(struct app *a, struct err *err);

#endif
