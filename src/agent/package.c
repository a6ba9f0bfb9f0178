#include "agent/package.h"

#include "base/fs.h"
#include "format/otlp_pack.h"

#include <errno.h>

static struct otlp_bytes bytes_of(const struct buf *b)
{
	return (struct otlp_bytes){ b->data, b->len };
}

void package_done(struct package *p)
{
	buf_done(&p->body);
	buf_done(&p->plain);
	*p = (struct package){ 0 };
}

/* Against what the server has, if that is worth it. */
static bool repack(const struct package_peer *peer, struct package *p)
{
	if (!peer->key || !peer->plain.len ||
	    otlp_pack(bytes_of(&p->plain), bytes_of(&peer->plain), &p->body, NULL))
		return false;
	p->base = peer->key;
	if (!otlp_key_is_stale(p->body.len, peer->key_bytes))
		return true;
	p->base = 0;
	buf_clear(&p->body);
	return false;
}

/* What lies in the spool is what the server can read as it is. */
static bool goes_as_it_is(const struct package_peer *peer, const struct spool_entry *e)
{
	return !peer->is_gzip && (!e->base || e->base == peer->key);
}

int package_make(struct spool *spool, const struct package_peer *peer, const struct spool_entry *e,
		 struct package *p, struct err *err)
{
	const struct otlp_bytes none = { 0 };

	*p = (struct package){ .is_gzip = peer->is_gzip };
	if (goes_as_it_is(peer, e)) {
		buf_add(&p->body, e->packed.data, e->packed.len);
		p->base = e->base;
		return 0;
	}
	int rc = spool_unpack(spool, e, &p->plain, err);
	if (rc)
		return rc;
	if (peer->is_gzip)
		return fs_gzip_fast(p->plain.data, p->plain.len, &p->body)
			       ? err_set(err, ENOMEM, "cannot compress")
			       : 0;
	return repack(peer, p) ? 0 : otlp_pack(bytes_of(&p->plain), none, &p->body, err);
}

void package_peer_has(struct package_peer *peer, uint64_t key, const struct spool_entry *e,
		      struct package *p)
{
	uint64_t had = peer->key;

	peer->key = key;
	if (key == had)
		return;
	buf_done(&peer->plain);
	if (key != e->id || !e->base)
		return;
	/* It became one although the spool has it as a delta: others have to be packed against it anew. */
	peer->plain = p->plain;
	peer->key_bytes = p->body.len;
	p->plain = (struct buf){ 0 };
}

void package_peer_forget(struct package_peer *peer)
{
	peer->key = 0;
	buf_done(&peer->plain);
}
