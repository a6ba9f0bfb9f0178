/* cmd/top_signals.h: signals while the terminal is ours.
 *
 * Those that ask for something (INT, TERM, HUP, QUIT, TSTP, CONT, WINCH) are blocked and read from a descriptor. Those of a crash
 * are caught: a handler writes fixed bytes and the settings that the terminal had, all of it allowed in handlers, and lets the signal do
 * what it does. */
#ifndef CRESSET_CMD_TOP_SIGNALS_H
#define CRESSET_CMD_TOP_SIGNALS_H

#include "base/buf.h"
#include "base/err.h"

/* rescue: what makes a terminal usable; copied. *fd: signalfd(2). Call it before the terminal is changed. 0 or -errno with words. */
int top_signals_open(const struct buf *rescue, int *fd, struct err *err);
/* The terminal is as it was: a crash has nothing to mend any more. */
void top_signals_close(int fd);

#endif
