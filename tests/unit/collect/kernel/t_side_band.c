// tier: test
/* The side band: handmade records in rings at every offset, and the kernel's own about real programs. */
#include "base/err.h"
#include "base/vec.h"
#include "collect/kernel/side_band.h"
#include "rand.h"
#include "shell.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/wait.h>

/* --- a writer --------------------------------------------------------------------------------- */

static void add(struct buf *b, uint64_t v, size_t size)
{
	buf_add(b, &v, size);
}

static void add_text(struct buf *b, const char *text)
{
	static const char zero[8];
	size_t len = strlen(text) + 1;

	buf_add(b, text, len);
	buf_add(b, zero, -len & 7);
}

/* Puts header and sample_id around a body. */
static void add_record(struct buf *out, uint32_t type, uint16_t misc, const struct buf *body,
		       uint64_t time_ns, uint32_t cpu)
{
	struct perf_event_header h = { .type = type, .misc = misc, .size = 8 + body->len + 24 };

	buf_add(out, &h, sizeof h);
	buf_add(out, body->data, body->len);
	add(out, 77, 4); /* who wrote it */
	add(out, 78, 4);
	add(out, time_ns, 8);
	add(out, cpu, 4);
	add(out, 0, 4);
}

/* marked: as a kernel does by mistake while another program has requested build ids. */
static void put_mmap(struct buf *out, bool marked, const char *name, uint64_t time_ns)
{
	struct buf b = { 0 };

	add(&b, 100, 4);
	add(&b, 101, 4);
	add(&b, 0x7f0000001000, 8);
	add(&b, 0x3000, 8);
	add(&b, 0x2000, 8);
	add(&b, 8, 4);
	add(&b, 1, 4);
	add(&b, 4711, 8);
	add(&b, 99, 8);
	add(&b, 5, 4);
	add(&b, 2, 4);
	add_text(&b, name);
	add_record(out, PERF_RECORD_MMAP2, marked ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0, &b, time_ns,
		   3);
	buf_done(&b);
}

static void put_comm(struct buf *out, bool exec, const char *name, uint64_t time_ns)
{
	struct buf b = { 0 };

	add(&b, 200, 4);
	add(&b, 201, 4);
	add_text(&b, name);
	add_record(out, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, &b, time_ns, 1);
	buf_done(&b);
}

static void put_task(struct buf *out, uint32_t type, uint64_t time_ns)
{
	struct buf b = { 0 };

	add(&b, 300, 4);
	add(&b, 301, 4);
	add(&b, 302, 4);
	add(&b, 303, 4);
	add(&b, time_ns - 5, 8);
	add_record(out, type, 0, &b, time_ns, 0);
	buf_done(&b);
}

static void put_lost(struct buf *out, uint64_t lost, uint64_t time_ns)
{
	struct buf b = { 0 };

	add(&b, 12, 8);
	add(&b, lost, 8);
	add_record(out, PERF_RECORD_LOST, 0, &b, time_ns, 0);
	buf_done(&b);
}

static bool decode(const struct buf *b, struct side_record *r)
{
	return side_record_decode((const uint8_t *)b->data, b->len, r);
}

/* --- decoding --------------------------------------------------------------------------------- */

START_TEST(mappings)
{
	struct buf b = { 0 };
	struct side_record r;

	put_mmap(&b, false, "/usr/bin/a b", 1234);
	ck_assert(decode(&b, &r));
	ck_assert_int_eq(r.kind, SIDE_MMAP);
	ck_assert_uint_eq(r.time_ns, 1234);
	ck_assert_uint_eq(r.cpu, 3);
	ck_assert_uint_eq(r.pid, 100);
	ck_assert_uint_eq(r.tid, 101);
	ck_assert_uint_eq(r.start, 0x7f0000001000);
	ck_assert_uint_eq(r.len, 0x3000);
	ck_assert_uint_eq(r.pgoff, 0x2000);
	ck_assert_uint_eq(r.maj, 8);
	ck_assert_uint_eq(r.min, 1);
	ck_assert_uint_eq(r.ino, 4711);
	ck_assert_uint_eq(r.ino_generation, 99);
	ck_assert_str_eq(r.name, "/usr/bin/a b");
	buf_clear(&b);
	put_mmap(&b, true, "", 1);
	ck_assert(decode(&b, &r));
	ck_assert_uint_eq(r.ino, 4711);
	ck_assert_str_eq(r.name, "");
	buf_done(&b);
}
END_TEST

