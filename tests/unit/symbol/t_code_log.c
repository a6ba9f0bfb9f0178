// tier: test
/* Perf maps and jitdumps that grow, are replaced, truncated and damaged while they are read, compared with a reader of everything. */
#include "base/buf.h"
#include "base/hash.h"
#include "rand.h"
#include "shell.h"
#include "symbol/code_log.h"
#include "symbol/code_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

static const char *at(struct code_log *l, int fd, uint64_t addr)
{
	static char name[CODE_LOG_MAX_NAME + 1];
	const struct code_ask ask = { addr, UINT64_MAX };
	struct code_answer a;

	ck_assert(code_log_ask(l, fd, &ask, 1, UINT64_MAX / 2, &a));
	if (a.len) /* without one, name is null */
		memcpy(name, a.name, a.len);
	name[a.len] = '\0';
	return name;
}

static void append(int fd, const char *text)
{
	ck_assert_int_eq(lseek(fd, 0, SEEK_END) < 0, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static struct code_log_stats stats_of(const struct code_log *l)
{
	struct code_log_stats s;

	code_log_get_stats(l, &s);
	return s;
}

START_TEST(grows)
{
	struct code_log *l = code_log_new(CODE_LOG_MAP);
	int fd = file_of("", 0);

	ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
	ck_assert_str_eq(at(l, fd, 0x1000), "");
	append(fd, "1000 10 one\n1010 10 tw");
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
	ck_assert_str_eq(at(l, fd, 0x1008), "one");
	ck_assert_str_eq(at(l, fd, 0x1018), ""); /* it is being written */
	append(fd, "o\n1008 4 over\n");
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
	ck_assert_str_eq(at(l, fd, 0x1018), "two");
	ck_assert_str_eq(at(l, fd, 0x1008), "over");
	ck_assert_str_eq(at(l, fd, 0x1007), "one");
	append(fd, "2000 10 last");
	ck_assert_int_eq(code_log_read(l, fd, true, NULL), 0);
	ck_assert_str_eq(at(l, fd, 0x200f), "last");
	ck_assert_uint_eq(stats_of(l).resets, 0);
	code_log_free(l);
	close(fd);
}
END_TEST

/* Only appended data is read. */
START_TEST(reads_new_entries)
{
	struct code_log *l = code_log_new(CODE_LOG_MAP);
	struct buf text = { 0 };
	for (int i = 0; i < 200000; i++)
		buf_addf(&text, "%x 40 LazyCompile:~function_number_%d file.js:%d\n",
			 0x10000000 + i * 64, i, i);
	int fd = file_of(text.data, text.len);

	ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
	ck_assert_str_eq(at(l, fd, 0x10000000 + 64 * 777),
			 "LazyCompile:~function_number_777 file.js:777");
	uint64_t before = stats_of(l).read_bytes;
	ck_assert_uint_lt(before, text.len + (512 << 10));
	for (int i = 0; i < 1000; i++) {
		append(fd, "20000000 40 again\n");
		ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
		ck_assert_str_eq(at(l, fd, 0x10000000 + 64 * 777),
				 "LazyCompile:~function_number_777 file.js:777");
	}
	ck_assert_uint_lt(stats_of(l).read_bytes - before, 1 << 20);
	ck_assert_uint_lt(stats_of(l).memory_bytes, 512 << 10);
	code_log_free(l);
	buf_done(&text);
	close(fd);
}
END_TEST

START_TEST(starts_over)
{
	struct code_log *l = code_log_new(CODE_LOG_MAP);
	int fd = file_of("1000 10 one\n2000 10 two\n", 24);

	ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
	ck_assert_str_eq(at(l, fd, 0x1000), "one");
	ck_assert_int_eq(ftruncate(fd, 0), 0); /* shorter */
	append(fd, "1000 10 cut\n");
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
	ck_assert_str_eq(at(l, fd, 0x1000), "cut");
	ck_assert_str_eq(at(l, fd, 0x2000), "");
	ck_assert_int_eq(ftruncate(fd, 0), 0); /* and longer when it is next read */
	append(fd, "1000 10 new\n3000 10 three\n");
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
	ck_assert_str_eq(at(l, fd, 0x1000), "new");
	ck_assert_str_eq(at(l, fd, 0x3000), "three");
	ck_assert_uint_eq(stats_of(l).resets, 2);
	ck_assert_uint_eq(stats_of(l).events, 2);
	ck_assert_int_eq(pwrite(fd, "1000 10 wen\n", 12, 0), 12); /* in place */
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
	ck_assert_str_eq(at(l, fd, 0x1000), "wen");
	code_log_free(l);
	close(fd);
}
END_TEST

/* Holes take no disk space: a file with holes, or of an unreasonable size, is given up at once. */
START_TEST(given_up)
{
	struct code_log *l = code_log_new(CODE_LOG_MAP);
	int fd = memfd_create("map", MFD_CLOEXEC);

	append(fd, "1000 10 one\n");
	ck_assert_int_eq(ftruncate(fd, 60ll << 30), 0);
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), -EFBIG);
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), -EFBIG);
	ck_assert_str_eq(at(l, fd, 0x1000), "");
	code_log_reset(l);
	ck_assert_int_eq(ftruncate(fd, 200 << 20), 0);
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), -EBADMSG);
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), -EBADMSG);
	ck_assert_uint_lt(stats_of(l).read_bytes, 1 << 20);
	ck_assert_int_eq(ftruncate(fd, 0), 0); /* replaced by another */
	append(fd, "1000 10 good\n");
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
	ck_assert_str_eq(at(l, fd, 0x1000), "good");
	code_log_free(l);
	close(fd);
}
END_TEST

