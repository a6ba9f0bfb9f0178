/* base/sandbox/sandbox.h: permanently restricts a process that needs no privileges, so that an
 * attacker who takes it over gains little.
 *
 *     sandbox_files(&s, &err)    before the first thread: no capability, no core file, and only
 *                                some files can be opened
 *     …bind sockets, load libraries, start threads…
 *     sandbox_calls(&s, &err)    only the system calls that storing, answering and sending need, in
 *                                all threads
 *
 * Files: Landlock, if the kernel has it (5.13). Open files stay usable, and so do descriptors
 * received later. Landlock restricts opening, creating, removing and executing files, TCP
 * connections (6.7) and signals to other processes (6.12).
 *
 * Calls, by a seccomp filter:
 *   allowed      those listed in sandbox_calls.c; none of them maps executable memory or creates
 *                a process
 *   ENOSYS       unlisted calls, including those of later kernels and libraries: a C library then
 *                uses a fallback
 *   EPERM        calls that a library may try and can do without: new sockets, signals to others
 *   fatal        calls that Cresset never makes and an attacker starts with: running a program,
 *                ptrace, mounts, BPF, io_uring … The process logs the call and dies of SIGSYS,
 *                which cannot be caught: no new handler for SIGSYS can be set. */
#ifndef CRESSET_BASE_SANDBOX_SANDBOX_H
#define CRESSET_BASE_SANDBOX_SANDBOX_H

#include <stdbool.h>

struct err;

enum { SANDBOX_MAX_PATHS = 16 };
struct sandbox {
	/* What the process needs. Strings stay the caller's and must live until sandbox_files. */
	const char *data_dir; /* read and written, recursively; NULL: none */
	/* A store that another process may write: read recursively, with shared locks, for which
	 * SQLite creates files. NULL: none. */
	const char *store_dir;
	/* Files to read, with their directories and those of the targets of links, since files are
	 * replaced. NULL: skipped. */
	const char *read[SANDBOX_MAX_PATHS];
	const char *read_dir; /* NULL: none */
	bool connects;        /* connects to other machines, by name */

	/* Set by the functions below: the limits in force. */
	bool has_files, has_calls;
	/* the kernel's Landlock version; 0: none, so files are only limited by the user's
	 * permissions */
	int landlock;
};

/* Drops every capability from the bounding set; does nothing if that is not permitted. Returns 0 or
 * -errno. Call before changing the user, which loses the permission. sandbox_files calls it,
 * too. */
int sandbox_bound_capabilities(void);

/* Returns the kernel's version of Landlock; 0: none. */
int sandbox_landlock(void);

/* Both return 0, or -errno with err set. A second call does nothing. With s NULL they do
 * nothing. */
int sandbox_files(struct sandbox *s, struct err *err);
int sandbox_calls(struct sandbox *s, struct err *err);

#endif
