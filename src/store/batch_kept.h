/* store/batch_kept.h: what of a batch goes into the inbox: all but names that are known already, and the functions and strings that only these refer
 * to. */
#ifndef CRESSET_STORE_BATCH_KEPT_H
#define CRESSET_STORE_BATCH_KEPT_H

#include "profile/chunk_write.h"
#include "store/names_db.h"

/* For what is offered; kept: to be given to batch_kept_done. */
void batch_kept_init(struct chunk_kept *kept, const struct names_offer *offer);
void batch_kept_done(struct chunk_kept *kept); /* zeroed is fine */

#endif