START_TEST(a_dump_with_a_hole)
{
	static const uint32_t head[] = { 0x4a695444, 1, 40, 62, 0, 1234, 5, 0, 0, 0 };
	struct code_log *l = code_log_new(CODE_LOG_DUMP);
	int fd = memfd_create("dump", MFD_CLOEXEC);

	ck_assert_int_eq(write(fd, head, 20), 20); /* half of it */
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), -EBADMSG);
	ck_assert_int_eq(write(fd, head + 5, 20), 20);
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
	ck_assert_int_eq(ftruncate(fd, 60ll << 40), 0);
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
	ck_assert_uint_eq(stats_of(l).skipped, 1);
	ck_assert_uint_lt(stats_of(l).read_bytes, 1 << 20);
	code_log_free(l);
	close(fd);
}
END_TEST

/* --- against a reader of everything ------------------------------------------------------------------------------------ */

enum { SPACE = 4096, LOADS = 64 };

struct writer {
	struct buf bytes;
	bool is_dump;
	uint64_t time_ns, n, index_size[LOADS];
	struct {
		uint64_t time_ns, start, size, order, name;
		bool gone;
	} events[20000];
	size_t n_events;
};

static void note(struct writer *w, uint64_t time, uint64_t start, uint64_t size, uint64_t name,
		 bool gone)
{
	w->events[w->n_events].time_ns = time;
	w->events[w->n_events].start = start;
	w->events[w->n_events].size = size;
	w->events[w->n_events].name = name;
	w->events[w->n_events].order = w->n_events;
	w->events[w->n_events++].gone = gone;
}

static void put_u32(struct buf *b, uint32_t v)
{
	buf_add(b, &v, sizeof v);
}

static void put_u64(struct buf *b, uint64_t v)
{
	buf_add(b, &v, sizeof v);
}

static void write_dump_record(struct writer *w, uint32_t id, uint64_t start, uint64_t to,
			      uint64_t size, uint64_t index, uint64_t time)
{
	char name[32] = "";

	if (id == 0)
		snprintf(name, sizeof name, "f%" PRIu64, w->n);
	uint32_t len = id == 0 ? 56 + strlen(name) + 1 + size : 64;
	put_u32(&w->bytes, id);
	put_u32(&w->bytes, len);
	put_u64(&w->bytes, time);
	put_u64(&w->bytes, 0);
	put_u64(&w->bytes, start);
	put_u64(&w->bytes, id ? start : start);
	if (id)
		put_u64(&w->bytes, to);
	put_u64(&w->bytes, size);
	put_u64(&w->bytes, index);
	if (id)
		return;
	buf_add(&w->bytes, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size; i++)
		buf_addc(&w->bytes, (char)0xcc);
}

