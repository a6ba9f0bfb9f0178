/* A sorted list in which new ranges overwrite old ones. */
#include "symbol/ranges.h"

#include "base/mem.h"
#include "base/search.h"

#include <stdlib.h>

void ranges_done(struct ranges *r)
{
	vec_done(&r->v);
	vec_done(&r->layers);
	free(r->cuts);
	free(r->top);
	*r = (struct ranges){ 0 };
}

bool ranges_add(struct ranges *r, uint64_t start, uint64_t size, uint32_t name)
{
	if (size == 0 || size > UINT32_MAX || start > UINT64_MAX - size)
		return false;
	vec_push(&r->v, (struct range){ start, size, name });
	return true;
}

static int cut_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static void ranges_cut(struct ranges *r)
{
	r->cuts = xreallocarray(NULL, r->v.n, 2 * sizeof *r->cuts);
	for (size_t i = 0; i < r->v.n; i++) {
		r->cuts[2 * i] = r->v.v[i].start;
		r->cuts[2 * i + 1] = r->v.v[i].start + r->v.v[i].size;
	}
	qsort(r->cuts, 2 * r->v.n, sizeof *r->cuts, cut_compare);
	for (size_t i = 0; i < 2 * r->v.n; i++)
		if (i == 0 || r->cuts[i] != r->cuts[r->n_cuts - 1])
			r->cuts[r->n_cuts++] = r->cuts[i];
	r->cuts = xreallocarray(r->cuts, r->n_cuts, sizeof *r->cuts);
}

/* Returns the last piece that starts at or before addr; requires cuts[0] <= addr. */
static size_t ranges_piece(const struct ranges *r, uint64_t addr)
{
	return search_first(i, 1, r->n_cuts, r->cuts[i] > addr) - 1;
}

/* State while painting layers: full pieces are skipped by a disjoint-set forest whose roots are the
 * pieces with space for more layers. */
struct painter {
	struct ranges *ranges;
	uint32_t *bottom; /* oldest layer of each piece so far */
	uint32_t *next;   /* first piece at or after this one that may still have space */
	uint8_t *room;    /* layers for which each piece has space */
};

static uint32_t painter_open_piece(struct painter *p, uint32_t piece)
{
	while (p->next[piece] != piece)
		piece = p->next[piece] = p->next[p->next[piece]];
	return piece;
}

static void painter_add(struct painter *p, uint32_t piece, uint32_t range)
{
	struct ranges *r = p->ranges;
	uint32_t layer = r->layers.n;
	vec_push(&r->layers, (struct range_layer){ range, RANGE_NONE });
	if (r->top[piece] == RANGE_NONE)
		r->top[piece] = layer;
	else
		r->layers.v[p->bottom[piece]].below = layer;
	p->bottom[piece] = layer;
	if (--p->room[piece] == 0)
		p->next[piece] = piece + 1;
}

void ranges_build(struct ranges *r, unsigned depth)
{
	if (r->v.n == 0)
		return;
	ranges_cut(r);
	size_t n = r->n_cuts;
	struct painter p = { r, xreallocarray(NULL, n, sizeof *p.bottom),
			     xreallocarray(NULL, n, sizeof *p.next), xmalloc(n) };
	r->top = xreallocarray(NULL, n, sizeof *r->top);
	for (size_t i = 0; i < n; i++) {
		p.next[i] = i;
		p.room[i] = depth > UINT8_MAX ? UINT8_MAX : depth;
		r->top[i] = RANGE_NONE;
	}
	for (size_t i = r->v.n; i-- > 0;) {
		const struct range *v = &r->v.v[i];
		uint32_t piece = painter_open_piece(&p, ranges_piece(r, v->start));
		while (r->cuts[piece] < v->start + v->size) {
			painter_add(&p, piece, i);
			piece = painter_open_piece(&p, piece + 1);
		}
	}
	free(p.bottom);
	free(p.next);
	free(p.room);
}

const struct range *ranges_find(const struct ranges *r, uint64_t addr, size_t n)
{
	if (r->n_cuts == 0 || addr < r->cuts[0])
		return NULL;
	uint32_t layer = r->top[ranges_piece(r, addr)];
	while (layer != RANGE_NONE && r->layers.v[layer].range >= n)
		layer = r->layers.v[layer].below;
	return layer == RANGE_NONE ? NULL : &r->v.v[r->layers.v[layer].range];
}
