/* base/sandbox.h: what a process that needs no privilege gives up for good, so that who takes it over has little.
 *
 *     sandbox_files(&s, &err)    before the first thread: no capability, no core file, and only some files can be opened
 *     …sockets are bound, libraries loaded, threads started…
 *     sandbox_calls(&s, &err)    only the system calls that storing, answering and sending need, in all threads
 *
 * Files: Landlock, where the kernel has it (5.13); what is open stays usable, and so do descriptors that come later. Restricted are
 * opening, making and removing, running, TCP to elsewhere (6.7) and signals to others (6.12).
 *
 * Calls, by a seccomp filter:
 *   allowed      what the lists in sandbox_calls.c have; none of them maps memory that can be run, or makes a process
 *   ENOSYS       what is in no list, calls that come with later kernels and libraries included: a C library then does without
 *   EPERM        what a library may try and can do without: making sockets, signals to others
 *   the end      what nothing here ever does, and an attacker begins with: running a program, ptrace, mounts, BPF, io_uring … The
 *                process says which call it was, and dies of SIGSYS. Nobody can catch that: SIGSYS cannot be set up anew. */
#ifndef CRESSET_BASE_SANDBOX_H
#define CRESSET_BASE_SANDBOX_H

#include "base/err.h"

#include <stdbool.h>

enum { SANDBOX_MAX_PATHS = 16 };
struct sandbox {
	/* What is needed; strings are the caller's, until sandbox_files. */
	const char *data_dir; /* is read and written, with all below; NULL: none */
	/* A store that another process may write: is read, with all below, and shares locks with it, for which SQLite makes files. NULL: none. */
	const char *store_dir;
	/* Files that are read: with the folders that they and what they link to are in, since they are replaced. NULL: skipped. */
	const char *read[SANDBOX_MAX_PATHS];
	const char *read_dir; /* NULL: none */
	bool connects;        /* to others, by name */

	/* What is in force. */
	bool has_files, has_calls;
	int landlock; /* the kernel's version of it; 0: it has none, and files are what the user may open */
};

/* Takes every capability out of the bounding set; where that is not permitted, nothing. 0 or -errno. Before the user is changed, which takes the
 * permission. sandbox_files does it, too. */
int sandbox_bound_capabilities(void);

/* The kernel's version of Landlock; 0: none. */
int sandbox_landlock(void);

/* 0, or -errno with words. A second time does nothing. s NULL is fine: nothing is given up. */
int sandbox_files(struct sandbox *s, struct err *err);
int sandbox_calls(struct sandbox *s, struct err *err);

#endif
