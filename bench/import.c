/* Inputs for bench/import.sh, always the same ones, and how fast the library reads a file.
 *
 *   import make folded|pprof|perf-script LOCATIONS STACKS SAMPLES    writes it to standard output
 *   import peak COMMAND…                                             runs it; its peak memory (RSS), bytes
 *   import read FILE ROUNDS                                          MB/s, unpacked, by CPU time of the best round (of nine in import.sh)
 *
 * The program that the inputs show has a function for every three locations, with names of 5 to 60 bytes. Each location calls
 * six others, the first of them half the time; stacks are 10 to 60 frames deep, and are sampled by a power law. */
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/pb.h"
#include "format/formats.h"
#include "format/pprof/pprof.h"
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MIN_DEPTH = 10, MAX_DEPTH = 60, CALLEES = 6, LOCATIONS_PER_FUNCTION = 3 };
enum { TEXT_START = 0x400000, LOCATION_BYTES = 24, PERIOD_NS = 10101010 };

struct made_stack {
	uint32_t depth, frames[MAX_DEPTH]; /* locations, root first */
};
struct inputs {
	uint64_t random;
	uint32_t n_locations, n_stacks, n_samples;
	struct made_stack *stacks;
	struct buf out;
};

static uint64_t hash_of(uint64_t x)
{
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	return x ^ x >> 33;
}

static uint64_t next_random(struct inputs *in)
{
	return hash_of(in->random += 0x9e3779b97f4a7c15ull);
}

/* "render_batch_for_index::commit_query_17" */
static const char *function_name(uint32_t location, char *out, size_t size)
{
	static const char *const words[] = { "read",   "write", "parse",  "hash",   "lock",  "send",
					     "buffer", "index", "render", "commit", "query", "page",
					     "batch",  "for",   "flush",  "walk" };
	uint32_t function = location / LOCATIONS_PER_FUNCTION;
	uint64_t bits = hash_of(function);
	int n_words = 1 + bits % 7;
	size_t len = 0;
	bits >>= 3;
	for (int i = 0; i < n_words; i++, bits >>= 5)
		len += snprintf(out + len, size - len, "%s%s", words[bits & 15],
				bits & 16 ? "_" : "::");
	snprintf(out + len, size - len, "%u", function);
	return out;
}

static uint32_t callee_of(struct inputs *in, uint32_t location)
{
	int which = 0;
	for (uint64_t bits = next_random(in); which < CALLEES - 1 && bits & 1; bits >>= 1)
		which++;
	return hash_of((uint64_t)location * CALLEES + which) % in->n_locations;
}

/* Locations are numbered in the order of their first use, as writers of profiles do. */
static void make_stacks(struct inputs *in)
{
	uint32_t *number = xcalloc(in->n_locations, sizeof *number), numbers = 0;
	in->stacks = xreallocarray(NULL, in->n_stacks, sizeof *in->stacks);
	for (uint32_t i = 0; i < in->n_stacks; i++) {
		struct made_stack *s = &in->stacks[i];
		uint32_t location = 0;
		s->depth = MIN_DEPTH + next_random(in) % (MAX_DEPTH - MIN_DEPTH + 1);
		for (uint32_t d = 0; d < s->depth; d++) {
			if (number[location] == 0)
				number[location] = ++numbers;
			s->frames[d] = number[location] - 1;
			location = callee_of(in, location);
		}
	}
	free(number);
}

/* Each stack once; what is left by a power law. */
static const struct made_stack *stack_of_sample(struct inputs *in, uint32_t i)
{
	if (i < in->n_stacks)
		return &in->stacks[i];
	double u = (next_random(in) % 1000000 + 1) / 1e6;
	return &in->stacks[(uint32_t)(u * u * u * (in->n_stacks - 1))];
}

static void flush_out(struct inputs *in, size_t at_least)
{
	if (in->out.len < at_least)
		return;
	if (fwrite(in->out.data, 1, in->out.len, stdout) != in->out.len)
		exit(1);
	buf_clear(&in->out);
}

/* --- folded and perf script ---
 */

static void put_folded_sample(struct inputs *in, const struct made_stack *s, uint32_t i)
{
	char name[128];
	for (uint32_t d = 0; d < s->depth; d++) {
		buf_adds(&in->out, d ? ";" : "");
		buf_adds(&in->out, function_name(s->frames[d], name, sizeof name));
	}
	buf_addf(&in->out, " %u\n", i % 97 + 1);
}