static void write_one(struct writer *w, struct rng *seed)
{
	uint64_t start = rng_next(seed) % SPACE, size = 1 + rng_next(seed) % 64;

	if (!w->is_dump) {
		buf_addf(&w->bytes, "%" PRIx64 " %" PRIx64 " f%" PRIu64 "\n", start, size, w->n);
		note(w, 0, start, size, w->n++, false);
		return;
	}
	/* Threads write nearly, but not quite, in order of time. */
	w->time_ns += 10;
	uint64_t time = w->time_ns - rng_next(seed) % 25;
	if (w->n && rng_next(seed) % 4 == 0) {
		uint64_t moved = rng_next(seed) % w->n, to = rng_next(seed) % SPACE;

		write_dump_record(w, 1, start, to, size, moved, time);
		note(w, time, start, size, 0, true);
		note(w, time, to, size, moved, false);
		return;
	}
	write_dump_record(w, 0, start, 0, size, w->n, time);
	note(w, time, start, size, w->n++, false);
}

static void expect(const struct writer *w, uint64_t addr, uint64_t time, char name[32])
{
	size_t best = SIZE_MAX;

	name[0] = '\0';
	for (size_t i = 0; i < w->n_events; i++)
		if (addr - w->events[i].start < w->events[i].size && addr >= w->events[i].start &&
		    w->events[i].time_ns <= time &&
		    (best == SIZE_MAX || w->events[i].time_ns >= w->events[best].time_ns))
			best = i;
	if (best != SIZE_MAX && !w->events[best].gone)
		snprintf(name, 32, "f%" PRIu64, w->events[best].name);
}

static void compare(struct code_log *l, int fd, const struct writer *w, struct rng *seed)
{
	enum { N = 150 };
	struct code_ask asks[N];
	struct code_answer answers[N];
	char name[32];

	for (int i = 0; i < N; i++)
		asks[i] = (struct code_ask){ rng_next(seed) % (SPACE + 64),
					     w->is_dump ? rng_next(seed) % (w->time_ns + 20)
							: UINT64_MAX };
	ck_assert(code_log_ask(l, fd, asks, N, UINT64_MAX / 2, answers));
	for (int i = 0; i < N; i++) {
		expect(w, asks[i].addr, asks[i].time_ns, name);
		ck_assert_msg(
			answers[i].len == strlen(name) &&
				(!answers[i].len || !memcmp(answers[i].name, name, answers[i].len)),
			"%" PRIx64 " at %" PRIu64 ": %.*s, not %s", asks[i].addr, asks[i].time_ns,
			(int)answers[i].len, answers[i].name, name);
	}
}

static void grow_at_random(bool is_dump, struct rng seed)
{
	static const uint32_t head[] = { 0x4a695444, 1, 40, 62, 0, 1234, 5, 0, 0, 0 };
	struct writer *w = calloc(1, sizeof *w);
	struct code_log *l = code_log_new(is_dump ? CODE_LOG_DUMP : CODE_LOG_MAP);
	int fd = file_of("", 0);
	size_t written = 0;

	w->is_dump = is_dump;
	if (is_dump)
		buf_add(&w->bytes, head, sizeof head);
	for (int round = 0; round < 40; round++) {
		for (int i = rng_next(&seed) % 200; i > 0; i--)
			write_one(w, &seed);
		/* A part of the next event may already be there: then nothing is looked up. */
		size_t part = w->bytes.len - written;
		if (part > 3) {
			size_t some = rng_next(&seed) % part;
			ck_assert_int_eq(pwrite(fd, w->bytes.data + written, some, written), some);
			written += some;
			code_log_read(l, fd, false, NULL);
		}
		ck_assert_int_eq(
			pwrite(fd, w->bytes.data + written, w->bytes.len - written, written),
			w->bytes.len - written);
		written = w->bytes.len;
		ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
		compare(l, fd, w, &seed);
		if (rng_next(&seed) % 16 == 0) { /* starts again, with other content */
			w->n_events = w->n = w->time_ns = 0;
			written = 0;
			buf_clear(&w->bytes);
			if (is_dump)
				buf_add(&w->bytes, head, sizeof head);
			ck_assert_int_eq(ftruncate(fd, 0), 0);
			code_log_read(l, fd, false, NULL);
		}
	}
	code_log_free(l);
	buf_done(&w->bytes);
	free(w);
	close(fd);
}

