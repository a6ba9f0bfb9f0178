/* Buckets of Go's heap profile, and the stacks in them. */
#include "mem/go/go_heap.h"

#include "base/err.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_find.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/go/gopclntab.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* --- the file --------------------------------------------------------------------------------- */

static bool is_go(const struct elf_file *f)
{
	GElf_Shdr s;

	return elf_file_section(f, ".gopclntab", SHT_NULL, &s) ||
	       elf_file_section(f, ".data.rel.ro.gopclntab", SHT_NULL, &s) ||
	       elf_file_section(f, ".note.go.buildid", SHT_NULL, &s);
}

static bool find_symbol(const struct elf_file *f, const char *name, uint64_t *out)
{
	GElf_Sym found;

	if (!elf_find_static(f, name, &found))
		return false;
	*out = found.st_value;
	return true;
}

static int find_heap(const struct elf_file *f, const struct elf_layout *layout,
		     struct gopclntab *table, struct go_heap *out, struct err *err)
{
	if (find_symbol(f, "runtime.mbuckets", &out->buckets) &&
	    find_symbol(f, "runtime.MemProfileRate", &out->rate))
		return 0;
	out->is_by_code = true;
	return go_heap_find_by_code(f, layout, table, out, err);
}

/* Before Go 1.18 the counters may be of another type. */
static int find_locks(const struct elf_file *f, const struct elf_layout *layout,
		      struct gopclntab *table, struct go_heap *out, struct err *err)
{
	uint64_t locks, rate;

	if (!find_symbol(f, "runtime.xbuckets", &locks) ||
	    !find_symbol(f, "runtime.mutexprofilerate", &rate))
		return err_set(err, ENOTSUP,
			       "a Go program without symbols: the place of its profile of mutexes "
			       "is unknown");
	if ((!table->kind && gopclntab_open(table, f, layout, err)) || gopclntab_since(table) < 18)
		return err_set(err, ENOTSUP, "its Go is too old for its profile of mutexes");
	out->locks = locks;
	out->lock_rate = rate;
	out->has_sampled_locks = gopclntab_since(table) < 20;
	return 0;
}

int go_heap_find(const struct elf_file *f, const struct elf_layout *layout, uint32_t finds,
		 struct gopclntab *table, struct go_heap *out, struct err *err)
{
	struct go_heap found = { .text = UINT64_MAX };

	if (!is_go(f))
		return err_set(err, ENODATA, "not a Go program");
	int heap = finds & GO_FINDS_HEAP ? find_heap(f, layout, table, &found, err) : -ENOTSUP;
	int locks = finds & GO_FINDS_LOCKS ? find_locks(f, layout, table, &found, err) : -ENOTSUP;
	if (heap && locks)
		return -ENOTSUP;
	for (size_t i = 0; i < layout->segments.n; i++) {
		const struct elf_segment *s = &layout->segments.v[i];

		if (!s->executable)
			continue;
		if (s->vaddr < found.text)
			found.text = s->vaddr;
		if (s->vaddr + s->size > found.text_end)
			found.text_end = s->vaddr + s->size;
	}
	*out = found;
	return 0;
}

/* --- buckets ---------------------------------------------------------------------------------- */

enum bucket_type { MEMORY_PROFILE = 1, MUTEX_PROFILE = 3 };
enum { WORD = 8, HEADER_WORDS = 6, CYCLES = 4, CYCLE_WORDS = 4, CYCLE_WORDS_1_27 = 2 };
enum header_word { HEADER_NEXT, HEADER_BEFORE, HEADER_TYPE, HEADER_HASH, HEADER_SIZE, HEADER_N };
enum cycle_word { CYCLE_ALLOCS, CYCLE_FREES, CYCLE_ALLOC_BYTES, CYCLE_FREE_BYTES };

/* The list; cycle_words: the layout of its buckets. */
struct bucket_list {
	const struct go_heap *heap;
	struct window *w;
	enum bucket_type type;
	uint32_t cycle_words; /* of memory */
};

/* Memory that was read last: buckets are made one after the other. */
struct window {
	const struct go_heap_memory *m;
	uint64_t addr;
	size_t len;
	uint8_t bytes[16 << 10];
};

/* Buckets are in pieces of 256 KiB that are aligned to pages. */
static int read_window(struct window *w, uint64_t addr, void *out, size_t len)
{
	enum { PAGE = 4096 };

	if (addr >= w->addr && addr - w->addr < w->len && len <= w->len - (addr - w->addr)) {
		memcpy(out, w->bytes + (addr - w->addr), len);
		return 0;
	}
	uint64_t end = (addr + len + PAGE - 1) & -(uint64_t)PAGE;
	uint64_t start = end > sizeof w->bytes ? end - sizeof w->bytes : 0;
	w->len = 0;
	if (len > sizeof w->bytes || w->m->read(w->m->ctx, start, w->bytes, sizeof w->bytes) < 0)
		return w->m->read(w->m->ctx, addr, out, len) < 0 ? -EFAULT : 0;
	w->addr = start;
	w->len = sizeof w->bytes;
	memcpy(out, w->bytes + (addr - start), len);
	return 0;
}

