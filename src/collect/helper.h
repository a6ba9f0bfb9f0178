/* collect/helper.h: processes that touch the files of others, which may be without end, or on a file system that does not answer.
 *
 *     collector ──▶ nursery, which touches no file ──▶ a worker for each kind of work
 *         ╰──────────── a socket for each worker ─────────╯
 *
 * A thread that waits for a file of a hung file system cannot be ended, and its process not either; so the work is another process's, which holds
 * nothing of the collector's and nobody waits for. One that does not answer is left behind (it ends when its file system lets it), and the nursery,
 * which was forked before the collector had anything to inherit, makes another. All end when the collector does. */
#ifndef CRESSET_COLLECT_HELPER_H
#define CRESSET_COLLECT_HELPER_H

#include <stdint.h>

enum helper_work {
	HELPER_CODE, /* names of code made at run time (collect/code_worker.h) */
	HELPER_FAR,  /* files on file systems that may not answer (collect/far_worker.h) */
	HELPER_WORKS
};

struct helper;

/* Forks. 0 or -errno. */
int helper_new(struct helper **out);
void helper_free(struct helper *h); /* ends all workers, without waiting for them; NULL is fine */

/* A new worker, instead of the one of that work if there is any, which is killed. Its socket, or -errno. */
int helper_start(struct helper *h, enum helper_work work);

#endif
