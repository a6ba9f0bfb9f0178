#include "collect/kernel/program_news.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "bpf/program_file.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

/* Programs whose processes may still turn out to be urgent. */
enum { LATELY = 256 };

struct program_news {
	int programs, outer_fd;
	uint64_t tag;
	bool is_quiet;
	struct ring_buffer *ring;
	VEC(struct program_begun) taken;
	struct program_begun lately[LATELY]; /* the last at (n_lately - 1) % LATELY */
	uint64_t n_lately;
};

static int on_begun(void *ctx, void *data, size_t size)
{
	struct program_news *n = ctx;
	const struct program_begun *b = data;

	if (size != sizeof *b)
		return 0;
	vec_push(&n->taken, *b);
	n->lately[n->n_lately++ % LATELY] = *b;
	return 0;
}

static int watch(struct program_news *n, int op, uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.u64 = n->tag };

	return epoll_ctl(n->outer_fd, op, ring_buffer__epoll_fd(n->ring), &ev);
}

int program_news_open(int programs, int ring, int epoll_fd, uint64_t tag, struct program_news **out,
		      struct err *err)
{
	struct program_news *n = xcalloc(1, sizeof *n);

	*n = (struct program_news){ .programs = programs, .outer_fd = epoll_fd, .tag = tag };
	n->ring = ring_buffer__new(ring, on_begun, n, NULL);
	if (!n->ring || watch(n, EPOLL_CTL_ADD, EPOLLIN)) {
		err_set(err, errno, "cannot wait for new programs: %s", strerror(errno));
		program_news_close(n);
		return err ? -err->code : -EIO;
	}
	*out = n;
	return 0;
}

void program_news_take(struct program_news *n)
{
	ring_buffer__consume(n->ring);
}

void program_news_each(const struct program_news *n, void (*fn)(void *ctx, uint32_t pid), void *ctx)
{
	for (size_t i = 0; i < n->taken.n; i++)
		fn(ctx, n->taken.v[i].pid);
}

/* Makes room by forgetting all. */
static void forget_all(struct program_news *n)
{
	struct program_file file;

	while (bpf_map_get_next_key(n->programs, NULL, &file) == 0)
		if (bpf_map_delete_elem(n->programs, &file))
			break;
}

static void put(struct program_news *n, const struct program_file *file, bool is_urgent)
{
	struct program_known known = { .last_ns = clock_mono_ns(), .is_urgent = is_urgent };

	if (bpf_map_update_elem(n->programs, file, &known, BPF_ANY) && errno == E2BIG) {
		forget_all(n);
		bpf_map_update_elem(n->programs, file, &known, BPF_ANY);
	}
}

/* An urgent one stays so. */
static void learn(struct program_news *n, const struct program_begun *b)
{
	struct program_known known = { 0 };

	if (bpf_map_lookup_elem(n->programs, &b->file, &known))
		put(n, &b->file, false);
}

void program_news_learn(struct program_news *n)
{
	for (size_t i = 0; i < n->taken.n; i++)
		learn(n, &n->taken.v[i]);
	vec_clear(&n->taken);
}

void program_news_urgent(struct program_news *n, uint32_t pid)
{
	for (uint64_t i = 0; i < LATELY && i < n->n_lately; i++) {
		const struct program_begun *b = &n->lately[(n->n_lately - 1 - i) % LATELY];

		if (b->pid != pid)
			continue;
		put(n, &b->file, true);
		return;
	}
}

void program_news_quiet(struct program_news *n, bool quiet)
{
	if (n->is_quiet != quiet)
		watch(n, EPOLL_CTL_MOD, quiet ? 0 : EPOLLIN);
	n->is_quiet = quiet;
}

void program_news_close(struct program_news *n)
{
	if (!n)
		return;
	if (n->ring)
		watch(n, EPOLL_CTL_DEL, 0);
	ring_buffer__free(n->ring);
	vec_done(&n->taken);
	free(n);
}