static bool is_text(const struct go_heap *h, uint64_t bias, uint64_t addr)
{
	return addr - bias > h->text && addr - bias <= h->text_end;
}

/* Returns the number of words of a cycle: to Go 1.26 it also has bytes, which its blocks' size
 * determines. 0: unknown. */
static uint32_t cycle_words_of(const uint64_t *counts, uint64_t size)
{
	uint64_t any = 0, any_1_27 = 0;
	bool fits = true;

	for (uint32_t i = 0; i < CYCLES; i++) {
		const uint64_t *c = counts + (size_t)i * CYCLE_WORDS;

		any |= c[CYCLE_ALLOCS] | c[CYCLE_FREES];
		fits = fits && c[CYCLE_ALLOC_BYTES] == c[CYCLE_ALLOCS] * size &&
		       c[CYCLE_FREE_BYTES] == c[CYCLE_FREES] * size;
	}
	for (uint32_t i = 0; i < CYCLES * CYCLE_WORDS_1_27; i++)
		any_1_27 |= counts[i];
	if (fits)
		return any ? CYCLE_WORDS : 0;
	return any_1_27 ? CYCLE_WORDS_1_27 : 0;
}

/* Fills in all but the counters. Sets *counts to their address. */
static int read_head(const struct bucket_list *l, uint64_t addr, struct go_bucket *out,
		     uint64_t *before, uint64_t *counts)
{
	struct window *w = l->w;
	uint64_t head[HEADER_WORDS];
	const uint64_t most_bytes = 1ull << 40;

	if (addr % WORD || read_window(w, addr, head, sizeof head) < 0)
		return -EFAULT;
	if (head[HEADER_TYPE] != l->type || !head[HEADER_N] || head[HEADER_N] > GO_HEAP_STACK ||
	    !head[HEADER_SIZE] != (l->type == MUTEX_PROFILE) || head[HEADER_SIZE] > most_bytes)
		return -EBADMSG;
	*before = head[HEADER_BEFORE];
	out->addr = addr;
	out->size = head[HEADER_SIZE];
	out->n = head[HEADER_N];
	if (read_window(w, addr + sizeof head, out->stack, out->n * WORD) < 0)
		return -EFAULT;
	*counts = addr + sizeof head + out->n * WORD;
	return 0;
}

static int read_bucket(const struct bucket_list *l, uint64_t addr, struct go_bucket *out,
		       uint64_t *before)
{
	uint64_t at, counts[CYCLES * CYCLE_WORDS];
	int rc = read_head(l, addr, out, before, &at);

	if (rc)
		return rc;
	if (read_window(l->w, at, counts, CYCLES * l->cycle_words * WORD) < 0)
		return -EFAULT;
	out->allocs = counts[CYCLE_ALLOCS];
	out->frees = counts[CYCLE_FREES];
	out->recent_allocs = 0;
	for (uint32_t i = 1; i < CYCLES; i++)
		out->recent_allocs += counts[i * l->cycle_words + CYCLE_ALLOCS];
	for (uint32_t i = 0; i < out->n; i++)
		if (!is_text(l->heap, l->w->m->bias, out->stack[i]))
			return -ESTALE;
	return out->frees > out->allocs || (out->allocs | out->recent_allocs) >> 40 ? -ESTALE : 0;
}

static int read_lock_bucket(const struct bucket_list *l, uint64_t addr, struct go_bucket *out,
			    uint64_t *before)
{
	const double most_waits = 1e15;
	struct {
		double waits;
		int64_t cycles;
	} counts;
	uint64_t at;
	int rc = read_head(l, addr, out, before, &at);

	if (rc)
		return rc;
	if (read_window(l->w, at, &counts, sizeof counts) < 0)
		return -EFAULT;
	for (uint32_t i = 0; i < out->n; i++)
		if (!is_text(l->heap, l->w->m->bias, out->stack[i]))
			return -ESTALE;
	if (!(counts.waits >= 0 && counts.waits <= most_waits) || counts.cycles < 0)
		return -ESTALE;
	out->waits = counts.waits;
	out->cycles = (uint64_t)counts.cycles;
	return 0;
}

/* Takes the layout of most of the first buckets with counters: one may be written just now. */
static int find_layout(struct bucket_list *l, uint64_t addr)
{
	enum { LOOKED_AT = 64, DECIDED = 5 };
	const uint64_t head = addr;
	uint32_t longer = 0, shorter = 0;
	struct go_bucket b;

	for (uint32_t n = 0; addr && n < LOOKED_AT && longer + shorter < DECIDED; n++) {
		uint64_t at, counts[CYCLES * CYCLE_WORDS];
		int rc = read_head(l, addr, &b, &addr, &at);

		if (rc)
			return rc;
		if (read_window(l->w, at, counts, sizeof counts) < 0)
			continue; /* the shorter ones may end with their memory */
		uint32_t words = cycle_words_of(counts, b.size);
		longer += words == CYCLE_WORDS;
		shorter += words == CYCLE_WORDS_1_27;
	}
	l->cycle_words = shorter > longer ? CYCLE_WORDS_1_27 : CYCLE_WORDS;
	return longer + shorter || !head ? 0 : -EAGAIN;
}

