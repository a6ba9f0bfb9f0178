/* agent/keep_store.h: writes a keeper's batches to a store. */
#ifndef CRESSET_AGENT_KEEP_STORE_H
#define CRESSET_AGENT_KEEP_STORE_H

#include "agent/keeper.h"
#include "store/store.h"

struct keep_store {
	struct store *store;      /* the caller's */
	struct store_dict *known; /* of the dictionary, what the store has; NULL: nothing yet */
	bool is_expired; /* the last batch was older than what the store keeps; a warning said so */
};

/* What a keeper is to do with batches; k is the caller's, and stays as long as the keeper. */
struct keeper_target keep_in_store(struct keep_store *k);

#endif
