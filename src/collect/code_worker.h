/* collect/code_worker.h: the process that reads perf maps and jitdumps (collect/helper.h, collect/code_wire.h).
 *
 * What it reads is limited in bytes (symbol/code_log.h), memory and time: all files together have CODE_SHARE of a CPU in the long run, each process half of
 * that; who has used up what is there gets no names until there is more. */
#ifndef CRESSET_COLLECT_CODE_WORKER_H
#define CRESSET_COLLECT_CODE_WORKER_H

/* Serves until the other side is gone. */
void code_worker_serve(int fd);

#endif
