/* agent/attaching.h: loads a library into the programs that the configuration selects
 * (--gpu-attach, --mem-attach). Part of the collector process.
 *
 *     attach_list.h   which processes, and when
 *     attacher_…      the process that attaches, so that the collector does not block
 *     attaching_…     connects the two; logs results, each refusal once, and counts them */
#ifndef CRESSET_AGENT_ATTACHING_H
#define CRESSET_AGENT_ATTACHING_H

#include "attach/attach.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct attaching;
struct collect_opts;
struct collector;
struct err;
struct up_attach;

/* Call before any thread is started. Returns NULL if attaching is off, or logs why it is impossible
 * and returns NULL. All functions below accept NULL. opts stays the caller's. */
struct attaching *attaching_new(const struct up_attach *opts);
void attaching_free(struct attaching *a);

/* Sets the callbacks it needs in the options with which the collector is opened. */
void attaching_hook(struct attaching *a, struct collect_opts *opts);
/* Makes the collector wake up when an attach has ended. */
int attaching_watch(struct attaching *a, struct collector *c, struct err *err);
/* Call periodically. */
void attaching_run(struct attaching *a, struct collector *c, uint64_t now_ns);
/* NULL if a is NULL. */
const struct host_attach *attaching_counts(const struct attaching *a);

/* --- the attacher: a process that attaches (attach/attach.h), for a caller that must not block and
 * has threads of its own.
 *
 *     attacher_start    forks it, before any other thread is started; it has the privileges of
 *                       the calling process
 *     attacher_send     requests an attach to a process
 *     attacher_receive  receives the result
 *     attacher_stop     makes it exit when it has no work; a running attach is finished
 *                       first
 *
 * Each attach runs in a child of its own: it reads another program's data, and a crash ends only
 * the child. A child that takes longer than 60 s is killed, which does the program no harm
 * (attach/attach.h). */

struct attacher_opts {
	const struct gpu_attach_view *view;
	const struct gpu_attach_library *library;
	const char *path; /* of the library's file, which is read again each time */
	uint32_t forced;  /* as gpu_attach_opts.forced */
};
struct attacher {
	int fd; /* readable when there is a response; -1: not running */
	pid_t pid;
};

struct attacher_answer {
	uint32_t pid;
	int rc;                          /* of gpu_attach; -ESRCH also when the pid was reused */
	struct gpu_attach_report report; /* its syscall is in `call` instead */
	char call[24];
	struct err err;
};

/* Returns 0, or -errno with err set. Everything opts points to must stay unchanged until this
 * returns. */
int attacher_start(const struct attacher_opts *opts, struct attacher *out, struct err *err);
void attacher_stop(struct attacher *a);

/* Returns 0 or -errno; does not block. start: start time of the process. */
int attacher_send(const struct attacher *a, uint32_t pid, uint64_t start);
/* Returns 1 with a response, 0 if none exists yet, -EPIPE when the attacher has exited. */
int attacher_receive(const struct attacher *a, struct attacher_answer *out);

#endif
