/* cmd/cli/interrupt.h: signals that end a recording. The first one (SIGINT, SIGTERM, SIGHUP) ends
 * it normally: the data recorded so far are written. The second one aborts immediately and removes
 * incomplete files.
 *
 * While a command runs, Ctrl-C is for the command: the terminal sends it to both processes, and
 * recording continues until the command ends. A signal sent to cresset alone is passed on to the
 * command. */
#ifndef CRESSET_CMD_CLI_INTERRUPT_H
#define CRESSET_CMD_CLI_INTERRUPT_H

#include <sys/types.h>

void interrupt_install(void);
/* Restores the signal settings from before the start: for a child before its exec. */
void interrupt_restore(void);

/* Number of requests to end. */
int interrupt_count(void);

/* The running command; 0 = none, or no longer. */
void interrupt_set_child(pid_t pid);

/* A file to remove on abort. path must stay valid; at most INTERRUPT_FILES_MAX. */
enum { INTERRUPT_FILES_MAX = 20 };
void interrupt_add_file(const char *path);
/* The files are complete: an abort no longer removes anything. */
void interrupt_forget_files(void);

#endif