static void put_perf_sample(struct inputs *in, const struct made_stack *s, uint32_t i)
{
	char name[128];
	buf_addf(&in->out, "server %5u/%u [%03u] %5u.%06u: %8d cpu-clock:pppH: \n", 1200,
		 1200 + i % 8, i % 4, i / 10000, i % 10000 * 100, PERIOD_NS);
	for (uint32_t d = s->depth; d-- > 0;)
		buf_addf(&in->out, "\t%16x %s+0x%x (/usr/bin/server)\n",
			 TEXT_START + s->frames[d] * LOCATION_BYTES,
			 function_name(s->frames[d], name, sizeof name),
			 s->frames[d] % LOCATIONS_PER_FUNCTION * LOCATION_BYTES);
	buf_addc(&in->out, '\n');
}

static void make_text(struct inputs *in,
		      void (*put)(struct inputs *in, const struct made_stack *s, uint32_t i))
{
	for (uint32_t i = 0; i < in->n_samples; i++) {
		put(in, stack_of_sample(in, i), i);
		flush_out(in, 1 << 20);
	}
}

/* --- pprof ---
 */

enum {
	TEXT_EMPTY,
	TEXT_SAMPLES,
	TEXT_COUNT,
	TEXT_CPU,
	TEXT_NANOSECONDS,
	TEXT_BINARY,
	TEXT_SOURCE,
	TEXTS
};
static const char *const texts[TEXTS] = { "",        "samples",     "count",
					  "cpu",     "nanoseconds", "/usr/bin/server",
					  "server.c" };

static void put_value_type(struct buf *b, uint32_t field, uint32_t type, uint32_t unit)
{
	size_t mark = pb_begin(b, field);
	pb_put_u64(b, VALUE_TYPE_TYPE, type);
	pb_put_u64(b, VALUE_TYPE_UNIT, unit);
	pb_end(b, mark);
}

static void put_pprof_sample(struct inputs *in, const struct made_stack *s, uint32_t i)
{
	struct buf *b = &in->out;
	size_t sample = pb_begin(b, PROFILE_SAMPLE), list = pb_begin(b, SAMPLE_LOCATION_ID);
	for (uint32_t d = s->depth; d-- > 0;)
		pb_put_varint(b, s->frames[d] + 1);
	pb_end(b, list);
	list = pb_begin(b, SAMPLE_VALUE);
	pb_put_varint(b, i % 97 + 1);
	pb_put_varint(b, (uint64_t)(i % 97 + 1) * PERIOD_NS);
	pb_end(b, list);
	pb_end(b, sample);
}

static void put_location(struct buf *b, uint32_t i)
{
	size_t location = pb_begin(b, PROFILE_LOCATION);
	pb_put_u64(b, LOCATION_ID, i + 1);
	pb_put_u64(b, LOCATION_MAPPING_ID, 1);
	pb_put_u64(b, LOCATION_ADDRESS, TEXT_START + i * LOCATION_BYTES);
	size_t line = pb_begin(b, LOCATION_LINE);
	pb_put_u64(b, LINE_FUNCTION_ID, i / LOCATIONS_PER_FUNCTION + 1);
	pb_put_u64(b, LINE_LINE, i % 5000 + 1);
	pb_end(b, line);
	pb_end(b, location);
}

static void put_function(struct buf *b, uint32_t i)
{
	size_t function = pb_begin(b, PROFILE_FUNCTION);
	pb_put_u64(b, FUNCTION_ID, i + 1);
	pb_put_u64(b, FUNCTION_NAME, TEXTS + i);
	pb_put_u64(b, FUNCTION_SYSTEM_NAME, TEXTS + i);
	pb_put_u64(b, FUNCTION_FILENAME, TEXT_SOURCE);
	pb_end(b, function);
}