START_TEST(tasks)
{
	struct buf b = { 0 };
	struct side_record r;

	put_comm(&b, true, "worker", 9);
	ck_assert(decode(&b, &r));
	ck_assert_int_eq(r.kind, SIDE_COMM);
	ck_assert(r.exec);
	ck_assert_uint_eq(r.pid, 200);
	ck_assert_uint_eq(r.tid, 201);
	ck_assert_str_eq(r.name, "worker");
	buf_clear(&b);
	put_comm(&b, false, "x", 9);
	ck_assert(decode(&b, &r) && !r.exec);
	for (int exit = 0; exit < 2; exit++) {
		buf_clear(&b);
		put_task(&b, exit ? PERF_RECORD_EXIT : PERF_RECORD_FORK, 88);
		ck_assert(decode(&b, &r));
		ck_assert_int_eq(r.kind, exit ? SIDE_EXIT : SIDE_FORK);
		ck_assert_uint_eq(r.pid, 300);
		ck_assert_uint_eq(r.ppid, 301);
		ck_assert_uint_eq(r.tid, 302);
		ck_assert_uint_eq(r.ptid, 303);
		ck_assert_uint_eq(r.time_ns, 88);
	}
	buf_clear(&b);
	put_lost(&b, 17, 5);
	ck_assert(decode(&b, &r));
	ck_assert_int_eq(r.kind, SIDE_LOST);
	ck_assert_uint_eq(r.lost, 17);
	buf_done(&b);
}
END_TEST

/* Every record, truncated at every length, with a matching header: refused, or its fields are inside. */
START_TEST(cut_records)
{
	struct buf records[6] = { 0 };

	put_mmap(&records[0], true, "/usr/lib/libc.so.6", 1);
	put_mmap(&records[1], false, "/usr/lib/libc.so.6", 1);
	put_comm(&records[2], true, "worker", 1);
	put_task(&records[3], PERF_RECORD_FORK, 1);
	put_lost(&records[4], 1, 1);
	add_record(&records[5], PERF_RECORD_THROTTLE, 0, &records[4], 1, 1);
	for (int i = 0; i < 6; i++) {
		for (size_t len = 0; len < records[i].len; len++) {
			struct side_record r = { .pid = 4242 };
			uint8_t *copy = malloc(len + !len); /* sanitizers see its end */

			memcpy(copy, records[i].data, len);
			if (side_record_decode(copy, len, &r))
				ck_assert(!r.name || r.name + strlen(r.name) < (char *)copy + len);
			else
				ck_assert_uint_eq(r.pid, 4242); /* untouched */
			free(copy);
		}
		struct side_record r;
		ck_assert(decode(&records[i], &r) == (i < 5));
		buf_done(&records[i]);
	}
}
END_TEST

/* --- the ring --------------------------------------------------------------------------------- */

enum { RING = 4096 };

static void ring_write(uint8_t *ring, uint64_t at, const struct buf *b)
{
	for (size_t i = 0; i < b->len; i++)
		ring[(at + i) % RING] = b->data[i];
}

static void put_random(struct rng *rng, struct buf *b, uint64_t time_ns)
{
	char name[400];
	size_t len = rng_below(rng, sizeof name - 1);

	memset(name, 'a' + time_ns % 26, len);
	name[len] = '\0';
	switch (rng_below(rng, 4)) {
	case 0:
		put_mmap(b, time_ns & 1, name, time_ns);
		break;
	case 1:
		put_comm(b, time_ns & 1, name, time_ns);
		break;
	case 2:
		put_task(b, PERF_RECORD_EXIT, time_ns);
		break;
	case 3:
		put_lost(b, time_ns, time_ns);
		break;
	}
}

/* 20 000 records through a small ring, read at any moment: each comes out once, whole and in order. */
START_TEST(wraps)
{
	uint8_t *ring = calloc(1, RING);
	struct rng rng = { 42 };
	struct side_ring r = { .data = ring, .size = RING, .head = -800ull, .tail = -800ull };
	uint64_t written = 1, read = 1, wrapped = 0;

	while (read < 20000) {
		struct buf b = { 0 };
		const uint8_t *rec;
		size_t len;

		put_random(&rng, &b, written);
		if (r.head + b.len - r.tail <= RING && rng_below(&rng, 8)) {
			ring_write(ring, r.head, &b);
			r.head += b.len;
			written++;
		} else {
			while (side_ring_next(&r, &rec, &len)) {
				struct side_record s;

				wrapped += rec == (uint8_t *)r.wrapped.data;
				ck_assert(side_record_decode(rec, len, &s));
				ck_assert_uint_eq(s.time_ns, read);
				if (s.kind == SIDE_MMAP || s.kind == SIDE_COMM)
					for (const char *p = s.name; *p; p++)
						ck_assert_int_eq(*p, 'a' + read % 26);
				read++;
			}
			ck_assert_uint_eq(read, written);
			ck_assert_uint_eq(r.tail, r.head);
		}
		buf_done(&b);
	}
	ck_assert_uint_gt(wrapped, 500);
	side_ring_done(&r);
	free(ring);
}
END_TEST

