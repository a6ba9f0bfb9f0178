// tier: test
/* Probes are placed by a worker process: they fire; a worker that does not respond delays no caller; its death is reported. Needs root. */
#include "collect/worker/probe_placer.h"

#include "base/clock.h"
#include "collect/worker/helper.h"
#include "unit.h"
#include "workers.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define WAIT_NS 50000000000ull

/* A function in a file of its own, mapped twice: it is called through the mapping. */
static const uint8_t code[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00, /* nop, where the probe is */
				0x90, 0xc3 };

struct bench {
	struct helper *helper;
	struct probe_placer *placer;
	int file, map, programs[PROBE_SIDES];
	void (*function)(void);
};

static int program_that_counts(int map, uint32_t expected_attach_type)
{
	const struct bpf_insn insns[] = {
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = 1,
		  .src_reg = BPF_PSEUDO_MAP_VALUE,
		  .imm = map },
		{ 0 },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 2, .imm = 1 },
		{ .code = BPF_STX | BPF_DW | BPF_ATOMIC,
		  .dst_reg = 1,
		  .src_reg = 2,
		  .imm = BPF_ADD },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)expected_attach_type);

	return bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", insns, sizeof insns / sizeof *insns,
			     &opts);
}

/* Returns false where the kernel does not allow it. */
static bool begin(struct bench *b, bool is_multi)
{
	char path[] = "/tmp/cresset-probed-XXXXXX";

	if (geteuid() != 0 || (is_multi && !probe_link_has_multi()))
		return false;
	b->file = mkstemp(path);
	ck_assert_int_ge(b->file, 0);
	unlink(path);
	ck_assert_int_eq(fchmod(b->file, 0755), 0);
	ck_assert_int_eq(ftruncate(b->file, 4096), 0);
	ck_assert_int_eq(pwrite(b->file, code, sizeof code, 0), sizeof code);
	void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, b->file, 0);
	ck_assert_ptr_ne(at, MAP_FAILED);
	memcpy(&b->function, &at, sizeof at);
	b->map = bpf_map_create(BPF_MAP_TYPE_ARRAY, "calls", 4, 8, 1, NULL);
	for (int side = 0; side < PROBE_SIDES && b->map >= 0; side++)
		b->programs[side] = program_that_counts(b->map, is_multi ? ATTACH_UPROBE_MULTI : 0);
	if (b->map < 0 || b->programs[0] < 0)
		return false;
	ck_assert_int_eq(helper_new(&b->helper), 0);
	b->placer = probe_placer_new(b->helper);
	return true;
}

static void end(struct bench *b)
{
	probe_placer_free(b->placer);
	helper_free(b->helper);
}

/* n: probes at entry, and as many at return. */
static uint32_t place_some(struct bench *b, bool is_multi, uint64_t offset, uint32_t n)
{
	const struct probe_place at = { .offset = offset };
	const struct probe_wish wish = { .file = b->file,
					 .entry_program = b->programs[PROBE_AT_ENTRY],
					 .return_program = b->programs[PROBE_AT_RETURN],
					 .is_multi = is_multi,
					 .entries = &at,
					 .returns = &at,
					 .n_entries = n,
					 .n_returns = n };
	uint32_t serial = 0;

	ck_assert_int_eq(probe_placer_place(b->placer, &wish, &serial), 0);
	ck_assert_uint_ne(serial, 0);
	return serial;
}

static uint32_t place(struct bench *b, bool is_multi, uint64_t offset)
{
	return place_some(b, is_multi, offset, 1);
}

static struct probe_done await(struct bench *b)
{
	struct probe_done done = { 0 };

	probe_placer_wait(b->placer, WAIT_NS);
	ck_assert(probe_placer_take(b->placer, &done));
	return done;
}

/* Returns how many probes a call of the function hits. */
static uint64_t hits(struct bench *b)
{
	uint64_t before, after;
	uint32_t key = 0;

	ck_assert_int_eq(bpf_map_lookup_elem(b->map, &key, &before), 0);
	b->function();
	ck_assert_int_eq(bpf_map_lookup_elem(b->map, &key, &after), 0);
	return after - before;
}

static pid_t nursery(void)
{
	return await_child(getpid(), "cresset-nursery");
}

static pid_t worker(void)
{
	return await_child(nursery(), "cresset-probe");
}

