/* collect/far_worker.h: the process that touches files of file systems that may not answer (collect/helper.h), and copies them to where reading never
 * waits: a file without a name in /var/tmp, else in memory. Of others, which it is asked for because their path may lead over such a file system, it passes the
 * descriptor. */
#ifndef CRESSET_COLLECT_FAR_WORKER_H
#define CRESSET_COLLECT_FAR_WORKER_H

/* Serves until the other side is gone. */
void far_worker_serve(int fd);

#endif
