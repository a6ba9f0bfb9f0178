#include "agent/delta.h"

void delta_key_done(struct delta_key *k)
{
	buf_done(&k->plain);
	*k = (struct delta_key){ 0 };
}

void delta_key_set(struct delta_key *k, uint64_t id, struct otlp_bytes plain, size_t packed_bytes,
		   int64_t made_ns)
{
	buf_clear(&k->plain);
	buf_add(&k->plain, plain.data, plain.len);
	k->id = id;
	k->packed_bytes = packed_bytes;
	k->made_ns = made_ns;
}

/* A clock that was set back makes no key last longer. */
static bool is_usable(const struct delta_key *k, int64_t now_ns)
{
	int64_t age_ns = now_ns - k->made_ns;

	return k->id && age_ns >= 0 && age_ns < DELTA_KEY_AGE_NS;
}

int delta_pack(const struct delta_key *k, struct otlp_bytes message, int64_t now_ns,
	       struct buf *out, uint64_t *base, struct err *err)
{
	const struct otlp_bytes none = { 0 }, key = { k->plain.data, k->plain.len };
	size_t before = out->len;

	if (is_usable(k, now_ns) && otlp_pack(message, key, out, NULL) == 0 &&
	    !otlp_key_is_stale(out->len - before, k->packed_bytes)) {
		*base = k->id;
		return 0;
	}
	out->len = before;
	int rc = otlp_pack(message, none, out, err);
	if (rc == 0)
		*base = 0;
	return rc;
}