/* At entry and return, until they are detached. The response for an impossible place is an error, and no probe is left. */
static void place_and_detach(bool is_multi)
{
	struct bench b;

	if (!begin(&b, is_multi))
		T_SKIP("no such probes for this user, or in this kernel");
	ck_assert_uint_eq(hits(&b), 0);
	uint32_t serial = place(&b, is_multi, 0);
	struct probe_done done = await(&b);
	ck_assert_uint_eq(done.serial, serial);
	ck_assert_int_eq(done.rc, 0);
	ck_assert_uint_gt(done.took_ns, 0);
	ck_assert_uint_eq(hits(&b), 2);
	place(&b, is_multi, 1 << 20);
	ck_assert_int_lt(await(&b).rc, 0);
	ck_assert_uint_eq(hits(&b), 2);
	ck_assert(probe_placer_detach(b.placer, WAIT_NS));
	ck_assert_uint_eq(hits(&b), 0);
	ck_assert(!probe_placer_take_lost(b.placer));
	end(&b);
}

START_TEST(probes_are_placed_at_once)
{
	place_and_detach(true);
}
END_TEST

START_TEST(probes_are_placed_one_by_one)
{
	place_and_detach(false);
}
END_TEST

/* Requests to a stopped worker return immediately, and the responses are in order once it runs again. Only one request in PROBES_EVERY
 * places probes: removing one takes the kernel 0.03 s or more. */
enum { REQUESTS = 200, PROBES_EVERY = 50 };
START_TEST(nobody_waits_for_a_worker)
{
	struct bench b;
	struct probe_done done;

	if (!begin(&b, false))
		T_SKIP("no probes for this user");
	place(&b, false, 0);
	await(&b);
	pid_t pid = worker();
	stop_child(pid, nursery(), "cresset-probe");
	uint32_t serial[REQUESTS];
	for (size_t i = 0; i < REQUESTS; i++)
		serial[i] = place_some(&b, false, 0, i % PROBES_EVERY == 0);
	ck_assert(!probe_placer_take(b.placer, &done));
	ck_assert(!probe_placer_take_lost(b.placer));
	probe_placer_wait(b.placer, 1);
	ck_assert_uint_gt(probe_placer_waits_ns(b.placer), 0);
	ck_assert_int_eq(kill(pid, SIGCONT), 0);
	for (size_t i = 0; i < REQUESTS; i++) {
		done = await(&b);
		ck_assert_uint_eq(done.serial, serial[i]);
		ck_assert_int_eq(done.rc, 0);
	}
	ck_assert_uint_eq(probe_placer_waits_ns(b.placer), 0);
	ck_assert_uint_eq(hits(&b), 2 + 2 * REQUESTS / PROBES_EVERY);
	stop_child(pid, nursery(), "cresset-probe");
	ck_assert(!probe_placer_detach(b.placer, 1));
	end(&b); /* kills the worker although it is stopped; its probes go with it */
	for (int i = 0; i < WORKERS_TRIES && hits(&b); i++)
		poll(NULL, 0, WORKERS_PAUSE_MS);
	ck_assert_uint_eq(hits(&b), 0);
}
END_TEST

/* Its probes are gone with it. That is reported once, and later requests go to a new worker. */
START_TEST(a_death_is_told)
{
	struct bench b;
	struct probe_done done;
	struct helper_stats stats;

	if (!begin(&b, false))
		T_SKIP("no probes for this user");
	place(&b, false, 0);
	await(&b);
	pid_t pid = worker();
	ck_assert_int_eq(kill(pid, SIGKILL), 0);
	bool is_lost = false;
	for (int i = 0; i < WORKERS_TRIES && !is_lost; i++) {
		ck_assert(!probe_placer_take(b.placer, &done));
		is_lost = probe_placer_take_lost(b.placer);
		poll(NULL, 0, is_lost ? 0 : WORKERS_PAUSE_MS);
	}
	ck_assert(is_lost);
	ck_assert(!probe_placer_take_lost(b.placer));
	helper_get_stats(b.helper, &stats);
	ck_assert_uint_eq(stats.ends[HELPER_PROBE][HELPER_DIED], 1);
	place(&b, false, 0);
	ck_assert_int_eq(await(&b).rc, 0);
	ck_assert_uint_eq(hits(&b), 2);
	end(&b);
}
END_TEST

/* Old deaths do not count: a worker may be killed again and again over the months. */
START_TEST(deaths_count_for_a_time)
{
	struct probe_deaths d = { 0 };
	uint64_t ns = 1;

	for (int i = 0; i < 10; i++, ns += PROBE_DEATHS_NS / 2) {
		ck_assert(probe_deaths_may_start(&d, ns));
		probe_deaths_add(&d, ns);
	}
	for (int i = 0; i < PROBE_MAX_DEATHS; i++)
		probe_deaths_add(&d, ns + (uint64_t)i);
	ck_assert(!probe_deaths_may_start(&d, ns + PROBE_DEATHS_NS - 1));
	ck_assert(probe_deaths_may_start(&d, ns + PROBE_DEATHS_NS));
}
END_TEST

UNIT_MAIN("probe_placer", deaths_count_for_a_time, probes_are_placed_at_once,
	  probes_are_placed_one_by_one, nobody_waits_for_a_worker, a_death_is_told)