START_TEST(broken_lengths)
{
	static const uint16_t sizes[] = { 0, 1, 7, 48, 65535 };

	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		uint8_t *ring = calloc(1, RING);
		struct perf_event_header h = { .type = PERF_RECORD_COMM, .size = sizes[i] };
		struct side_ring r = { .data = ring, .size = RING, .head = 40 };
		const uint8_t *rec;
		size_t len;

		memcpy(ring, &h, sizeof h);
		ck_assert(!side_ring_next(&r, &rec, &len));
		ck_assert_uint_eq(r.tail, 40);
		side_ring_done(&r);
		free(ring);
	}
	uint8_t *ring = calloc(1, RING);
	struct side_ring r = { .data = ring,
			       .size = RING,
			       .head = RING + 8 }; /* more than there is */
	const uint8_t *rec;
	size_t len;
	ck_assert(!side_ring_next(&r, &rec, &len));
	r = (struct side_ring){ .data = ring, .size = RING, .head = RING + 2, .tail = RING - 4 };
	ck_assert(!side_ring_next(&r, &rec, &len)); /* a header across the end */
	free(ring);
}
END_TEST

/* --- the kernel's ----------------------------------------------------------------------------- */

enum { RUNS = 50 };

struct kept {
	struct side_record r;
	char name[256];
};
struct log {
	VEC(struct kept) all;
	uint64_t lost;
};

static void keep(void *ctx, const struct side_record *r)
{
	struct log *log = ctx;
	struct kept k = { .r = *r };

	if (r->name)
		snprintf(k.name, sizeof k.name, "%s", r->name);
	log->lost += r->kind == SIDE_LOST ? r->lost : 0;
	vec_push(&log->all, k);
}

static struct side_band *band(int epoll_fd, uint32_t pages)
{
	struct side_band *sb = NULL;
	struct err err = { 0 };
	int rc = side_band_open(epoll_fd, 5, pages, &sb, &err);

	ck_assert_msg(rc == 0 || rc == -EPERM, "%s", err.text);
	return sb;
}

