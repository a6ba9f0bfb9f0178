/* agent/keep_store.h: batches that a keeper takes go into a store. */
#ifndef CRESSET_AGENT_KEEP_STORE_H
#define CRESSET_AGENT_KEEP_STORE_H

#include "agent/keeper.h"
#include "store/store.h"

struct keep_store {
	struct store *store; /* the caller's */
	struct store_dict
		*known;  /* what the store has of the dictionary at hand; NULL: none is there */
	bool is_expired; /* the last batch was, and that was said */
};

/* What a keeper is to do with batches; k is the caller's, and stays as long as the keeper. */
struct keeper_target keep_in_store(struct keep_store *k);

#endif
