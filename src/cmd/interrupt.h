/* cmd/interrupt.h: signals that end a recording. The first one (SIGINT, SIGTERM, SIGHUP) asks for the end: what was recorded is
 * written. The second one aborts at once and removes what is half written.
 *
 * While a command runs, Ctrl-C is the command's own matter: the terminal sends it to both, and we go on until it ends. Signals
 * that were sent to us alone are passed on to it. */
#ifndef CRESSET_CMD_INTERRUPT_H
#define CRESSET_CMD_INTERRUPT_H

#include <sys/types.h>

void interrupt_install(void);
/* The settings we were started with: for a child before its exec. */
void interrupt_restore(void);

/* How often the end was asked for. */
int interrupt_count(void);

/* The command that runs now; 0 = none (any more). */
void interrupt_set_child(pid_t pid);

/* A file to remove on abort. path must stay valid; at most INTERRUPT_FILES_MAX. */
enum { INTERRUPT_FILES_MAX = 20 };
void interrupt_add_file(const char *path);
/* The files are complete: an abort removes nothing any more. */
void interrupt_forget_files(void);

#endif