static void put_mapping(struct buf *b, uint32_t n_locations)
{
	size_t mapping = pb_begin(b, PROFILE_MAPPING);
	pb_put_u64(b, MAPPING_ID, 1);
	pb_put_u64(b, MAPPING_START, TEXT_START);
	pb_put_u64(b, MAPPING_LIMIT, TEXT_START + (n_locations + 1) * LOCATION_BYTES);
	pb_put_u64(b, MAPPING_FILENAME, TEXT_BINARY);
	pb_put_u64(b, MAPPING_FLAGS, 1);
	pb_end(b, mapping);
}

/* In the order in which Go writes. */
static void make_pprof(struct inputs *in)
{
	uint32_t n_functions = (in->n_locations - 1) / LOCATIONS_PER_FUNCTION + 1;
	struct buf *b = &in->out;
	char name[128];
	put_value_type(b, PROFILE_SAMPLE_TYPE, TEXT_SAMPLES, TEXT_COUNT);
	put_value_type(b, PROFILE_SAMPLE_TYPE, TEXT_CPU, TEXT_NANOSECONDS);
	make_text(in, put_pprof_sample);
	put_mapping(b, in->n_locations);
	for (uint32_t i = 0; i < in->n_locations; i++)
		put_location(b, i);
	for (uint32_t i = 0; i < n_functions; i++)
		put_function(b, i);
	for (uint32_t i = 0; i < TEXTS; i++)
		pb_put_bytes(b, PROFILE_STRING_TABLE, texts[i], strlen(texts[i]));
	for (uint32_t i = 0; i < n_functions; i++) {
		function_name(i * LOCATIONS_PER_FUNCTION, name, sizeof name);
		pb_put_bytes(b, PROFILE_STRING_TABLE, name, strlen(name));
	}
	put_value_type(b, PROFILE_PERIOD_TYPE, TEXT_CPU, TEXT_NANOSECONDS);
	pb_put_u64(b, PROFILE_PERIOD, PERIOD_NS);
}

/* --- reading ---
 */

static uint64_t unpacked_size(const char *path)
{
	char buf[1 << 16];
	uint64_t size = 0;
	struct input *in;
	long n;
	if (input_open(path, &in, NULL))
		exit(1);
	while ((n = input_read(in, buf, sizeof buf, NULL)) > 0)
		size += n;
	input_close(in);
	return size;
}

/* Of this process: what others do on the machine counts less. */
static uint64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static double read_seconds(const char *path)
{
	struct profile *p = profile_new();
	struct err err = { 0 };
	uint64_t start_ns = cpu_ns();
	if (format_read_file(path, NULL, profile_sink(p), &err)) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	double seconds = (cpu_ns() - start_ns) / 1e9;
	fprintf(stderr, "%s: %.3f s, %zu samples, %zu stacks, %zu frames\n", path, seconds,
		p->samples.n, p->stacks.stacks.n - 1, p->frames.frames.n);
	profile_free(p);
	return seconds;
}

static int run_read(const char *path, int rounds)
{
	double best = 1e9, size_bytes = unpacked_size(path);
	while (rounds-- > 0) {
		double seconds = read_seconds(path);
		best = seconds < best ? seconds : best;
	}
	printf("%.1f\n", size_bytes / 1e6 / best);
	return 0;
}

static int run_peak(char **command)
{
	struct rusage usage;
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execvp(command[0], command);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 1;
	printf("%lld\n", usage.ru_maxrss * 1024ll);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int run_make(char **args)
{
	struct inputs in = { .n_locations = atol(args[1]),
			     .n_stacks = atol(args[2]),
			     .n_samples = atol(args[3]) };
	make_stacks(&in);
	if (strcmp(args[0], "pprof") == 0)
		make_pprof(&in);
	else
		make_text(&in, strcmp(args[0], "folded") ? put_perf_sample : put_folded_sample);
	flush_out(&in, 0);
	buf_done(&in.out);
	free(in.stacks);
	return fflush(stdout) ? 1 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 6 && strcmp(argv[1], "make") == 0)
		return run_make(argv + 2);
	if (argc == 4 && strcmp(argv[1], "read") == 0)
		return run_read(argv[2], atol(argv[3]));
	if (argc >= 3 && strcmp(argv[1], "peak") == 0)
		return run_peak(argv + 2);
	fprintf(stderr, "usage: import make folded|pprof|perf-script LOCATIONS STACKS SAMPLES\n"
			"       import peak COMMAND...\n"
			"       import read FILE ROUNDS\n");
	return 2;
}
