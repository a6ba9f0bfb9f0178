/* collect/worker/worker_serve.h: the loops of worker processes (collect/worker/helper.h). Each
 * serves the requests that come from fd until the collector closes it. */
#ifndef CRESSET_COLLECT_WORKER_WORKER_SERVE_H
#define CRESSET_COLLECT_WORKER_WORKER_SERVE_H

void probe_worker_serve(int fd);       /* HELPER_PROBE */
void proc_reader_worker_serve(int fd); /* HELPER_READ */

#endif
