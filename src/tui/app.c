/* The main loop of cresset top: data, keys and redraws. */
#include "tui/screen.h"

#include "base/clock.h"
#include "tui/ui.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { MS_NS = 1000000, LONGEST_WAIT_MS = 1000 };

struct looping {
	struct app *app;
	uint64_t due_ns;
	int ended_by;
	bool is_stale; /* the screen is out of date */
};

/* --- signals ---------------------------------------------------------------------------------- */

/* Stops the process as an unblocked SIGTSTP would. Returns when the shell continues it. */
static void stop_here(struct looping *l)
{
	sigset_t stop;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	screen_leave(l->app->screen);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, NULL);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	screen_return(l->app->screen);
}

static void resize(struct looping *l)
{
	int rows, cols;
	screen_resized(l->app->screen);
	screen_size(l->app->screen, &rows, &cols);
	ui_resize(l->app->ui, rows, cols);
	ui_make(l->app->ui);
	l->is_stale = true;
}

static void hear_signals(struct looping *l)
{
	struct signalfd_siginfo info;
	while (read(l->app->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		int n = (int)info.ssi_signo;
		if (n == SIGTSTP)
			stop_here(l);
		if (n == SIGWINCH || n == SIGCONT || n == SIGTSTP)
			resize(l);
		else
			l->ended_by = n;
	}
}

/* --- keys, data and the loop ------------------------------------------------------------------ */

static void hear_keys(struct looping *l)
{
	for (;;) {
		struct ui_input in = screen_input(l->app->screen);
		if (in.key == UI_NOTHING)
			return;
		ui_input(l->app->ui, &in);
		l->is_stale = true;
	}
}

static int take(struct looping *l, struct err *err)
{
	uint64_t now_ns = clock_mono_ns();
	if (now_ns < l->due_ns || l->app->ui->is_paused)
		return 0;
	l->due_ns += l->app->interval_ns;
	if (l->due_ns < now_ns) /* the process was stopped, or is slow */
		l->due_ns = now_ns + l->app->interval_ns;
	l->is_stale = true;
	return l->app->ui->feed->goes_on ? ui_take(l->app->ui, err) : 0;
}

static int wait_ms(const struct looping *l)
{
	uint64_t now_ns = clock_mono_ns();
	if (l->app->ui->is_paused || now_ns >= l->due_ns + LONGEST_WAIT_MS * (uint64_t)MS_NS)
		return LONGEST_WAIT_MS;
	return now_ns >= l->due_ns ? 0 : (int)((l->due_ns - now_ns) / MS_NS) + 1;
}

static int run(struct looping *l, struct err *err)
{
	struct feed *feed = l->app->ui->feed;
	int rc = 0;
	while (rc == 0 && !l->ended_by && !l->app->ui->is_done) {
		if (l->is_stale) {
			ui_draw(l->app->ui);
			screen_show(l->app->screen, &l->app->ui->grid);
			l->is_stale = false;
		}
		rc = feed->ops->wait(feed, wait_ms(l), err);
		hear_signals(l);
		hear_keys(l);
		if (rc == 0)
			rc = take(l, err);
	}
	return rc;
}

int app_run(struct app *a, struct err *err)
{
	struct looping l = { .app = a, .is_stale = true };
	struct feed *feed = a->ui->feed;
	int rows, cols;
	screen_size(a->screen, &rows, &cols);
	ui_resize(a->ui, rows, cols);
	l.due_ns = clock_mono_ns() + a->interval_ns;
	int rc = feed->ops->watch(feed, a->signals, err);
	if (rc == 0)
		rc = feed->ops->watch(feed, STDIN_FILENO, err);
	if (rc == 0)
		rc = ui_take(a->ui, err);
	if (rc == 0)
		rc = run(&l, err);
	return rc ? rc : l.ended_by;
}
