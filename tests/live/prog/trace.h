/* tests/live/prog/trace.h: threads that publish the span they work for, as OpenTelemetry's thread context has it (OTEP 4947), and a log of
 * when they had which.
 *
 *     PROGRAM NAME SECONDS LOG [lib=FILE] [late=SECONDS] [mode=spans|quiet|garbage|close|exec]
 *
 * Lines of the log: tid, from and until when (Unix time, ns), trace, span; "- -": none. Of a moment between two lines either holds. "cpu IN
 * OUT" is the CPU time in spans and out of them, of the threads that only compute. */
#include "process_context.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct record {
	uint8_t trace[16], span[8], valid, flags;
	uint16_t attributes_bytes;
	uint8_t attributes[8];
};
typedef struct record *volatile *slot_fn(void);

/* --- the process context (OTEP 4719) --------------------------------------------------------- */

/* ProcessContext{1: Resource{1: {1: "service.name", 2: {1: "traced"}}}, 2: {1: "threadlocal.schema_version", 2: {1: "tlsdesc_v1_dev"}}} */
static const char message[] = "\x0a\x1a\x0a\x18\x0a\x0cservice.name\x12\x08\x0a\x06traced"
			      "\x12\x2e\x0a\x1athreadlocal.schema_version\x12\x10\x0a\x0e"
			      "tlsdesc_v1_dev";

/* --- the log ----------------------------------------------------------------------------------- */

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

struct interval {
	int64_t start_ns, end_ns;
	uint32_t n; /* of the span; 0: none */
};
enum { MAX_INTERVALS = 1 << 20 };

struct worker {
	pthread_t thread;
	int number; /* says what it does */
	int tid;
	struct interval *log;
	size_t n;
	int64_t cpu_ns[2]; /* out of spans, in them */
};

static void name_span(const struct worker *w, uint32_t n, struct record *r)
{
	memset(r->trace, 0xce, sizeof r->trace);
	memset(r->span, 0x5a, sizeof r->span);
	r->trace[1] = r->span[1] = w->number;
	r->trace[14] = n / 100 >> 8;
	r->trace[15] = n / 100;
	for (int i = 0; i < 4; i++)
		r->span[4 + i] = n >> (24 - 8 * i);
	r->flags = 1;
	r->attributes_bytes = sizeof r->attributes;
	memcpy(r->attributes, "\x00\x06/index", sizeof r->attributes);
}

static void log_state(struct worker *w, uint32_t n, int64_t start_ns)
{
	if (w->n < MAX_INTERVALS)
		w->log[w->n++] = (struct interval){ start_ns, now_ns(CLOCK_REALTIME), n };
}

static void write_log(FILE *f, const struct worker *w)
{
	struct record r;

	for (size_t i = 0; i < w->n; i++) {
		const struct interval *v = &w->log[i];

		fprintf(f, "%d %lld %lld ", w->tid, (long long)v->start_ns, (long long)v->end_ns);
		name_span(w, v->n, &r);
		for (int k = 0; k < 16 && v->n; k++)
			fprintf(f, "%02x", r.trace[k]);
		fputs(v->n ? " " : "- -", f);
		for (int k = 0; k < 8 && v->n; k++)
			fprintf(f, "%02x", r.span[k]);
		fputc('\n', f);
	}
}

/* --- the threads ------------------------------------------------------------------------------- */

static struct options {
	const char *name, *lib, *log, *mode, *program;
	double seconds, late;
} options;
static slot_fn *slot;

#define FENCE atomic_signal_fence(memory_order_seq_cst)

static void burn(int64_t ns)
{
	for (int64_t end_ns = now_ns(CLOCK_MONOTONIC) + ns; now_ns(CLOCK_MONOTONIC) < end_ns;)
		for (volatile int i = 0; i < 200; i++)
			;
}

static void spend(struct worker *w, int in_span, int64_t ns)
{
	int64_t begin_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);

	if (w->number == 3)
		nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
	else
		burn(ns);
	w->cpu_ns[in_span] += now_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
}

/* The pointer moves from one record to another. */
static void by_pointer(struct worker *w, uint32_t n, struct record *two)
{
	struct record *r = &two[n & 1];

	r->valid = 0;
	FENCE;
	name_span(w, n, r);
	FENCE;
	r->valid = 1;
	FENCE;
	*slot() = r;
	FENCE;
	int64_t start_ns = now_ns(CLOCK_REALTIME);
	spend(w, 1, w->number == 3 ? 6000000 : 3000000 + n % 7 * 500000);
	log_state(w, n, start_ns);
	*slot() = NULL;
	FENCE;
}

/* The pointer stays, and the record is written over; half written it may stay for long. */
static void in_place(struct worker *w, uint32_t n, struct record *r)
{
	int64_t start_ns = now_ns(CLOCK_REALTIME);

	*slot() = r;
	r->valid = 0;
	FENCE;
	memset(r->trace, 0xff, sizeof r->trace);
	memset(r->span, n, sizeof r->span);
	FENCE;
	spend(w, 0, w->number == 2 ? 30000 : 2000000);
	name_span(w, n, r);
	log_state(w, 0, start_ns);
	FENCE;
	r->valid = 1;
	FENCE;
	start_ns = now_ns(CLOCK_REALTIME);
	spend(w, 1, w->number == 2 ? 50000 : 4000000);
	log_state(w, n, start_ns);
	FENCE;
	r->valid = 0;
	FENCE;
}

