/* gpu_windows PID N: opens and closes N windows of a GPU program's ring, one after the other, and says what that took: a line of open p50 p99 most, close p50
 * p99 most (us), windows that did not open, records, lost. */
#include "base/clock.h"
#include "base/err.h"
#include "gpu/ring/ring_read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 100000, OPEN_MS = 5 };
#define ANSWER_NS 5000000000ull

static uint64_t records;

static void on_record(void *ctx, const union ring_any *r, const char *name)
{
	(void)ctx, (void)name;
	records += r->r.type != RING_WINDOW;
}

/* us until the library has done it; it stays open for a moment. UINT64_MAX: it has not. */
static uint64_t window(struct ring_reader *r, bool open)
{
	uint64_t from = clock_mono_ns();
	struct ring_state_now now;

	ring_window(r, open ? RING_WANT_KERNELS | RING_WANT_COPIES | RING_WANT_CALLS : 0, 0, from,
		    open ? from + 60000000000ull : 0);
	do {
		ring_now(r, &now);
		if (open ? now.state == RING_OPEN : now.generation_seen == now.generation_asked)
			return (clock_mono_ns() - from) / 1000;
		ring_poll(r, SIZE_MAX, on_record, NULL);
		ring_beat(r, clock_mono_ns());
		nanosleep(&(struct timespec){ .tv_nsec = 20000 }, NULL);
	} while (clock_mono_ns() - from < ANSWER_NS &&
		 !(open && now.generation_seen == now.generation_asked));
	return UINT64_MAX;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void say(uint64_t *us, size_t n)
{
	qsort(us, n, sizeof *us, by_value);
	printf("%lu %lu %lu ", us[n / 2], us[n * 99 / 100], us[n - 1]);
}

/* Another agent may just be leaving it. */
static int take(pid_t pid, struct ring_reader **r, struct err *err)
{
	uint64_t until = clock_mono_ns() + 4 * ANSWER_NS;
	int rc;

	while ((rc = ring_open(pid, clock_mono_ns(), r, err)) == -EBUSY && clock_mono_ns() < until)
		nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	return rc;
}

int main(int argc, char **argv)
{
	static uint64_t opened[MOST], closed[MOST];
	struct ring_state_now now;
	struct ring_reader *r;
	struct err err = { 0 };
	size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 0, failed = 0;

	if (!n || n > MOST || take(strtol(argv[1], NULL, 10), &r, &err)) {
		fprintf(stderr, "gpu_windows: %s\n", err.code ? err.text : "PID N");
		return 2;
	}
	for (size_t i = 0; i < n; i++) {
		opened[i] = window(r, true);
		nanosleep(&(struct timespec){ .tv_nsec = OPEN_MS * 1000000 }, NULL);
		ring_poll(r, SIZE_MAX, on_record, NULL);
		closed[i] = window(r, false);
		failed += opened[i] == UINT64_MAX || closed[i] == UINT64_MAX;
	}
	ring_now(r, &now);
	ring_poll(r, SIZE_MAX, on_record, NULL);
	say(opened, n);
	say(closed, n);
	printf("%zu %lu %lu\n", failed, records, now.dropped + now.cupti_dropped + now.bad_bytes);
	ring_close(r);
	return failed != 0;
}
