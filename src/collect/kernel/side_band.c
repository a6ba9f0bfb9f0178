/* Opens the dummy events, and reads MMAP2, COMM, FORK and EXIT records. */
#include "collect/kernel/side_band.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/kernel/refusal.h"
#include "collect/proc/cpus.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum ring_kind { RING_MAPPINGS, RING_TASKS, RINGS };

struct cpu_ring {
	uint32_t cpu;
	enum ring_kind kind;
	int fd;
	struct perf_event_mmap_page *page; /* followed by the data pages */
	struct side_ring ring;
	struct side_record next; /* during a drain, when has_next */
	bool has_next;
};
struct side_band {
	int outer_fd, epoll_fd; /* the caller's; the one of the rings, which is in it */
	bool is_quiet;
	uint64_t tag;
	uint32_t ring_pages;
	VEC(struct cpu_ring) rings; /* RINGS per CPU */
	VEC(uint32_t) unread;       /* during a drain: the rings that still have records */
};

struct mapped_file side_file(const struct side_record *r)
{
	return (struct mapped_file){ .pid = r->pid,
				     .start = r->start,
				     .end = r->start + r->len,
				     .pgoff = r->pgoff,
				     .path = r->name,
				     .maj = r->maj,
				     .min = r->min,
				     .ino = r->ino };
}

static size_t ring_bytes(const struct side_band *sb)
{
	return (1 + (size_t)sb->ring_pages) * sysconf(_SC_PAGESIZE);
}

/* --- one ring --------------------------------------------------------------------------------- */

static uint32_t wake_bytes(const struct side_band *sb)
{
	return sb->ring_pages * sysconf(_SC_PAGESIZE) / 4;
}

