/* server/request_log.h: one line on standard error for each request that was answered. */
#ifndef CRESSET_SERVER_REQUEST_LOG_H
#define CRESSET_SERVER_REQUEST_LOG_H

#include "server/request.h"

/* As server.opts.log says. Lines are written at once, so those of several threads do not mix. Neither tokens nor parameters are in them. */
void request_log(const struct request *r);

/* Appends who asks: an IP address, or "". */
void request_address(const struct request *r, struct buf *b);

#endif
