/* server/workers.h: threads for requests that take a while, and a queue of bounded length before them. */
#ifndef CRESSET_SERVER_WORKERS_H
#define CRESSET_SERVER_WORKERS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct workers;

/* run is called by any of the threads, for one work at a time each. */
int workers_start(uint32_t threads, uint32_t max_waiting, void (*run)(void *work),
		  struct workers **out, struct err *err);
/* False: the queue is full, or the end has come. */
bool workers_put(struct workers *w, void *work);
uint32_t workers_waiting(struct workers *w);
/* Runs what waits, and ends; nothing more can be put. NULL is fine in both. */
void workers_stop(struct workers *w);
void workers_free(struct workers *w);

#endif
