/* tests/live/prog/trace.h: threads that publish the span they work for, as OpenTelemetry's thread context has it (OTEP 4947), and a log of
 * when they had which.
 *
 *     PROGRAM NAME SECONDS LOG [lib=FILE] [late=SECONDS] [gap=SECONDS] [mode=spans|quiet|garbage|close|exec]
 *
 * Lines of the log: tid, from and until when (Unix time, ns), trace, span; "- -": none. Of a moment between two lines either holds: a thread may
 * lose its CPU there for long. So the last line of a thread is one without a span. "cpu IN OUT" is the CPU time in spans and out of them, of the
 * threads that only compute.
 *
 * gap: how long some changes take, each between two lines. close: ends its library in the middle of a span; exec: becomes another program in the
 * middle of a span. Both compute for SECONDS of CPU time before and after. */
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

static struct options {
	const char *name, *lib, *log, *mode, *program;
	double seconds, late, gap;
} options;

/* --- the log ----------------------------------------------------------------------------------- */

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void burn_by(clockid_t clock, int64_t ns)
{
	for (int64_t end_ns = now_ns(clock) + ns; now_ns(clock) < end_ns;)
		for (volatile int i = 0; i < 200; i++)
			;
}

static void burn(int64_t ns)
{
	burn_by(CLOCK_MONOTONIC, ns);
}

/* On a busy machine it takes longer, and as many samples see it. */
static void burn_cpu_time(int64_t ns)
{
	burn_by(CLOCK_THREAD_CPUTIME_ID, ns);
}

/* From the monotonic clock, which samples have, to Unix time. Read once, so that a step of the Unix clock does not reach the log. */
static int64_t unix_offset_ns;

static void read_offset(void)
{
	int64_t best_ns = INT64_MAX;

	for (int i = 0; i < 20; i++) {
		int64_t before_ns = now_ns(CLOCK_MONOTONIC), unix_ns = now_ns(CLOCK_REALTIME),
			took_ns = now_ns(CLOCK_MONOTONIC) - before_ns;

		if (took_ns >= best_ns)
			continue;
		best_ns = took_ns;
		unix_offset_ns = unix_ns - before_ns - took_ns / 2;
	}
}

static int64_t log_ns(void)
{
	return now_ns(CLOCK_MONOTONIC) + unix_offset_ns;
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

/* Of each so many lines the first is followed by a gap. */
enum { LINES_TO_A_GAP = 51 }; /* odd: of both kinds */

static void log_state(struct worker *w, uint32_t n, int64_t start_ns)
{
	if (w->n < MAX_INTERVALS)
		w->log[w->n++] = (struct interval){ start_ns, log_ns(), n };
	if (options.gap > 0 && w->n % LINES_TO_A_GAP == 1)
		burn(options.gap * 1e9);
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

static slot_fn *slot;

#define FENCE atomic_signal_fence(memory_order_seq_cst)

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
	int64_t start_ns = log_ns();
	spend(w, 1, w->number == 3 ? 6000000 : 3000000 + n % 7 * 500000);
	log_state(w, n, start_ns);
	*slot() = NULL;
	FENCE;
}

/* The pointer stays, and the record is written over; half written it may stay for long. */
static void in_place(struct worker *w, uint32_t n, struct record *r)
{
	int64_t start_ns = log_ns();

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
	start_ns = log_ns();
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

static atomic_int computing; /* threads that are not over */

/* At least until then, and until it has used a part of that time: on a busy machine, too, some samples see it. The one that sleeps goes on as long
 * as the others. */
static int is_over(const struct worker *w, int64_t until_ns)
{
	enum { PART = 20 };
	int64_t used_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);

	return now_ns(CLOCK_MONOTONIC) >= until_ns &&
	       (w->number == 3 ? computing == 0 : used_ns >= options.seconds * 1e9 / PART);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	int64_t until_ns = now_ns(CLOCK_MONOTONIC) + options.seconds * 1e9;
	struct record two[2] = { 0 };
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	w->tid = syscall(SYS_gettid);
	munmap(page + 4096, 4096);
	for (uint32_t n = 1; !is_over(w, until_ns); n++) {
		int64_t start_ns = log_ns();

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
	FENCE;
	log_state(w, 0, log_ns());
	computing -= w->number != 3;
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

/* Computes in a span that is not ended. */
static void begin_span(struct worker *w)
{
	static struct record r;
	int64_t start_ns;

	w->tid = syscall(SYS_gettid);
	name_span(w, 1, &r);
	r.valid = 1;
	*slot() = &r;
	FENCE;
	start_ns = log_ns();
	burn_cpu_time(options.seconds * 1e9);
	log_state(w, 1, start_ns);
}

static void compute_without(struct worker *w)
{
	int64_t start_ns = log_ns();

	w->tid = syscall(SYS_gettid);
	burn_cpu_time(options.seconds * 1e9);
	log_state(w, 0, start_ns);
}

static void close_library(struct worker *w)
{
	begin_span(w);
	if (lib)
		dlclose(lib);
	compute_without(w);
}

static void exec_another(void)
{
	char seconds[32];

	snprintf(seconds, sizeof seconds, "%g", options.seconds);
	execl(options.program, options.program, options.name, seconds, options.log, "mode=another",
	      NULL);
	exit(1);
}

/* The program after the exec adds to the log of the one before. */
static void be_another(struct worker *w)
{
	FILE *f;

	compute_without(w);
	f = fopen(options.log, "a");
	write_log(f, w);
	fclose(f);
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
		else if (strncmp(argv[i], "gap=", 4) == 0)
			options.gap = strtod(argv[i] + 4, NULL);
		else if (strncmp(argv[i], "mode=", 5) == 0)
			options.mode = argv[i] + 5;
	}
}

static void run_threads(struct worker *workers, int n)
{
	computing = n - 1;
	for (int i = 0; i < n; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	for (int i = 0; i < n; i++)
		pthread_join(workers[i].thread, NULL);
}

static void write_logs(const struct worker *workers, int n)
{
	int64_t cpu_ns[2] = { 0 };
	FILE *f = fopen(options.log, "w");

	for (int i = 0; i < n; i++) {
		write_log(f, &workers[i]);
		for (int in = 0; in < 2 && i < 3; in++)
			cpu_ns[in] += workers[i].cpu_ns[in];
	}
	fprintf(f, "cpu %lld %lld\n", (long long)cpu_ns[1], (long long)cpu_ns[0]);
	fclose(f);
}

static int run(int argc, char **argv, slot_fn *own)
{
	static struct worker workers[4];

	if (argc < 4)
		return 2;
	read_options(argc, argv);
	read_offset();
	prctl(PR_SET_NAME, options.name);
	for (int i = 0; i < 4; i++) {
		workers[i].number = i;
		workers[i].log = calloc(MAX_INTERVALS, sizeof *workers[i].log);
	}
	if (strcmp(options.mode, "another") == 0) {
		be_another(&workers[0]);
		return 0;
	}
	burn(options.late * 1e9);
	slot = own;
	if (!slot)
		open_library();
	if (strcmp(options.mode, "quiet") != 0)
		publish(message, sizeof message - 1, true);
	if (strcmp(options.mode, "close") == 0)
		close_library(&workers[0]);
	else if (strcmp(options.mode, "exec") == 0)
		begin_span(&workers[0]);
	else
		run_threads(workers, 4);
	write_logs(workers, 4);
	if (strcmp(options.mode, "exec") == 0)
		exec_another();
	return 0;
}
