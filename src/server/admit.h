/* server/admit.h: whether a request is taken, by its request line and headers. */
#ifndef CRESSET_SERVER_ADMIT_H
#define CRESSET_SERVER_ADMIT_H

#include "server/request.h"

/* Sets r's route, parameters and encoding of the body. 0, or the status it is refused with: err and, in r->reply, allow, retry_after_s
 * and closes say more. */
unsigned admit(struct request *r, const char *method, const char *path, struct err *err);

#endif
