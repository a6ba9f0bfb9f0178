/* From a pc of compiled code to the methods at it. */
#include "runtime/hotspot_parts.h"

#include "base/buf.h"

#include <errno.h>
#include <string.h>

uint32_t hotspot_unsigned5(struct cur *c, uint16_t version)
{
	enum { MAX_BYTES = 5, HIGH_BITS = 6, HIGH_CODES = 1 << HIGH_BITS };
	uint32_t least = version >= 20, low = 256 - HIGH_CODES - least, sum = 0;

	for (unsigned i = 0; i < MAX_BYTES; i++) {
		uint32_t byte = cur_u8(c);

		if (c->bad || byte < least) {
			cur_fail(c);
			return 0;
		}
		sum += (byte - least) << (i * HIGH_BITS);
		if (byte - least < low)
			break;
	}
	return sum;
}

/* --- PcDescs ---------------------------------------------------------------------------------- */

struct pc_desc {
	int64_t offset; /* in the code */
	uint32_t scope; /* in the scopes data; 0: none */
};

static struct pc_desc pc_desc_of(const struct hotspot_offsets *o, const uint8_t *bytes)
{
	return (struct pc_desc){ (int32_t)hotspot_get(bytes, o->pc_offset),
				 hotspot_get(bytes, o->pc_scope) };
}

/* They are sorted by offset, between one of -1 and one beyond the code. Finds the first at or above
 * the offset; sets *found to false if all are below. Most tables are short enough for one read. */
static int find_pc_desc(const struct hotspot_offsets *o, const struct runtime_memory *m,
			const struct hotspot_nmethod *n, int64_t offset, struct pc_desc *out,
			bool *found)
{
	uint8_t bytes[1024];
	uint32_t low = 0, high = n->n_pcs, piece = sizeof bytes / o->pc_bytes;
	struct pc_desc d;
	int rc;

	*found = false;
	while (high - low > piece) {
		uint32_t middle = low + (high - low) / 2;

		rc = m->read(m->ctx, n->pcs + (uint64_t)middle * o->pc_bytes, bytes, o->pc_bytes);
		if (rc < 0)
			return rc;
		d = pc_desc_of(o, bytes);
		if (d.offset < offset) {
			low = middle + 1;
			continue;
		}
		*out = d;
		*found = true;
		high = middle;
	}
	rc = low < high ? m->read(m->ctx, n->pcs + (uint64_t)low * o->pc_bytes, bytes,
				  (high - low) * o->pc_bytes)
			: 0;
	for (uint32_t i = 0; rc == 0 && i < high - low; i++) {
		d = pc_desc_of(o, bytes + i * o->pc_bytes);
		if (d.offset < offset)
			continue;
		*out = d;
		*found = true;
		break;
	}
	return rc;
}

/* --- scopes ----------------------------------------------------------------------------------- */

/* Scopes of callers are written before the scopes inlined into them, mostly close. */
struct scopes_data {
	const struct hotspot_nmethod *nmethod;
	const struct runtime_memory *memory;
	uint32_t start, len; /* of the bytes read */
	uint8_t bytes[512];
};

enum { MAX_SCOPE = 15 }; /* bytes: three numbers of five */

static int scope_bytes(struct scopes_data *s, uint32_t at, struct cur *out)
{
	uint32_t size = s->nmethod->scopes_bytes, end;

	if (at >= size)
		return -EBADMSG;
	end = size - at < MAX_SCOPE ? size : at + MAX_SCOPE;
	if (at < s->start || end > s->start + s->len) {
		s->len = end < sizeof s->bytes ? end : sizeof s->bytes;
		s->start = end - s->len;
		int rc = s->memory->read(s->memory->ctx, s->nmethod->scopes + s->start, s->bytes,
					 s->len);
		if (rc < 0) {
			s->len = 0;
			return rc;
		}
	}
	*out = cur_of(s->bytes + (at - s->start), end - at);
	return 0;
}

/* Reads the scope at *at, and moves *at to its sender. */
static int read_scope(struct scopes_data *s, uint16_t version, uint32_t *at,
		      struct hotspot_scope *out)
{
	struct cur c;
	int rc = scope_bytes(s, *at, &c);

	if (rc < 0)
		return rc;
	uint32_t sender = hotspot_unsigned5(&c, version);
	uint32_t index = hotspot_unsigned5(&c, version);
	int32_t bci = (int32_t)hotspot_unsigned5(&c, version) - 1;
	/* A sender is before its callee: this ends. */
	if (c.bad || sender >= *at || !index || index > s->nmethod->n_metadata || bci < -1 ||
	    bci > UINT16_MAX)
		return -EBADMSG;
	*at = sender;
	out->bci = bci;
	return s->memory->read(s->memory->ctx, s->nmethod->metadata + (index - 1) * 8ull,
			       &out->method, sizeof out->method);
}

int hotspot_scopes_read(const struct hotspot_offsets *o, uint16_t version,
			const struct runtime_memory *m, const struct hotspot_nmethod *nmethod,
			uint32_t offset, bool is_leaf,
			struct hotspot_scope out[RUNTIME_MAX_INLINED], uint32_t *n)
{
	struct scopes_data data = { .nmethod = nmethod, .memory = m };
	struct pc_desc d;
	bool found;
	int rc = find_pc_desc(o, m, nmethod, (int64_t)offset + is_leaf, &d, &found);

	if (rc < 0)
		return rc;
	out[0] = (struct hotspot_scope){ nmethod->method, -1 };
	*n = 1;
	if (!found || !d.scope)
		return 0;
	*n = 0;
	uint32_t at = d.scope;
	for (int i = 0; at; i++) {
		if (i == HOTSPOT_MAX_SCOPES)
			return -EBADMSG;
		if (*n == RUNTIME_MAX_INLINED)
			memmove(out, out + 1, --*n * sizeof *out);
		if ((rc = read_scope(&data, version, &at, &out[*n])) < 0)
			return rc;
		++*n;
	}
	/* The outermost is the compiled method. */
	return out[*n - 1].method == nmethod->method ? 0 : -EBADMSG;
}