/* What is no pointer to a record. */
static void garbage(uint32_t n, char *page)
{
	static struct record odd[3] = { [0] = { .trace = { 1 }, .span = { 1 }, .valid = 2 },
					[1] = { .trace = { 1 }, .valid = 1 },
					[2] = { .span = { 1 }, .valid = 1 } };
	const uintptr_t values[] = { 1,
				     0x1000,
				     (uintptr_t)page + 4096 - 8, /* ends with the mapping */
				     0xffff888000000000,
				     ~(uintptr_t)0,
				     0x8000000000000000,
				     (uintptr_t)&odd[0],
				     (uintptr_t)&odd[1],
				     (uintptr_t)&odd[2] };

	*slot() = (struct record *)values[n % (sizeof values / sizeof *values)];
	burn(2000000);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	int64_t until_ns = now_ns(CLOCK_MONOTONIC) + options.seconds * 1e9;
	struct record two[2] = { 0 };
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	w->tid = syscall(SYS_gettid);
	munmap(page + 4096, 4096);
	for (uint32_t n = 1; now_ns(CLOCK_MONOTONIC) < until_ns; n++) {
		int64_t start_ns = now_ns(CLOCK_REALTIME);

		if (strcmp(options.mode, "garbage") == 0) {
			garbage(n, page);
			log_state(w, 0, start_ns);
			continue;
		}
		if (w->number == 1 || w->number == 2) {
			in_place(w, n, two);
			continue;
		}
		spend(w, 0, w->number == 3 ? 4000000 : 2000000);
		log_state(w, 0, start_ns);
		by_pointer(w, n, two);
	}
	*slot() = NULL;
	return NULL;
}

/* --- what comes late, and goes ------------------------------------------------------------------- */

static void *lib;

static void open_library(void)
{
	lib = options.lib ? dlopen(options.lib, RTLD_NOW) : NULL;
	if (lib)
		slot = (slot_fn *)dlsym(lib, "trace_slot");
	if (!slot)
		exit(1);
}

/* Leaves with a span that it has not ended. */
static void leave(struct worker *w)
{
	static struct record r;
	int64_t start_ns;

	w->tid = syscall(SYS_gettid);
	name_span(w, 1, &r);
	r.valid = 1;
	*slot() = &r;
	start_ns = now_ns(CLOCK_REALTIME);
	burn(options.seconds * 1e9);
	log_state(w, 1, start_ns);
	if (strcmp(options.mode, "close") == 0)
		dlclose(lib);
}

static void after_exec(void)
{
	execl(options.program, options.program, options.name, "2", options.log, "mode=nothing",
	      NULL);
	exit(1);
}

static void read_options(int argc, char **argv)
{
	options = (struct options){ .name = argv[1],
				    .seconds = strtod(argv[2], NULL),
				    .log = argv[3],
				    .program = argv[0],
				    .mode = "spans" };
	for (int i = 4; i < argc; i++) {
		if (strncmp(argv[i], "lib=", 4) == 0)
			options.lib = argv[i] + 4;
		else if (strncmp(argv[i], "late=", 5) == 0)
			options.late = strtod(argv[i] + 5, NULL);
		else if (strncmp(argv[i], "mode=", 5) == 0)
			options.mode = argv[i] + 5;
	}
}

static int run(int argc, char **argv, slot_fn *own)
{
	static struct worker workers[4];
	int64_t cpu_ns[2] = { 0 };
	FILE *f;

	if (argc < 4)
		return 2;
	read_options(argc, argv);
	prctl(PR_SET_NAME, options.name);
	if (strcmp(options.mode, "nothing") == 0) {
		burn(options.seconds * 1e9);
		return 0;
	}
	burn(options.late * 1e9);
	slot = own;
	if (!slot)
		open_library();
	if (strcmp(options.mode, "quiet") != 0)
		publish(message, sizeof message - 1, true);
	f = fopen(options.log, "w");
	for (int i = 0; i < 4; i++) {
		workers[i].number = i;
		workers[i].log = calloc(MAX_INTERVALS, sizeof *workers[i].log);
	}
	if (strcmp(options.mode, "close") == 0 || strcmp(options.mode, "exec") == 0) {
		leave(&workers[0]);
	} else {
		for (int i = 0; i < 4; i++)
			pthread_create(&workers[i].thread, NULL, work, &workers[i]);
		for (int i = 0; i < 4; i++)
			pthread_join(workers[i].thread, NULL);
	}
	for (int i = 0; i < 4; i++) {
		write_log(f, &workers[i]);
		for (int in = 0; in < 2 && i < 3; in++)
			cpu_ns[in] += workers[i].cpu_ns[in];
	}
	fprintf(f, "cpu %lld %lld\n", (long long)cpu_ns[1], (long long)cpu_ns[0]);
	fclose(f);
	if (strcmp(options.mode, "exec") == 0)
		after_exec();
	if (strcmp(options.mode, "close") == 0)
		burn(options.seconds * 1e9);
	return 0;
}