static pid_t run_program(const char *path)
{
	pid_t pid = fork();

	if (pid == 0) {
		execl(path, path, NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* The kinds of records seen of a process, as bits; exec and the file's mapping have bits of their own. */
static unsigned seen_of(const struct log *log, uint32_t pid, const char *path)
{
	unsigned seen = 0;

	for (size_t i = 0; i < log->all.n; i++) {
		const struct kept *k = &log->all.v[i];

		if (k->r.pid != pid)
			continue;
		seen |= 1u << k->r.kind;
		seen |= k->r.kind == SIDE_COMM && k->r.exec ? 1u << 8 : 0;
		seen |= k->r.kind == SIDE_MMAP && !strcmp(k->name, path) ? 1u << 9 : 0;
	}
	return seen;
}

START_TEST(programs)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct side_band *sb = band(epoll_fd, 64);
	struct log log = { 0 };
	uint64_t last_ns[64] = { 0 };
	pid_t pids[RUNS];
	char path[256];

	if (!sb)
		T_SKIP("needs CAP_PERFMON");
	ck_assert_ptr_nonnull(realpath("/bin/true", path));
	for (int i = 0; i < RUNS; i++) {
		pids[i] = run_program(path);
		if (i % 7 == 0)
			side_band_drain(sb, keep, &log);
	}
	side_band_drain(sb, keep, &log);
	ck_assert_uint_eq(log.lost, 0);
	for (int i = 0; i < RUNS; i++)
		ck_assert_uint_eq(seen_of(&log, pids[i], path),
				  1u << SIDE_FORK | 1u << SIDE_COMM | 1u << SIDE_MMAP |
					  1u << SIDE_EXIT | 1u << 8 | 1u << 9);
	for (size_t i = 0; i < log.all.n; i++) { /* in time order on each CPU */
		const struct side_record *r = &log.all.v[i].r;

		if (r->cpu >= 64)
			continue;
		ck_assert_uint_ge(r->time_ns, last_ns[r->cpu]);
		last_ns[r->cpu] = r->time_ns;
	}
	vec_done(&log.all);
	side_band_close(sb);
	close(epoll_fd);
}
END_TEST

/* The build id in the record is that of the file; without one, device and inode are. */
START_TEST(identities)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct side_band *sb = band(epoll_fd, 64);
	struct log log = { 0 };
	char path[256];

	if (!sb)
		T_SKIP("needs CAP_PERFMON");
	ck_assert_ptr_nonnull(realpath("/bin/true", path));
	uint32_t pid = run_program(path);
	side_band_drain(sb, keep, &log);
	int found = 0;
	for (size_t i = 0; i < log.all.n; i++) {
		const struct kept *k = &log.all.v[i];

		if (k->r.kind != SIDE_MMAP || k->r.pid != pid || strcmp(k->name, path))
			continue;
		found++;
		ck_assert_uint_ne(k->r.ino, 0);
	}
	ck_assert_int_eq(found, 1); /* one executable mapping */
	vec_done(&log.all);
	side_band_close(sb);
	close(epoll_fd);
}
END_TEST

/* Runs programs until the rings wake the reader. Returns how many. */
static int runs_to_wake(int epoll_fd)
{
	struct epoll_event ev = { 0 };

	for (int runs = 1; runs <= 1000; runs++) {
		run_program("/bin/true");
		if (epoll_wait(epoll_fd, &ev, 1, 0) < 1)
			continue;
		ck_assert_uint_eq(ev.data.u64, 5);
		return runs;
	}
	return 1001;
}

/* Records are read in batches: an eighth of a ring ends a wait. */
START_TEST(wakes)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct side_band *sb = band(epoll_fd, 8);
	struct epoll_event ev = { 0 };
	struct log log = { 0 };

	if (!sb)
		T_SKIP("needs CAP_PERFMON");
	ck_assert(!side_band_is_urgent(sb));
	ck_assert_int_le(runs_to_wake(epoll_fd), 1000);
	ck_assert(side_band_is_urgent(sb));
	side_band_drain(sb, keep, &log);
	ck_assert(!side_band_is_urgent(sb));
	ck_assert_uint_ge(log.all.n, 4096 / 256);
	vec_done(&log.all);
	side_band_close(sb);
	ck_assert_int_eq(epoll_wait(epoll_fd, &ev, 1, 0), 0);
	close(epoll_fd);
}
END_TEST

static pid_t fork_elsewhere(const char *path, int cpu)
{
	pid_t pid = fork();

	if (pid == 0) {
		cpu_set_t there;

		CPU_ZERO(&there);
		CPU_SET(cpu, &there);
		sched_setaffinity(0, sizeof there, &there);
		execl(path, path, NULL);
		_exit(127);
	}
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* Whatever CPUs the records of one drain come from: a program is started on each in turn. */
START_TEST(in_time_order)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct side_band *sb = band(epoll_fd, 64);
	int n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct log log = { 0 };

	if (!sb)
		T_SKIP("needs CAP_PERFMON");
	for (int i = 0; i < RUNS; i++)
		fork_elsewhere("/bin/true", i % n_cpus);
	side_band_drain(sb, keep, &log);
	ck_assert_uint_eq(log.lost, 0);
	ck_assert_uint_ge(log.all.n, RUNS * 4);
	for (size_t i = 1; i < log.all.n; i++)
		ck_assert_uint_le(log.all.v[i - 1].r.time_ns, log.all.v[i].r.time_ns);
	vec_done(&log.all);
	side_band_close(sb);
	close(epoll_fd);
}
END_TEST

/* A ring of one page without a reader overflows; the loss is reported with the next record that fits. */
START_TEST(losses)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct side_band *sb = band(epoll_fd, 1);
	struct log log = { 0 };

	if (!sb)
		T_SKIP("needs CAP_PERFMON");
	for (int i = 0; i < 100; i++)
		run_program("/bin/true");
	side_band_drain(sb, keep, &log);
	for (int i = 0; i < 1000 && !log.lost; i++) {
		run_program("/bin/true");
		side_band_drain(sb, keep, &log);
	}
	ck_assert_uint_gt(log.lost, 0);
	vec_done(&log.all);
	side_band_close(sb);
	close(epoll_fd);
}
END_TEST

