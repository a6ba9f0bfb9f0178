/* agent/attacher.h: a process that attaches (gpu/attach.h), for one that has no time for it and threads of its own.
 *
 *     attacher_start    forks it, before there is any other thread; it has the rights of who starts it
 *     attacher_send     attach to this process
 *     attacher_receive  what came of it
 *     attacher_stop     it ends when it has no work, and what it is in the middle of is finished first
 *
 * Each attach is in a child of its own: what it reads is another program's, and if it dies of that, that is all. One that takes too long is
 * killed, which does the program no harm (gpu/attach.h). */
#ifndef CRESSET_AGENT_ATTACHER_H
#define CRESSET_AGENT_ATTACHER_H

#include "base/err.h"
#include "gpu/attach.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct attacher_opts {
	const struct gpu_attach_view *view;
	const struct gpu_attach_library *library;
	const char *path; /* of its file, which is read anew each time */
	uint32_t forced;  /* as gpu_attach_opts.forced */
};
struct attacher {
	int fd; /* readable when there is an answer; -1: it does not run */
	pid_t pid;
};

struct attacher_answer {
	uint32_t pid;
	int rc; /* of gpu_attach; -ESRCH also when the process is another one by now */
	struct gpu_attach_report report; /* without syscall, which is in `call` */
	char call[24];
	struct err err;
};

/* 0, or -errno with words. What opts point to is to stay as it is until then. */
int attacher_start(const struct attacher_opts *opts, struct attacher *out, struct err *err);
void attacher_stop(struct attacher *a);

/* 0, or -errno; does not wait. start: of that process. */
int attacher_send(const struct attacher *a, uint32_t pid, uint64_t start);
/* 1: there is one; 0: not yet; -EPIPE: it has ended. */
int attacher_receive(const struct attacher *a, struct attacher_answer *out);

#endif
