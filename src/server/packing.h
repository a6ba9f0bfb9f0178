/* server/packing.h: answers packed with gzip, for clients that take it. */
#ifndef CRESSET_SERVER_PACKING_H
#define CRESSET_SERVER_PACKING_H

#include "server/request.h"

/* Whether an Accept-Encoding (RFC 9110, 12.5.3; NULL: it did not come) takes gzip. */
bool packing_is_accepted(const char *accept);

/* Packs the answer, where it is text, long enough for that to pay, and the client takes it. */
void reply_pack(struct request *r);

#endif