/* Space that was read is free again: many times the ring's size passes through it. */
/* A look ahead finds the forks and exits of programs, and everything can still be read. */
START_TEST(looks_ahead)
{
	int epoll_fd = epoll_create1(0);
	struct side_band *sb = band(epoll_fd, 8);
	struct log ahead = { 0 }, log = { 0 };

	if (!sb)
		T_SKIP("perf_event_open is not permitted");
	pid_t pid = run_program("/bin/true");
	side_band_peek(sb, keep, &ahead);
	side_band_drain(sb, keep, &log);
	ck_assert_uint_eq(seen_of(&ahead, pid, ""), 1u << SIDE_FORK | 1u << SIDE_EXIT);
	unsigned all = seen_of(&log, pid, "");
	ck_assert_uint_eq(all & (1u << SIDE_MMAP | 1u << SIDE_FORK | 1u << SIDE_EXIT | 1u << 8),
			  1u << SIDE_MMAP | 1u << SIDE_FORK | 1u << SIDE_EXIT | 1u << 8);
	unsigned n = 0; /* each is there once, although both events of a CPU get it */
	for (size_t i = 0; i < log.all.n; i++)
		n += log.all.v[i].r.pid == (uint32_t)pid &&
		     (log.all.v[i].r.kind == SIDE_FORK || log.all.v[i].r.kind == SIDE_EXIT);
	ck_assert_uint_eq(n, 2);
	vec_clear(&ahead.all);
	side_band_peek(sb, keep, &ahead);
	ck_assert_uint_eq(seen_of(&ahead, pid, ""), 0);
	vec_done(&ahead.all);
	vec_done(&log.all);
	side_band_close(sb);
	close(epoll_fd);
}
END_TEST

START_TEST(memory_is_given_back)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct side_band *sb = band(epoll_fd, 8);
	struct log log = { 0 };

	if (!sb)
		T_SKIP("needs CAP_PERFMON");
	/* Many times what a ring holds. Others' programs may fill it in between. */
	for (int i = 0; i < 400; i++) {
		run_program("/bin/true");
		side_band_drain(sb, keep, &log);
	}
	bool is_seen = false;
	for (int i = 0; i < 400 && !is_seen; i++) {
		pid_t pid = run_program("/bin/true");
		side_band_drain(sb, keep, &log);
		is_seen = seen_of(&log, pid, "/bin/true") != 0;
	}
	ck_assert(is_seen);
	vec_done(&log.all);
	side_band_close(sb);
	close(epoll_fd);
}
END_TEST

/* Dropped records are reported as one loss; a quiet side band does not wake. */
START_TEST(skipped)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct side_band *sb = band(epoll_fd, 16);
	struct epoll_event ev;
	struct log log = { 0 };

	if (!sb)
		T_SKIP("needs CAP_PERFMON");
	ck_assert_int_le(runs_to_wake(epoll_fd), 1000);
	side_band_quiet(sb, true);
	for (int i = 0; i < 10; i++)
		run_program("/bin/true");
	ck_assert_int_eq(epoll_wait(epoll_fd, &ev, 1, 0), 0);
	side_band_skip(sb, keep, &log);
	ck_assert_uint_eq(log.all.n, 1);
	ck_assert_uint_ge(log.lost, 11 * 5); /* fork, exec, mappings, exit */
	ck_assert_uint_gt(log.all.v[0].r.time_ns, 0);
	side_band_quiet(sb, false);
	ck_assert_int_le(runs_to_wake(epoll_fd), 1000);
	uint32_t pid = run_program("/bin/true");
	side_band_drain(sb, keep, &log);
	ck_assert_uint_ne(seen_of(&log, pid, "/bin/true"), 0);
	vec_done(&log.all);
	side_band_close(sb);
	close(epoll_fd);
}
END_TEST

/* Everything is released; open CPUs stay open. */
START_TEST(opens_again)
{
	int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct side_band *sb = band(epoll_fd, 2);
	struct err err = { 0 };

	if (!sb)
		T_SKIP("needs CAP_PERFMON");
	int first = dup(0);
	for (int i = 0; i < 50; i++) {
		side_band_close(sb);
		sb = band(epoll_fd, 2);
		ck_assert_int_eq(side_band_update_cpus(sb, &err), 0);
	}
	side_band_close(sb);
	int last = dup(0);
	ck_assert_int_le(last, first + 1);
	close(first);
	close(last);
	close(epoll_fd);
}
END_TEST

UNIT_MAIN("side_band", mappings, tasks, cut_records, wraps, broken_lengths, programs, identities,
	  wakes, in_time_order, losses, skipped, looks_ahead, memory_is_given_back, opens_again)
