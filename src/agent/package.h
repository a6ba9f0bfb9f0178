/* agent/package.h: a batch of the spool as a server gets it, and what is known of that server to pack it for.
 *
 * A cresset has a batch of ours, its key: what the spool packed against that one goes as it lies there. What was packed against another one is
 * unpacked, and packed against the key where its plain bytes are known, else whole. */
#ifndef CRESSET_AGENT_PACKAGE_H
#define CRESSET_AGENT_PACKAGE_H

#include "agent/spool.h"

struct package {
	struct buf body, plain; /* plain: what it was made of, where it had to be unpacked */
	bool is_gzip;
	uint64_t base; /* id; 0: whole */
};

struct package_peer {
	uint64_t key;     /* id of the batch that the server has; 0: none, or it is no cresset */
	struct buf plain; /* that one unpacked, where the spool's key is another one */
	size_t key_bytes; /* packed alone */
	bool is_gzip;     /* it does not take zstd */
	bool zstd_works, gzip_works;
};

/* p is package_done's. -EBADMSG, -E2BIG: it is damaged. */
int package_make(struct spool *spool, const struct package_peer *peer, const struct spool_entry *e,
		 struct package *p, struct err *err);
void package_done(struct package *p);

/* The server, which has taken e as p, says that the batch `key` is the one that it has. */
void package_peer_has(struct package_peer *peer, uint64_t key, const struct spool_entry *e,
		      struct package *p);
/* It has none. */
void package_peer_forget(struct package_peer *peer);

#endif