int go_heap_rate(const struct go_heap *h, const struct go_heap_memory *m, uint64_t *out)
{
	const int64_t most_bytes = 1ll << 40;
	int64_t rate;

	if (m->read(m->ctx, h->rate + m->bias, &rate, sizeof rate) < 0)
		return -EFAULT;
	if (rate > most_bytes)
		return -EBADMSG;
	*out = rate > 0 ? rate : 0;
	return 0;
}

int go_locks_rate(const struct go_heap *h, const struct go_heap_memory *m, uint64_t *out)
{
	const uint64_t most = 1ull << 40;
	uint64_t rate;

	if (m->read(m->ctx, h->lock_rate + m->bias, &rate, sizeof rate) < 0)
		return -EFAULT;
	if (rate > most)
		return -EBADMSG;
	*out = rate;
	return 0;
}

typedef int bucket_reader(const struct bucket_list *l, uint64_t addr, struct go_bucket *out,
			  uint64_t *before);

/* rc: why the layout is unknown, or 0. */
static int read_all(const struct bucket_list *l, uint64_t at, int rc, bucket_reader *read,
		    bool (*on_bucket)(void *ctx, const struct go_bucket *b), void *ctx)
{
	struct go_bucket b = { 0 };

	for (uint32_t n = 0; at; n++) {
		uint64_t before = 0;

		if (!rc)
			rc = n < GO_HEAP_BUCKETS ? read(l, at, &b, &before) : -E2BIG;
		if (rc && rc != -ESTALE)
			return rc;
		if (rc == 0 && !on_bucket(ctx, &b))
			return 0;
		rc = 0;
		at = before;
	}
	return 0;
}

int go_heap_read(const struct go_heap *h, const struct go_heap_memory *m,
		 bool (*on_bucket)(void *ctx, const struct go_bucket *b), void *ctx)
{
	struct window w = { .m = m };
	struct bucket_list l = { .heap = h, .w = &w, .type = MEMORY_PROFILE };
	uint64_t at;

	if (m->read(m->ctx, h->buckets + m->bias, &at, sizeof at) < 0)
		return -EFAULT;
	return read_all(&l, at, find_layout(&l, at), read_bucket, on_bucket, ctx);
}

int go_locks_read(const struct go_heap *h, const struct go_heap_memory *m,
		  bool (*on_bucket)(void *ctx, const struct go_bucket *b), void *ctx)
{
	struct window w = { .m = m };
	const struct bucket_list l = { .heap = h, .w = &w, .type = MUTEX_PROFILE };
	uint64_t at;

	if (m->read(m->ctx, h->locks + m->bias, &at, sizeof at) < 0)
		return -EFAULT;
	return read_all(&l, at, 0, read_lock_bucket, on_bucket, ctx);
}

/* --- stacks ----------------------------------------------------------------------------------- */

/* The calls that are inlined at an address, which is in one: the innermost is not counted. */
static uint32_t outer_calls(struct gopclntab *t, const struct go_function *f, uint64_t addr,
			    uint32_t *lookups)
{
	struct go_inlined in;
	uint32_t n = 0;
	int32_t index;

	while (*lookups && (*lookups)-- && gopclntab_value(t, f, f->inline_ids, addr, &index) &&
	       index >= 0 && gopclntab_inlined(t, f, index, &in)) {
		addr = in.call;
		n++;
	}
	return n;
}

uint32_t go_heap_physical(struct gopclntab *table, uint64_t *stack, uint32_t n)
{
	enum { MOST_LOOKUPS = 4 * GO_HEAP_STACK }; /* of a value, in a table that may be hostile */
	uint32_t kept = 0, left = MOST_LOOKUPS;

	for (uint32_t i = 0; i < n;) {
		struct go_function f;
		uint64_t addr = stack[i] - 1;
		uint32_t outer =
			gopclntab_find(table, addr, &f) ? outer_calls(table, &f, addr, &left) : 0;

		stack[kept++] = stack[i++];
		for (; outer && i < n && stack[i] - 1 >= f.start && stack[i] - 1 < f.end; outer--)
			i++;
	}
	return kept;
}

/* --- estimates -------------------------------------------------------------------------------- */

/* Each byte has the same chance to be sampled. */
double go_heap_weight(uint64_t size, uint64_t rate)
{
	return rate > 1 && size ? 1 / -expm1(-(double)size / (double)rate) : 1;
}
