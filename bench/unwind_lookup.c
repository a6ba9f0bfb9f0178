/* Lookups of random addresses in the unwind table of the largest library here, by BPF programs (bench/bpf/unwind_lookup.bpf.c): our
 * table against re-implementations of three shapes that other profilers use (rows of 4, 8 and 16 bytes), holding the same rules. All must give the same
 * answers. Prints rows of the table.
 *
 *     unwind_lookup [FILE] */
#include "unwind_lookup.h"

#include "largest_library.h"

#include "base/clock.h"
#include "base/vec.h"
#include "unwind/table.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct walk {
	__u32 pos, len;
	const char *image;
};
#include "base/err.h"
#include "base/mem.h"
#include "bpf/unwind_find.h"

enum { ROUNDS = 15, LOOKUPS = 1 << 18 };

struct row {
	uint64_t pc;
	struct lookup_answer answer;
};
struct bench {
	struct unwind_table table;
	VEC(struct row) rows;
	uint64_t *pcs; /* LOOKUP_PCS, shared with the programs */
	struct bpf_object *object;
	struct lookup_run *run; /* shared */
};

static void die(const char *what)
{
	fprintf(stderr, "unwind_lookup: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void must(int rc, const char *what)
{
	if (rc < 0)
		die(what);
}

/* --- the object ---------------------------------------------------------------------------------- */

static struct lookup_answer answer_of(const struct unwind_rule *r)
{
	if (!r)
		return (struct lookup_answer){ 0 };
	return (struct lookup_answer){ r->cfa, r->fp, r->cfa_offset, r->fp_offset };
}

static uint64_t answer_number(struct lookup_answer a)
{
	return (uint64_t)a.cfa << 48 | (uint64_t)a.fp << 40 | (uint64_t)a.cfa_offset << 16 |
	       (uint16_t)a.fp_offset;
}

/* What the other shapes hold: from where on which answer. */
static void list_rows(struct bench *b)
{
	uint64_t pc = (uint64_t)b->table.ref.first_page << UNWIND_PAGE_BITS;
	uint64_t end = pc + ((uint64_t)b->table.ref.n_pages << UNWIND_PAGE_BITS), last = 0;

	for (; pc < end; pc++) {
		struct lookup_answer a = answer_of(unwind_table_find(&b->table, pc));
		if (answer_number(a) == last)
			continue;
		last = answer_number(a);
		vec_push(&b->rows, (struct row){ pc, a });
	}
}

/* Anywhere inside of functions, each byte as likely. */
static void choose_pcs(struct bench *b)
{
	uint64_t state = 1, bytes = (uint64_t)b->table.ref.n_pages << UNWIND_PAGE_BITS;

	for (size_t i = 0; i < LOOKUP_PCS;) {
		state = state * 6364136223846793005 + 1442695040888963407;
		uint64_t pc = ((uint64_t)b->table.ref.first_page << UNWIND_PAGE_BITS) +
			      (state >> 20) % bytes;
		if (unwind_table_find(&b->table, pc))
			b->pcs[i++] = pc;
	}
}

/* --- maps ---------------------------------------------------------------------------------------- */

static int map_fd(const struct bench *b, const char *name)
{
	int fd = bpf_object__find_map_fd_by_name(b->object, name);

	must(fd, name);
	return fd;
}

static int new_array(uint32_t value_size, uint32_t n, uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = flags);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rows", 4, value_size, n, &opts);

	must(fd, "array");
	return fd;
}

static void set(int fd, const void *key, const void *value)
{
	must(bpf_map_update_elem(fd, key, value, BPF_ANY), "update");
}

static void fill_array(int fd, const void *values, uint32_t value_size, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		set(fd, &i, (const char *)values + (size_t)i * value_size);
}

static void put_inner(const struct bench *b, const char *outer, int inner)
{
	uint64_t object = 1;

	set(map_fd(b, outer), &object, &inner);
	close(inner);
}

static void load_dir256(struct bench *b)
{
	size_t segment_bytes = (size_t)LOOKUP_SEGMENT_CHUNKS * UNWIND_CHUNK;

	for (uint32_t i = 0; i * segment_bytes < b->table.image.len; i++) {
		size_t left = b->table.image.len - i * segment_bytes;
		int fd = new_array(UNWIND_CHUNK, LOOKUP_SEGMENT_CHUNKS, BPF_F_MMAPABLE);
		char *p = mmap(NULL, segment_bytes, PROT_WRITE, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			die("mmap");
		memcpy(p, b->table.image.data + i * segment_bytes,
		       left < segment_bytes ? left : segment_bytes);
		munmap(p, segment_bytes);
		set(map_fd(b, "segments"), &i, &fd);
		close(fd);
	}
}

/* The rows of each page of 64 KiB: calls put(page, first, end). */
static void each_page(const struct bench *b,
		      void (*put)(const struct bench *b, const struct lookup_page_key *key,
				  uint32_t first, uint32_t end))
{
	uint64_t last = b->rows.v[b->rows.n - 1].pc >> LOOKUP_PAGE_BITS;
	size_t at = 0;

	for (uint64_t page = b->rows.v[0].pc >> LOOKUP_PAGE_BITS; page <= last; page++) {
		struct lookup_page_key key = { .object = 1, .page = page };
		size_t first = at;
		while (at < b->rows.n && b->rows.v[at].pc >> LOOKUP_PAGE_BITS == page)
			at++;
		put(b, &key, first, at);
	}
}

static void put_page4(const struct bench *b, const struct lookup_page_key *key, uint32_t first,
		      uint32_t end)
{
	struct rows4_page page = { .first = first, .n = end - first };

	set(map_fd(b, "rows4_pages"), key, &page);
}

static void put_page8(const struct bench *b, const struct lookup_page_key *key, uint32_t first,
		      uint32_t end)
{
	struct rows8_page page = { first, end };

	set(map_fd(b, "rows8_pages"), key, &page);
}

static uint32_t rule4(struct rows4_rule *rules, uint32_t *n, struct lookup_answer a)
{
	uint32_t i = 0;

	while (i < *n &&
	       !(rules[i].cfa == a.cfa && rules[i].fp == a.fp &&
		 rules[i].cfa_offset == a.cfa_offset && rules[i].fp_offset == a.fp_offset))
		i++;
	if (i == LOOKUP_MAX_RULES)
		die("too many rules");
	if (i == *n)
		rules[(*n)++] = (struct rows4_rule){ .cfa = a.cfa,
						     .fp = a.fp,
						     .cfa_offset = a.cfa_offset,
						     .fp_offset = a.fp_offset };
	return i;
}

static void load_rows4(struct bench *b)
{
	static struct rows4_rule rules[LOOKUP_MAX_RULES];
	struct row4 *rows = xcalloc(b->rows.n, sizeof *rows);
	uint32_t n_rules = 0;
	int fd = new_array(sizeof *rows, b->rows.n, 0);

	for (size_t i = 0; i < b->rows.n; i++)
		rows[i] = (struct row4){ b->rows.v[i].pc,
					 rule4(rules, &n_rules, b->rows.v[i].answer) };
	fill_array(fd, rows, sizeof *rows, b->rows.n);
	fill_array(map_fd(b, "rows4_rules"), rules, sizeof *rules, n_rules);
	put_inner(b, "rows4", fd);
	each_page(b, put_page4);
	free(rows);
}

static void load_rows8(struct bench *b)
{
	struct row8 *rows = xcalloc(b->rows.n, sizeof *rows);
	int fd = new_array(sizeof *rows, b->rows.n, BPF_F_MMAPABLE | BPF_F_INNER_MAP);

	for (size_t i = 0; i < b->rows.n; i++) {
		struct lookup_answer a = b->rows.v[i].answer;
		rows[i] = (struct row8){ b->rows.v[i].pc, a.cfa, a.fp, a.cfa_offset, a.fp_offset };
	}
	fill_array(fd, rows, sizeof *rows, b->rows.n);
	put_inner(b, "rows8", fd);
	each_page(b, put_page8);
	free(rows);
}

static uint32_t load_rows16(struct bench *b)
{
	struct rows16_list *list = xcalloc(1, sizeof *list);
	struct rows16_shard *shard = xcalloc(1, sizeof *shard);
	uint32_t one = 1;

	for (size_t i = 0; i < b->rows.n;) {
		uint32_t id = list->n;
		list->v[list->n].pc = b->rows.v[i].pc;
		list->v[list->n++].shard = id;
		uint32_t n = 0;
		for (; n < LOOKUP_SHARD_ROWS && i < b->rows.n; i++) {
			struct lookup_answer a = b->rows.v[i].answer;
			shard->rows[n++] = (struct row16){ b->rows.v[i].pc, a.cfa,       a.fp,
							   a.cfa_offset,    a.fp_offset, 0 };
		}
		shard->rows[LOOKUP_SHARD_ROWS].pc = n;
		set(map_fd(b, "rows16"), &id, shard);
	}
	uint32_t shards = list->n;
	set(map_fd(b, "rows16_lists"), &one, list);
	free(list);
	free(shard);
	return shards;
}

/* --- runs ---------------------------------------------------------------------------------------- */

struct result {
	double ns; /* a lookup, least of all rounds */
	uint64_t sum;
};

static void run_program(struct bench *b, const char *name, uint32_t pcs, struct result *best)
{
	struct bpf_program *p = bpf_object__find_program_by_name(b->object, name);
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	b->run->n = LOOKUPS;
	b->run->mask = pcs - 1;
	must(bpf_prog_test_run_opts(bpf_program__fd(p), &opts), name);
	double ns = (double)b->run->ns / LOOKUPS;
	best->ns = ns < best->ns ? ns : best->ns;
	best->sum = b->run->sum;
}

static const void *walk_chunk(struct walk *w, __u32 chunk)
{
	return w->image + (size_t)chunk * UNWIND_CHUNK;
}

/* The same source in user space. */
static void run_twin(struct bench *b, uint32_t pcs, struct result *best)
{
	struct walk w = { .image = b->table.image.data };
	uint64_t start_ns = clock_mono_ns(), sum = 0;

	for (uint32_t k = 0; k < LOOKUPS; k++)
		sum += answer_number(
			answer_of(find_rule(&w, &b->table.ref, b->pcs[k & (pcs - 1)])));
	double ns = (double)(clock_mono_ns() - start_ns) / LOOKUPS;
	best->ns = ns < best->ns ? ns : best->ns;
	best->sum = sum;
}

static void open_programs(struct bench *b)
{
	const char *build = getenv("BUILD");
	char path[4096];

	snprintf(path, sizeof path, "%s/bench/unwind_lookup.bpf.o", build ? build : "build");
	b->object = bpf_object__open_file(path, NULL);
	if (!b->object)
		die(path);
	/* Array maps inside of one map have one length: the others have a map for each power of two, this one fits. */
	struct bpf_map *rows4 = bpf_object__find_map_by_name(b->object, "rows4");
	int shape = new_array(sizeof(struct row4), b->rows.n, 0);
	must(bpf_map__set_inner_map_fd(rows4, shape), "rows4");
	must(bpf_object__load(b->object), path);
	close(shape);
	b->pcs = mmap(NULL, sizeof(uint64_t) * LOOKUP_PCS, PROT_READ | PROT_WRITE, MAP_SHARED,
		      map_fd(b, "pcs"), 0);
	if (b->pcs == MAP_FAILED)
		die("mmap");
	b->run = mmap(NULL, sizeof *b->run, PROT_READ | PROT_WRITE, MAP_SHARED, map_fd(b, ".bss"),
		      0);
	if (b->run == MAP_FAILED)
		die("mmap");
	b->run->ref = b->table.ref;
}

/* The first and last bytes of all pages: our program in the kernel against the exhaustive reference. */
static void check_boundaries(struct bench *b)
{
	uint64_t pc = (uint64_t)b->table.ref.first_page << UNWIND_PAGE_BITS;
	uint64_t end = pc + ((uint64_t)b->table.ref.n_pages << UNWIND_PAGE_BITS);
	struct result got = { 0 };

	while (pc < end) {
		uint64_t sum = 0;
		for (size_t i = 0; i < LOOKUP_PCS; i += 2, pc += 1 << UNWIND_PAGE_BITS) {
			b->pcs[i] = pc - 1;
			b->pcs[i + 1] = pc;
			for (size_t k = i; k < i + 2; k++)
				sum += answer_number(
					answer_of(unwind_table_find(&b->table, b->pcs[k])));
		}
		run_program(b, "dir256", LOOKUP_PCS, &got);
		if (got.sum != sum * (LOOKUPS / LOOKUP_PCS)) {
			fprintf(stderr, "another answer at a page's boundary\n");
			exit(1);
		}
	}
	fprintf(stderr, "%u pages: all boundaries have the reference's rules\n",
		b->table.ref.n_pages);
}

static const char *const programs[] = { "nothing", "dir256", "rows4_in_hash_of_maps",
					"rows8_in_inner_maps", "rows16_in_hash_values" };
enum { NOTHING, OURS, FIRST_PEER, N_PROGRAMS = sizeof programs / sizeof *programs };

/* Rounds alternate, so that what else runs here meets all alike. */
static double compare(struct bench *b, uint32_t pcs, double *ours)
{
	struct result r[N_PROGRAMS], twin = { .ns = 1e9 };
	double best = 1e9;

	for (int i = 0; i < N_PROGRAMS; i++)
		r[i] = twin;
	for (int round = 0; round < ROUNDS; round++) {
		run_twin(b, pcs, &twin);
		for (int i = 0; i < N_PROGRAMS; i++)
			run_program(b, programs[i], pcs, &r[i]);
	}
	fprintf(stderr, "%6u addresses, ns a lookup: loop %.1f", pcs, r[NOTHING].ns);
	for (int i = OURS; i < N_PROGRAMS; i++) {
		r[i].ns -= r[NOTHING].ns;
		fprintf(stderr, ", %s %.1f", programs[i], r[i].ns);
		if (i >= FIRST_PEER && r[i].ns < best)
			best = r[i].ns;
		if (r[i].sum != twin.sum) {
			fprintf(stderr, "\n%s gives other answers\n", programs[i]);
			exit(1);
		}
	}
	fprintf(stderr, ", dir256 in user space %.1f\n", twin.ns);
	*ours = r[OURS].ns;
	return best;
}

int main(int argc, char **argv)
{
	static const uint32_t sets[] = { LOOKUP_PCS, 2048, 64 };
	char *path = argc > 1 ? strdup(argv[1]) : largest_library();
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
	struct bench b = { 0 };
	struct err err = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd, path);
	if (unwind_table_build(fd, &b.table, &err)) {
		fprintf(stderr, "%s: %s\n", path, err.text);
		return 1;
	}
	list_rows(&b);
	open_programs(&b);
	load_dir256(&b);
	check_boundaries(&b);
	choose_pcs(&b);
	load_rows4(&b);
	load_rows8(&b);
	double others[] = { 8.0 * b.rows.n, 8.0 * b.rows.n, 1048576.0 * load_rows16(&b) };
	double ours_kib = b.table.image.len / 1024.0, best_kib = others[0] / 1024;
	fprintf(stderr,
		"%s: %lu rows of ours, %zu of the others'; KiB: dir256 %.0f, 4-byte rows (8 in the "
		"kernel) %.0f, 8-byte %.0f, 16-byte %.0f\n",
		path, b.table.n_rows, b.rows.n, ours_kib, others[0] / 1024, others[1] / 1024,
		others[2] / 1024);
	for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
		double ours, best = compare(&b, sets[i], &ours);
		if (i == 0)
			printf("| unwind rule lookup in BPF, %d random addresses of %s, against "
			       "the fastest of three formats of others | ≥ 3× faster | "
			       "%.1f× (%.0f ns against %.0f) | %s |\n",
			       LOOKUP_PCS, name, best / ours, ours, best,
			       best / ours >= 3 ? "yes" : "no");
		else
			printf("| … %u addresses | - | %.1f× (%.0f ns against %.0f) | - "
			       "|\n",
			       sets[i], best / ours, ours, best);
	}
	printf("| … bytes of its table against the smallest of theirs, without their page index "
	       "| ≤ 1/2 | %.2f (%.0f KiB against %.0f) | %s |\n",
	       ours_kib / best_kib, ours_kib, best_kib, ours_kib <= best_kib / 2 ? "yes" : "no");
	return 0;
}
