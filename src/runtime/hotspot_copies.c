/* Copies of what names the frames of compiled methods. */
#include "runtime/hotspot_parts.h"

#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct piece {
	uint64_t addr;
	uint32_t len, at; /* in bytes */
};

enum { PIECES = 3 };
struct hotspot_copy {
	uint64_t addr; /* of the nmethod */
	struct hotspot_nmethod nmethod;
	struct piece pieces[PIECES];
	uint32_t n, len;
	uint8_t bytes[];
};

static void add_piece(struct hotspot_copy *c, uint64_t addr, uint64_t len)
{
	c->pieces[c->n++] = (struct piece){ addr, len, c->len };
	c->len += len;
}

/* What to read: in one piece if the three tables are close to each other, as in most versions. */
static bool choose_pieces(const struct hotspot_nmethod *n, uint16_t pc_bytes,
			  struct hotspot_copy *c)
{
	const struct {
		uint64_t addr, len;
	} tables[PIECES] = {
		{ n->metadata, n->n_metadata * 8ull },
		{ n->scopes, n->scopes_bytes },
		{ n->pcs, (uint64_t)n->n_pcs * pc_bytes },
	};
	uint64_t start = UINT64_MAX, end = 0, sum = 0;

	for (int i = 0; i < PIECES; i++) {
		if (!tables[i].len)
			continue;
		start = tables[i].addr < start ? tables[i].addr : start;
		end = tables[i].addr + tables[i].len > end ? tables[i].addr + tables[i].len : end;
		sum += tables[i].len;
	}
	if (sum > HOTSPOT_MAX_COPY)
		return false;
	if (end > start && end - start <= sum + sum / 2 && end - start <= HOTSPOT_MAX_COPY) {
		add_piece(c, start, end - start);
		return true;
	}
	for (int i = 0; i < PIECES; i++)
		if (tables[i].len)
			add_piece(c, tables[i].addr, tables[i].len);
	return true;
}

int hotspot_copy_read(uint64_t addr, const struct hotspot_nmethod *n, uint16_t pc_bytes,
		      const struct runtime_memory *m, struct hotspot_copy **out)
{
	struct hotspot_copy plan = { .addr = addr, .nmethod = *n }, *c;

	if (!choose_pieces(n, pc_bytes, &plan))
		return -E2BIG;
	c = xmalloc(sizeof *c + plan.len);
	*c = plan;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct piece *p = &c->pieces[i];
		int rc = m->read(m->ctx, p->addr, c->bytes + p->at, p->len);

		if (rc < 0) {
			free(c);
			return rc;
		}
	}
	*out = c;
	return 0;
}

static int read_copy(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct hotspot_copy *c = ctx;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct piece *p = &c->pieces[i];
		uint64_t at = addr - p->addr;

		if (at < p->len && len <= p->len - at) {
			memcpy(out, c->bytes + p->at + at, len);
			return 0;
		}
	}
	return -EBADMSG;
}

struct runtime_memory hotspot_copy_memory(struct hotspot_copy *c)
{
	return (struct runtime_memory){ read_copy, c };
}

const struct hotspot_nmethod *hotspot_copy_nmethod(const struct hotspot_copy *c)
{
	return &c->nmethod;
}

/* --- the copies of a process ------------------------------------------------------------------ */

static uint64_t key_of(uint64_t addr, uint32_t compile_id)
{
	return hash_mix(addr, compile_id);
}

static void unlink_from_pool(struct hotspot_copies *s)
{
	struct hotspot_pool *p = s->pool;

	*(s->newer ? &s->newer->older : &p->newest) = s->older;
	*(s->older ? &s->older->newer : &p->oldest) = s->newer;
	s->newer = s->older = NULL;
}

static void link_as_newest(struct hotspot_copies *s)
{
	struct hotspot_pool *p = s->pool;

	s->older = p->newest;
	*(s->older ? &s->older->newer : &p->oldest) = s;
	p->newest = s;
}

/* A process without copies is not in the pool. */
void hotspot_copies_done(struct hotspot_copies *s)
{
	if (!s->v.n)
		return;
	for (size_t i = 0; i < s->v.n; i++)
		free(s->v.v[i]);
	vec_done(&s->v);
	map_done(&s->by_key);
	s->pool->bytes -= s->bytes;
	s->bytes = 0;
	unlink_from_pool(s);
}

struct hotspot_copy *hotspot_copies_find(struct hotspot_copies *s, uint64_t addr,
					 uint32_t compile_id)
{
	const uint32_t *at = map_get(&s->by_key, key_of(addr, compile_id));
	struct hotspot_copy *c = at ? s->v.v[*at] : NULL;

	if (!c || c->addr != addr || c->nmethod.compile_id != compile_id)
		return NULL;
	if (s->newer) {
		unlink_from_pool(s);
		link_as_newest(s);
	}
	return c;
}

void hotspot_copies_add(struct hotspot_copies *s, struct hotspot_copy *c)
{
	size_t size = sizeof *c + c->len;

	if (s->bytes + size > HOTSPOT_MAX_COPIES_BYTES)
		hotspot_copies_done(s);
	if (s->v.n)
		unlink_from_pool(s);
	while (s->pool->bytes + size > HOTSPOT_MAX_POOL_BYTES && s->pool->oldest)
		hotspot_copies_done(s->pool->oldest);
	link_as_newest(s);
	map_put(&s->by_key, key_of(c->addr, c->nmethod.compile_id), s->v.n);
	vec_push(&s->v, c);
	s->bytes += size;
	s->pool->bytes += size;
}
