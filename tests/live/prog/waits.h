/* tests/live/prog/waits.h: how waits.c measures a wait, and the threads that end one after a given time. */
#ifndef CRESSET_TESTS_WAITS_H
#define CRESSET_TESTS_WAITS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096 };

struct truth {
	long count;
	int64_t total_ns, slack_ns;
	int64_t begin_ns, begin_cpu_ns; /* of the wait that goes on */
};
static int64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}
static int64_t now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}
static void begin(struct truth *t)
{
	t->begin_cpu_ns = read_clock(CLOCK_THREAD_CPUTIME_ID);
	t->begin_ns = now_ns();
}
static void end(struct truth *t)
{
	int64_t end_ns = now_ns();

	t->total_ns +=
		end_ns - t->begin_ns - (read_clock(CLOCK_THREAD_CPUTIME_ID) - t->begin_cpu_ns);
	t->count++;
}
/* Apart from what it calls, so that a preemption at a clock read is in no stack of the wait. */
#define MEASURE(t, wait) \
	do { \
		begin(t); \
		wait; \
		end(t); \
	} while (0)

static void sleep_us(int64_t us)
{
	struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	nanosleep(&t, NULL);
}
static void die(const char *what)
{
	fprintf(stderr, "waits: %s: %s\n", what, strerror(errno));
	exit(1);
}
static void set_name(const char *name)
{
	prctl(PR_SET_NAME, name);
}

/* --- a thread that does something after MS, to end a wait --- */

struct waker {
	pthread_t thread;
	int ms;
	void (*wake)(void *);
	void *arg;
	int64_t wakes_ns; /* just before */
};

static void *waker_main(void *arg)
{
	struct waker *w = arg;

	set_name("waits-waker");
	sleep_us(w->ms * 1000ll);
	w->wakes_ns = now_ns();
	w->wake(w->arg);
	return NULL;
}
static void start_waker(struct waker *w, int ms, void (*wake)(void *), void *arg)
{
	*w = (struct waker){ .ms = ms, .wake = wake, .arg = arg };
	if (pthread_create(&w->thread, NULL, waker_main, w))
		die("pthread_create");
}
static void end_waker(struct waker *w)
{
	pthread_join(w->thread, NULL);
}

/* --- page faults that somebody takes his time to serve --- */

struct slow_pages {
	int fd, ms;
	char *pages;
	size_t size_bytes;
	pthread_t filler;
	struct truth
		*truth; /* of the waits as the filler sees them: from being told to being done */
};

static void *filler_main(void *arg)
{
	static char zeroes[PAGE] __attribute__((aligned(PAGE)));
	struct slow_pages *s = arg;
	struct uffd_msg m;

	set_name("waits-filler");
	while (read(s->fd, &m, sizeof m) == sizeof m) {
		struct uffdio_copy copy = { .dst = m.arg.pagefault.address & -(uint64_t)PAGE,
					    .src = (uintptr_t)zeroes,
					    .len = PAGE };

		s->truth->begin_ns = now_ns();
		sleep_us(s->ms * 1000ll);
		s->truth->total_ns += now_ns() - s->truth->begin_ns;
		s->truth->count++;
		if (ioctl(s->fd, UFFDIO_COPY, &copy))
			break;
	}
	return NULL;
}
static int open_slow_pages(struct slow_pages *s, int count, int ms, struct truth *truth)
{
	struct uffdio_api api = { .api = UFFD_API };

	*s = (struct slow_pages){ .ms = ms, .size_bytes = (size_t)count * PAGE, .truth = truth };
	s->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (s->fd < 0)
		return -1;
	s->pages = mmap(NULL, s->size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	struct uffdio_register watched = { .range = { (uintptr_t)s->pages, s->size_bytes },
					   .mode = UFFDIO_REGISTER_MODE_MISSING };
	if (s->pages == MAP_FAILED || ioctl(s->fd, UFFDIO_API, &api) ||
	    ioctl(s->fd, UFFDIO_REGISTER, &watched) ||
	    pthread_create(&s->filler, NULL, filler_main, s))
		die("userfaultfd");
	return 0;
}
static void close_slow_pages(struct slow_pages *s)
{
	pthread_cancel(s->filler);
	pthread_join(s->filler, NULL);
	munmap(s->pages, s->size_bytes);
	close(s->fd);
}

#endif