START_TEST(maps_at_random)
{
	for (uint64_t seed = 1; seed <= 30; seed++)
		grow_at_random(false, (struct rng){ seed });
}
END_TEST

START_TEST(dumps_at_random)
{
	for (uint64_t seed = 1; seed <= 30; seed++)
		grow_at_random(true, (struct rng){ seed });
}
END_TEST

/* Bytes changed at random in a growing file: at worst there is no answer. */
START_TEST(broken)
{
	static const uint32_t head[] = { 0x4a695444, 1, 40, 62, 0, 1234, 5, 0, 0, 0 };

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct rng r = { seed };
		struct writer *w = calloc(1, sizeof *w);
		struct code_answer answers[64];
		struct code_ask asks[64];
		w->is_dump = seed % 2;
		struct code_log *l = code_log_new(w->is_dump ? CODE_LOG_DUMP : CODE_LOG_MAP);
		int fd = file_of("", 0);

		if (w->is_dump)
			buf_add(&w->bytes, head, sizeof head);
		for (int round = 0; round < 5; round++) {
			for (int i = 0; i < 100; i++)
				write_one(w, &r);
			for (int i = rng_next(&r) % 4; i > 0; i--)
				w->bytes.data[rng_next(&r) % w->bytes.len] = rng_next(&r);
			ck_assert_int_eq(pwrite(fd, w->bytes.data, w->bytes.len, 0), w->bytes.len);
			if (rng_next(&r) % 3 == 0)
				ck_assert_int_eq(ftruncate(fd, rng_next(&r) % w->bytes.len), 0);
			code_log_read(l, fd, round == 4, NULL);
			for (int i = 0; i < 64; i++)
				asks[i] = (struct code_ask){ rng_next(&r) % SPACE,
							     rng_next(&r) % 5000 };
			code_log_ask(l, fd, asks, 64, UINT64_MAX / 2, answers);
			for (int i = 0; i < 64; i++)
				ck_assert(!answers[i].size ||
					  asks[i].addr - answers[i].start < answers[i].size);
		}
		code_log_free(l);
		buf_done(&w->bytes);
		free(w);
		close(fd);
	}
}
END_TEST

/* Ranges over everything, looked up at as many places as one request can have. */
START_TEST(no_time)
{
	struct code_log *l = code_log_new(CODE_LOG_MAP);
	struct code_ask *asks = calloc(4096, sizeof *asks);
	struct code_answer *answers = calloc(4096, sizeof *answers);
	int fd = file_of("1000 10 one\n", 12);

	for (int i = 0; i < 4096; i++)
		asks[i] = (struct code_ask){ i, UINT64_MAX };
	ck_assert_int_eq(code_log_read(l, fd, false, NULL), 0);
	asks[0].addr = 0x1008;
	ck_assert(!code_log_ask(l, fd, asks, 4096, 0, answers));
	ck_assert_uint_eq(answers[0].size, 0);
	ck_assert(code_log_ask(l, fd, asks, 4096, UINT64_MAX / 2, answers));
	ck_assert_uint_eq(answers[0].size, 0x10);
	code_log_free(l);
	free(asks);
	free(answers);
	close(fd);
}
END_TEST

UNIT_MAIN("code_log", grows, reads_new_entries, starts_over, given_up, a_dump_with_a_hole,
	  maps_at_random, dumps_at_random, broken, no_time)
