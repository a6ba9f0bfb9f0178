/* What one record of GPU work costs the thread that writes it (src/gpu/ring/ring_write.h): the kernel's name looked up,
 * the record written, with one writer and with eight, a reader beside them. Prints rows of the table. The time is the
 * threads' own (CPU time), so that more threads than CPUs count for what they do. Beside it the shape that it
 * replaced: all writers in one lane, one after another. */
#include "base/clock.h"
#include "gpu/ring/ring_read.h"
#include "gpu/ring/ring_write.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RECORDS = 400000, BATCH = 500, WRITERS = 8, ROUNDS = 9 };

struct bench {
	char *ring;
	struct ring_names names;
	int kind;   /* of record */
	bool apart; /* a lane for each */
};
struct writer {
	struct bench *b;
	double ns;
	uint64_t dropped;
};

static bool write_one(struct bench *b, struct ring_lane *lane, bool shared, uint32_t i)
{
	if (b->kind == RING_CALL) {
		struct ring_call c = { .r = { .type = RING_CALL, .correlation = i },
				       .tid = 1,
				       .cbid = 307 };

		return ring_write(b->ring, lane, shared, &c.r, sizeof c);
	}
	struct ring_kernel k = {
		.r = { .type = RING_KERNEL, .correlation = i },
		.end_ns = i,
		.name = ring_name(&b->names,
				  "void cutlass_80_tensorop_s16816gemm_bf16_128x128_ldg8_f2f"),
		.grid = { i, 1, 1 }
	};

	return ring_write(b->ring, lane, shared, &k.r, sizeof k);
}

static void *work(void *arg)
{
	struct writer *w = arg;
	bool shared;
	struct ring_lane *lane = ring_lane_take(w->b->ring, RING_LANE_BUFFER, gettid(), &shared);

	if (!w->b->apart) {
		lane = (struct ring_lane *)(w->b->ring + RING_LANES_AT) + WRITERS;
		shared = true;
	}
	uint64_t spent = 0;

	for (uint32_t i = 0; i < RECORDS; i += BATCH) {
		uint64_t from = clock_thread_ns();

		for (uint32_t k = 0; k < BATCH; k++)
			w->dropped += !write_one(w->b, lane, shared, i + k);
		spent += clock_thread_ns() - from;
		while (__atomic_load_n(&lane->head, __ATOMIC_RELAXED) -
			       __atomic_load_n(&lane->tail, __ATOMIC_RELAXED) >
		       lane->size / 2)
			usleep(100); /* what is measured is writing, not being full */
	}
	w->ns = (double)spent / RECORDS;
	return NULL;
}

static void nothing(void *ctx, const union ring_any *r, const char *name)
{
	(void)r, (void)name;
	++*(uint64_t *)ctx;
}

static int by_ns(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The mean of the writers. */
static double round_of(struct bench *b, struct ring_reader *r, int writers)
{
	struct writer w[WRITERS] = { 0 };
	pthread_t threads[WRITERS];
	uint64_t n = 0;
	double sum = 0;

	for (int i = 0; i < writers; i++) {
		w[i].b = b;
		pthread_create(&threads[i], NULL, work, &w[i]);
	}
	for (int i = 0; i < writers; i++) {
		while (pthread_tryjoin_np(threads[i], NULL)) {
			ring_poll(r, SIZE_MAX, nothing, &n);
			usleep(200);
		}
		sum += w[i].ns;
	}
	return sum / writers;
}

static double measure(int kind, int writers, bool apart)
{
	static const struct ring_shape shape = { .buffer_lanes = WRITERS + 1,
						 .buffer_size = 1 << 20,
						 .names_size = 65536 };
	struct bench b = { .kind = kind, .apart = apart, .names = { .n_slots = 1024 } };
	int fd = memfd_create(RING_NAME, MFD_ALLOW_SEALING | MFD_CLOEXEC);
	struct ring_reader *r;
	double ns[ROUNDS];

	if (ftruncate(fd, ring_size(&shape)) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		exit(1);
	b.ring = mmap(NULL, ring_size(&shape), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		      fd, 0);
	ring_lay_out(b.ring, &shape, getpid());
	((struct ring_control *)b.ring)->magic = RING_MAGIC;
	b.names.ring = b.ring;
	b.names.slots = calloc(b.names.n_slots, sizeof *b.names.slots);
	if (ring_open_fd(fd, 0, clock_mono_ns(), &r, NULL))
		exit(1);
	for (int i = 0; i < ROUNDS; i++)
		ns[i] = round_of(&b, r, writers);
	ring_close(r);
	close(fd);
	free(b.names.slots);
	munmap(b.ring, ring_size(&shape));
	qsort(ns, ROUNDS, sizeof *ns, by_ns);
	return ns[ROUNDS / 2];
}

int main(void)
{
	double one = measure(RING_KERNEL, 1, true), eight = measure(RING_KERNEL, WRITERS, true);
	double one_call = measure(RING_CALL, 1, true),
	       eight_calls = measure(RING_CALL, WRITERS, true);
	double shared = measure(RING_KERNEL, WRITERS, false);

	printf("| a GPU kernel's record, one writer: CPU time, the name looked up (median of %d) "
	       "| ≤ 50 ns | %.1f ns (a "
	       "launch's: %.1f ns) | %s |\n",
	       ROUNDS, one, one_call, one <= 50 ? "yes" : "no");
	printf("| … with %d writers | ≤ 250 ns | %.1f ns (a launch's: %.1f ns; all writers "
	       "in one lane: %.1f ns) | %s |\n",
	       WRITERS, eight, eight_calls, shared, eight <= 250 ? "yes" : "no");
	printf("| … its bytes | ≤ 80 | %zu (a launch's: %zu) | %s |\n", sizeof(struct ring_kernel),
	       sizeof(struct ring_call), sizeof(struct ring_kernel) <= 80 ? "yes" : "no");
	return 0;
}