/* Only executable mappings are reported (mmap_data is off). */
static int open_event(const struct side_band *sb, uint32_t cpu, enum ring_kind kind)
{
	struct perf_event_attr attr = {
		.size = sizeof attr,
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = SIDE_SAMPLE_TYPE,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.mmap = kind == RING_MAPPINGS,
		.mmap2 = kind == RING_MAPPINGS,
		.comm = kind == RING_TASKS,
		.comm_exec = kind == RING_TASKS,
		.task = kind == RING_TASKS,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = wake_bytes(sb),
	};
	int fd = syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int map_ring(struct side_band *sb, struct cpu_ring *c, struct err *err)
{
	struct epoll_event ev = { .events = EPOLLIN };

	c->page = mmap(NULL, ring_bytes(sb), PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
	if (c->page == MAP_FAILED) {
		c->page = NULL;
		err_set(err, errno, "cannot map the ring of CPU %u: %s", c->cpu, strerror(errno));
		return err_hint(err, "locked memory counts: see kernel.perf_event_mlock_kb, or "
				     "give CAP_IPC_LOCK");
	}
	c->ring.data = (const uint8_t *)c->page + sysconf(_SC_PAGESIZE);
	c->ring.size = ring_bytes(sb) - sysconf(_SC_PAGESIZE);
	if (epoll_ctl(sb->epoll_fd, EPOLL_CTL_ADD, c->fd, &ev))
		return err_set(err, errno, "cannot wait for the ring of CPU %u: %s", c->cpu,
			       strerror(errno));
	return 0;
}

/* Removes the descriptor from epoll explicitly: a copy in a child would keep it there. */
static void close_ring(struct side_band *sb, struct cpu_ring *c)
{
	epoll_ctl(sb->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
	if (c->page)
		munmap(c->page, ring_bytes(sb));
	side_ring_done(&c->ring);
	close(c->fd);
}

static int open_ring(struct side_band *sb, uint32_t cpu, enum ring_kind kind, struct err *err)
{
	struct cpu_ring c = { .cpu = cpu, .kind = kind, .fd = open_event(sb, cpu, kind) };

	if (c.fd == -ENODEV)
		return 0; /* went offline in the meantime */
	if (c.fd < 0)
		return refusal_explain(
			&(struct refusal){ .step = REFUSED_PERF_EVENT, .error = c.fd }, err);
	int rc = map_ring(sb, &c, err);
	if (rc)
		close_ring(sb, &c);
	else
		vec_push(&sb->rings, c);
	return rc;
}

/* --- all CPUs --------------------------------------------------------------------------------- */

static bool is_open(const struct side_band *sb, uint32_t cpu, enum ring_kind kind)
{
	for (size_t i = 0; i < sb->rings.n; i++)
		if (sb->rings.v[i].cpu == cpu && sb->rings.v[i].kind == kind)
			return true;
	return false;
}

static uint64_t ring_head(const struct cpu_ring *c)
{
	return __atomic_load_n(&c->page->data_head, __ATOMIC_ACQUIRE);
}

/* A ring of a CPU that went offline stays until it has been drained; the next call closes it. */
static void close_gone(struct side_band *sb, const struct cpu_list *online)
{
	size_t kept = 0;

	for (size_t i = 0; i < sb->rings.n; i++) {
		struct cpu_ring *c = &sb->rings.v[i];

		if (cpu_list_has(online, c->cpu) || ring_head(c) != c->ring.tail)
			sb->rings.v[kept++] = *c;
		else
			close_ring(sb, c);
	}
	sb->rings.n = kept;
}

int side_band_update_cpus(struct side_band *sb, struct err *err)
{
	struct cpu_list online = { 0 };
	int rc = cpu_list_online(NULL, &online);

	if (rc)
		return err_set(err, -rc, "cannot read which CPUs are online: %s", strerror(-rc));
	close_gone(sb, &online);
	for (size_t i = 0; !rc && i < online.ids.n * RINGS; i++)
		if (!is_open(sb, online.ids.v[i / RINGS], i % RINGS))
			rc = open_ring(sb, online.ids.v[i / RINGS], i % RINGS, err);
	cpu_list_done(&online);
	return rc;
}

static int open_epoll(struct side_band *sb, struct err *err)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = sb->tag };

	sb->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (sb->epoll_fd < 0 || epoll_ctl(sb->outer_fd, EPOLL_CTL_ADD, sb->epoll_fd, &ev))
		return err_set(err, errno, "cannot wait for rings: %s", strerror(errno));
	return 0;
}

int side_band_open(int epoll_fd, uint64_t tag, uint32_t ring_pages, struct side_band **out,
		   struct err *err)
{
	struct side_band *sb = xcalloc(1, sizeof *sb);

	*sb = (struct side_band){
		.outer_fd = epoll_fd, .epoll_fd = -1, .tag = tag, .ring_pages = ring_pages
	};
	int rc = open_epoll(sb, err);
	if (!rc)
		rc = side_band_update_cpus(sb, err);
	if (rc)
		side_band_close(sb);
	else
		*out = sb;
	return rc;
}

bool side_band_is_urgent(const struct side_band *sb)
{
	for (size_t i = 0; i < sb->rings.n; i++)
		if (ring_head(&sb->rings.v[i]) - sb->rings.v[i].ring.tail >= wake_bytes(sb))
			return true;
	return false;
}

void side_band_quiet(struct side_band *sb, bool quiet)
{
	struct epoll_event ev = { .events = quiet ? 0 : EPOLLIN, .data.u64 = sb->tag };

	if (sb->is_quiet != quiet)
		epoll_ctl(sb->outer_fd, EPOLL_CTL_MOD, sb->epoll_fd, &ev);
	sb->is_quiet = quiet;
}

static void peek_ring(const struct cpu_ring *c, void (*fn)(void *ctx, const struct side_record *r),
		      void *ctx)
{
	struct side_ring ahead = { c->ring.data, c->ring.size, ring_head(c), c->ring.tail, { 0 } };
	struct side_record r;
	const uint8_t *rec;
	size_t len;

	while (side_ring_next(&ahead, &rec, &len))
		if (side_record_is_of_task(rec, len) && side_record_decode(rec, len, &r))
			fn(ctx, &r);
	side_ring_done(&ahead);
}

void side_band_peek(struct side_band *sb, void (*fn)(void *ctx, const struct side_record *r),
		    void *ctx)
{
	for (size_t i = 0; i < sb->rings.n; i++)
		if (sb->rings.v[i].kind == RING_TASKS)
			peek_ring(&sb->rings.v[i], fn, ctx);
}

/* The kernel also writes FORK and EXIT for an event of mappings. The other ring has them. */
static bool is_twice(const struct cpu_ring *c)
{
	return c->kind == RING_MAPPINGS && (c->next.kind == SIDE_FORK || c->next.kind == SIDE_EXIT);
}

/* The records read so far have been used: the kernel may overwrite them once it knows the new
 * tail. */
static void take_next(struct cpu_ring *c)
{
	const uint8_t *rec;
	size_t len;

	__atomic_store_n(&c->page->data_tail, c->ring.tail, __ATOMIC_RELEASE);
	c->has_next = false;
	while (!c->has_next && side_ring_next(&c->ring, &rec, &len))
		c->has_next = side_record_decode(rec, len, &c->next) && !is_twice(c);
	if (!c->has_next)
		__atomic_store_n(&c->page->data_tail, c->ring.tail, __ATOMIC_RELEASE);
}

static struct cpu_ring *earliest(struct side_band *sb)
{
	struct cpu_ring *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < sb->unread.n; i++) {
		struct cpu_ring *c = &sb->rings.v[sb->unread.v[i]];

		if (!c->has_next)
			continue;
		sb->unread.v[n++] = sb->unread.v[i];
		if (!first || c->next.time_ns < first->next.time_ns)
			first = c;
	}
	sb->unread.n = n;
	return first;
}

void side_band_drain(struct side_band *sb, void (*fn)(void *ctx, const struct side_record *r),
		     void *ctx)
{
	vec_clear(&sb->unread);
	for (size_t i = 0; i < sb->rings.n; i++) {
		struct cpu_ring *c = &sb->rings.v[i];

		c->ring.head = ring_head(c);
		if (c->ring.head == c->ring.tail)
			continue;
		take_next(c);
		vec_push(&sb->unread, i);
	}
	for (struct cpu_ring *c; (c = earliest(sb)); take_next(c))
		fn(ctx, &c->next);
}

static uint64_t lost_in(const uint8_t *rec, size_t len)
{
	struct side_record r;

	return side_record_decode(rec, len, &r) && r.kind == SIDE_LOST ? r.lost : 1;
}

static uint64_t skip_ring(struct cpu_ring *c)
{
	const uint8_t *rec;
	uint64_t n = 0;
	size_t len;

	c->ring.head = ring_head(c);
	while (side_ring_next(&c->ring, &rec, &len))
		n += lost_in(rec, len);
	__atomic_store_n(&c->page->data_tail, c->ring.tail, __ATOMIC_RELEASE);
	return n;
}

void side_band_skip(struct side_band *sb, void (*fn)(void *ctx, const struct side_record *r),
		    void *ctx)
{
	struct side_record r = { .kind = SIDE_LOST };

	for (size_t i = 0; i < sb->rings.n; i++)
		r.lost += skip_ring(&sb->rings.v[i]);
	r.time_ns = clock_mono_ns();
	if (r.lost)
		fn(ctx, &r);
}

void side_band_close(struct side_band *sb)
{
	if (!sb)
		return;
	for (size_t i = 0; i < sb->rings.n; i++)
		close_ring(sb, &sb->rings.v[i]);
	vec_done(&sb->rings);
	vec_done(&sb->unread);
	if (sb->epoll_fd >= 0) {
		epoll_ctl(sb->outer_fd, EPOLL_CTL_DEL, sb->epoll_fd, NULL);
		close(sb->epoll_fd);
	}
	free(sb);
}
