// tier: test
/* Where kernels stall, from the library inside a GPU program to the reader of its ring: samples equal the script, for contexts that come and go; and
 * every reason for missing stalls, which affects nothing else. */
#include "map_files.h"
#include "unit.h"

#include "base/err.h"
#include "gpu/ring/ring_look.h"
#include "gpu_program.h"

#define DEVICES "device 0 name \"First\"\ndevice 1 name \"Second\"\nwait none\n"
#define MODULE  "tests/golden/gpu/lines.sm_90.cubin"
#define KERNELS \
	"kernel _Z5saxpyPfPKffi ns 1500\nkernel softmax ns 400\nmodule " MODULE \
	" _Z5saxpyPfPKffi\nkernel idle ns 20\n"
#define STALLS \
	"stall _Z5saxpyPfPKffi 0x1a0 long_scoreboard 7 3\n" \
	"stall _Z5saxpyPfPKffi 0x1a0 wait 2\n" \
	"stall _Z5saxpyPfPKffi 0x30 selected 1\n" \
	"stall softmax 0xfff0 barrier 5 5\n"
#define WANT (RING_WANT_KERNELS | RING_WANT_CALLS | RING_WANT_STALLS)

enum { REASONS_MAX = 64, ROWS_MAX = 64, MODULES_MAX = 4 };
struct row {
	char function[RING_NAME_BYTES + 1];
	uint64_t offset, crc, samples;
	uint32_t reason;
};
struct sampled {
	struct gpu_program p;
	char reasons[REASONS_MAX][160]; /* by number; two contexts agree */
	struct row rows[ROWS_MAX];
	size_t n_rows;
	struct ring_stall_config config[8];
	size_t n_configs;
	struct ring_module modules[MODULES_MAX];
	size_t n_modules;
	uint64_t records, sum;
	bool sums_only;
};

static void on_stall(struct sampled *s, const struct ring_stall *r, const char *function)
{
	struct row *row = s->rows;

	while (row < s->rows + s->n_rows && (strcmp(row->function, function) ||
					     row->offset != r->offset || row->reason != r->reason))
		row++;
	ck_assert_ptr_ne(row, s->rows + ROWS_MAX);
	if (row == s->rows + s->n_rows) {
		s->n_rows++;
		*row = (struct row){ .offset = r->offset, .crc = r->crc, .reason = r->reason };
		snprintf(row->function, sizeof row->function, "%s", function);
	}
	ck_assert_uint_lt(r->reason, REASONS_MAX * 4);
	ck_assert_uint_eq(r->r.correlation, 0);
	row->samples += r->samples;
}

/* Reasons are announced before their numbers are used. */
static const char *reason_name(const struct sampled *s, uint32_t number)
{
	for (size_t i = 0; i < REASONS_MAX; i++)
		if (*s->reasons[i] && strtoul(s->reasons[i], NULL, 10) == number)
			return strchr(s->reasons[i], ' ') + 1;
	ck_abort_msg("reason %u has no name", number);
	return NULL;
}

static void on_name(struct sampled *s, uint32_t number, const char *name)
{
	for (size_t i = 0; i < REASONS_MAX; i++)
		if (!*s->reasons[i] || strtoul(s->reasons[i], NULL, 10) == number) {
			snprintf(s->reasons[i], sizeof s->reasons[i], "%u %.120s", number, name);
			return;
		}
	ck_abort_msg("too many reasons");
}

static void on_record(void *ctx, const union ring_any *r, const char *name)
{
	struct sampled *s = ctx;

	s->records += r->r.type == RING_STALL;
	s->sum += r->r.type == RING_STALL ? r->stall.samples : 0;
	if (s->sums_only)
		return;
	if (r->r.type == RING_STALL)
		on_stall(s, &r->stall, name);
	else if (r->r.type == RING_STALL_NAME)
		on_name(s, r->r.correlation, name);
	else if (r->r.type == RING_STALL_CONFIG && s->n_configs < 8)
		s->config[s->n_configs++] = r->stall_config;
	else if (r->r.type == RING_MODULE && s->n_modules < MODULES_MAX)
		s->modules[s->n_modules++] = r->module;
}

static void start(struct sampled *s, const char *scenario)
{
	s->p.also = on_record;
	s->p.also_ctx = s;
	program_start(&s->p, scenario, NULL);
}

/* Each context has launched, and is sampled. */
static void warm(struct sampled *s)
{
	fputs("warm\n", s->p.to);
	program_expect(&s->p, "warm");
	for (int i = 0; program_state(&s->p).contexts < 2; i++) {
		ring_beat(s->p.ring, clock_mono_ns());
		ck_assert_int_lt(i, PROGRAM_WAIT_MS);
		program_pause();
	}
}

static uint64_t samples_of(const struct sampled *s, const char *function, uint64_t offset,
			   const char *reason, bool not_issued)
{
	char want[160];
	uint64_t n = 0;

	snprintf(want, sizeof want, "smsp__pcsamp_warps_issue_stalled_%s%s", reason,
		 not_issued ? "_not_issued" : "");
	for (size_t i = 0; i < s->n_rows; i++)
		if (!strcmp(s->rows[i].function, function) && s->rows[i].offset == offset &&
		    !strcmp(reason_name(s, s->rows[i].reason), want))
			n += s->rows[i].samples;
	return n;
}

static uint64_t all_samples(const struct sampled *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->n_rows; i++)
		n += s->rows[i].samples;
	return n;
}

/* The answers come from the scenario's text alone. times: number of plays. */
static void check(const struct sampled *s, uint64_t times)
{
	char command[256], function[256], reason[128];
	unsigned long offset, samples, not_issued;
	uint64_t total = 0;

	snprintf(command, sizeof command, "python3 tests/unit/gpu_answers.py %s stalls",
		 s->p.script);
	FILE *f = popen(command, "r");

	while (f && fscanf(f, "%255s %lu %127s %lu %lu", function, &offset, reason, &samples,
			   &not_issued) == 5) {
		ck_assert_uint_eq(samples_of(s, function, offset, reason, false), times * samples);
		ck_assert_uint_eq(samples_of(s, function, offset, reason, true),
				  times * not_issued);
		total += samples + not_issued;
	}
	ck_assert_int_eq(pclose(f), 0);
	ck_assert_uint_gt(total, 0);
	ck_assert_uint_eq(all_samples(s), times * total);
}

/* Everything of two windows, from contexts that existed before; nothing between them. */
START_TEST(windows)
{
	struct sampled s = { 0 };

	start(&s, DEVICES KERNELS STALLS "stalls period 13\nstalls other 4\nplay threads 4\nplay "
					 "launches 3000\nplay pace 200\n");
	for (int round = 1; round <= 2; round++) {
		struct ring_state_now now = program_open(&s.p, WANT);

		ck_assert_int_eq(now.state, RING_OPEN);
		ck_assert(now.knows_stalls);
		warm(&s);
		program_play(&s.p, true);
		now = program_close(&s.p);
		ck_assert_int_eq(now.state, RING_PARKED);
		ck_assert_int_eq(now.stall_part, RING_PART_NONE);
		ck_assert_uint_eq(now.dropped + now.stall_dropped + now.bad_bytes, 0);
		ck_assert_uint_gt(now.stall_other, 0);
		ck_assert_uint_eq(now.contexts, 0);
		check(&s, round);
		program_play(&s.p, true);
		check(&s, round);
	}
	ck_assert_uint_eq(s.n_configs, 4);
	for (uint32_t i = 0; i < 4; i++) {
		ck_assert_uint_eq(s.config[i].period, 13);
		ck_assert_uint_eq(s.config[i].mode, 1);
		ck_assert_uint_eq(s.config[i].multiprocessors, 132);
		ck_assert_uint_eq(s.config[i].model, 90);
		ck_assert_uint_eq(s.config[i].clock_khz, 1980000);
		ck_assert_uint_eq(s.config[i].reasons, 40);
		ck_assert_uint_ne(s.config[i].context, s.config[i ^ 1].context);
		ck_assert_uint_ne(s.config[i].device, s.config[i ^ 1].device);
	}
	program_end(&s.p);
}
END_TEST

/* A context created in the window is sampled from its first kernel to its last, even if it is gone by then. */
START_TEST(context_comes_and_goes)
{
	struct sampled s = { 0 };

	start(&s, DEVICES KERNELS STALLS "play threads 1\nplay launches 10\n");
	program_open(&s.p, WANT);
	for (int i = 1; i <= 40; i++) { /* more than exist at once */
		fputs("fresh\n", s.p.to);
		program_expect(&s.p, "fresh");
		ring_beat(s.p.ring, clock_mono_ns());
		ring_poll(s.p.ring, SIZE_MAX, program_record, &s.p);
		ck_assert_uint_eq(samples_of(&s, "softmax", 0xfff0, "barrier", false),
				  5 * (uint64_t)i);
	}
	ck_assert_uint_eq(all_samples(&s), 40 * (7 + 3 + 2 + 1 + 5 + 5));
	ck_assert_uint_eq(program_close(&s.p).contexts, 0);
	program_end(&s.p);
}
END_TEST

/* Until so many have come or are counted as dropped. Samples of the next round at the same places would be added to those not handed over yet. */
static void await_records(struct sampled *s, uint64_t n)
{
	for (int i = 0; s->records + program_state(&s->p).dropped < n; i++) {
		ck_assert_int_lt(i, PROGRAM_WAIT_MS);
		ring_beat(s->p.ring, clock_mono_ns());
		ring_poll(s->p.ring, SIZE_MAX, program_record, &s->p);
		program_pause();
	}
}

/* More places than are handed over at a time, and more than the ring holds. The library waits for its reader, but not for long: if the reader had no
 * CPU meanwhile, losses are counted. */
START_TEST(many_places)
{
	enum { ROUNDS = 20, PLACES = 2 * 3900, RECORDS = 11, SAMPLES = 24, MOST = 9 /* in one */ };
	struct sampled s = { .sums_only = true };
	struct ring_state_now now;

	start(&s, DEVICES "kernel many ns 10\nplay threads 2\nplay launches 1\nstalls spread 3900\n"
			  "stall many 0x10 wait 5 2\nstall many 0x10 selected 1\n"
			  "stall many 0x10 barrier 9 1\nstall many 0x10 membar 1 1\n"
			  "stall many 0x10 gmma 1 1\nstall many 0x10 misc 1 1\n");
	program_open(&s.p, WANT);
	warm(&s);
	for (int i = 0; i < ROUNDS; i++) {
		program_play(&s.p, true);
		await_records(&s, (uint64_t)(i + 1) * PLACES * RECORDS);
	}
	warm(&s);
	now = program_close(&s.p);
	uint64_t lost = (uint64_t)ROUNDS * PLACES * RECORDS - s.records;

	ck_assert_uint_le(lost, now.dropped);
	ck_assert_uint_le(s.sum, (uint64_t)ROUNDS * PLACES * SAMPLES - lost);
	ck_assert_uint_ge(s.sum + MOST * lost, (uint64_t)ROUNDS * PLACES * SAMPLES);
	program_end(&s.p);
}
END_TEST

/* Threads that begin to launch in the same contexts at the same time: each context is enabled once. */
START_TEST(concurrent_samples)
{
	struct sampled s = { 0 };

	start(&s, DEVICES KERNELS STALLS "play threads 16\nplay launches 3000\nplay pace 3000\n");
	for (int i = 0; i < 10; i++) {
		program_open(&s.p, WANT);
		program_play(&s.p, true);
		struct ring_state_now now = program_close(&s.p);

		ck_assert_int_eq(now.stall_part, RING_PART_NONE);
		ck_assert_uint_eq(now.contexts, 0);
	}
	ck_assert_uint_gt(all_samples(&s), 0);
	program_end(&s.p);
}
END_TEST

/* Its bytes are those loaded, even after the program has freed them; the next window has them, too. */
START_TEST(module)
{
	struct sampled s = { 0 };
	static uint8_t want[1 << 20], got[CUBINS_SIZE];

	start(&s, DEVICES KERNELS STALLS "play threads 1\nplay launches 40\n");
	program_open(&s.p, WANT);
	warm(&s);
	program_play(&s.p, true);
	program_close(&s.p);
	ck_assert_uint_eq(s.n_modules, 1);
	FILE *f = fopen(MODULE, "re");
	size_t n = fread(want, 1, sizeof want, f);

	fclose(f);
	ck_assert_uint_eq(s.modules[0].size, n);
	ck_assert(ring_module_copy(s.p.ring, &s.modules[0], got));
	ck_assert_mem_eq(got, want, n);
	for (size_t i = 0; i < s.n_rows; i++)
		ck_assert_int_eq(s.rows[i].crc == s.modules[0].crc,
				 !strcmp(s.rows[i].function, "_Z5saxpyPfPKffi"));
	program_open(&s.p, WANT);
	program_close(&s.p);
	ck_assert_uint_eq(s.n_modules, 2);
	ck_assert_mem_eq(&s.modules[0], &s.modules[1], sizeof s.modules[0]);
	/* Impossible entries are not read. */
	const struct ring_module lies[] = {
		{ .at = 0, .size = 16 },
		{ .at = CUBINS_SIZE, .size = 1 },
		{ .at = CUBINS_AT, .size = CUBINS_SIZE },
		{ .at = CUBINS_AT, .size = UINT64_MAX - CUBINS_AT },
		{ .at = UINT64_MAX - 15, .size = 32 },
		{ .at = CUBINS_AT, .size = 0 },
	};
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
		ck_assert_msg(!ring_module_copy(s.p.ring, &lies[i], got), "%zu", i);
	program_end(&s.p);
}
END_TEST

/* Samples that come only when sampling of a context or the program ends. */
START_TEST(late)
{
	struct sampled s = { 0 };
	int status;

	start(&s, DEVICES KERNELS STALLS "stalls late\nplay threads 2\nplay launches 600\n");
	program_open(&s.p, WANT);
	warm(&s);
	program_play(&s.p, true);
	ck_assert_uint_eq(s.records, 0);
	program_close(&s.p);
	check(&s, 1);
	program_open(&s.p, WANT);
	warm(&s);
	program_play(&s.p, true);
	fclose(s.p.to);
	waitpid(s.p.pid, &status, 0);
	ck_assert_int_eq(status, 0);
	ring_poll(s.p.ring, SIZE_MAX, program_record, &s.p);
	check(&s, 2);
	ring_close(s.p.ring);
	fclose(s.p.from);
	unlink(s.p.script);
}
END_TEST

/* More places than CUPTI's buffer has space for when sampling ends. */
START_TEST(late_and_many)
{
	enum { PLACES = 2 * 3900, RECORDS = 11 };
	struct sampled s = { .sums_only = true };

	start(&s, DEVICES "kernel many ns 10\nplay threads 2\nplay launches 1\nstalls spread 3900\n"
			  "stalls late\nstall many 0x10 wait 5 2\nstall many 0x10 selected 1\n"
			  "stall many 0x10 barrier 9 1\nstall many 0x10 membar 1 1\n"
			  "stall many 0x10 gmma 1 1\nstall many 0x10 misc 1 1\n");
	program_open(&s.p, WANT);
	warm(&s);
	program_play(&s.p, true);
	struct ring_state_now now = program_close(&s.p);
	uint64_t places = s.records / RECORDS;

	ck_assert_uint_eq(s.records % RECORDS, 0);
	ck_assert_uint_gt(places, 0);
	ck_assert_uint_lt(places, PLACES);
	ck_assert_uint_eq(now.stall_dropped, PLACES - places);
	program_end(&s.p);
}
END_TEST

/* Samples dropped by the device are counted: received and lost samples add up to all. */
START_TEST(dropped)
{
	struct sampled s = { 0 };

	start(&s, DEVICES "kernel softmax ns 400\nstall softmax 0x10 wait 5\nstalls drop 3\n"
			  "play threads 2\nplay launches 500\n");
	program_open(&s.p, WANT);
	warm(&s);
	program_play(&s.p, true);
	struct ring_state_now now = program_close(&s.p);

	ck_assert_uint_gt(now.stall_dropped, 1500);
	ck_assert_uint_eq(all_samples(&s) + now.stall_dropped, 5000);
	program_end(&s.p);
}
END_TEST

/* Without stalls, the kernels of the same window are recorded. */
static void refused(const char *fault, enum ring_part part, uint32_t code)
{
	struct sampled s = { 0 };
	char scenario[1024];

	snprintf(scenario, sizeof scenario,
		 DEVICES KERNELS STALLS "play threads 2\nplay launches 500\n%s\n", fault);
	start(&s, scenario);
	for (int round = 0; round < 2; round++) { /* each window tries again */
		s.p.n_sums = 0;
		ck_assert_int_eq(program_open(&s.p, WANT).state, RING_OPEN);
		fputs("warm\n", s.p.to);
		program_expect(&s.p, "warm");
		for (int i = 0; program_state(&s.p).stall_part == RING_PART_NONE; i++) {
			ring_beat(s.p.ring, clock_mono_ns());
			ck_assert_int_lt(i, PROGRAM_WAIT_MS);
			program_pause();
		}
		ring_poll(s.p.ring, SIZE_MAX, program_record, &s.p);
		s.p.n_sums = 0;
		program_play(&s.p, true);
		struct ring_state_now now = program_close(&s.p);

		ck_assert_msg(now.stall_part == part, "%s: %s", fault,
			      ring_part_text(now.stall_part));
		ck_assert_uint_eq(now.stall_code, code);
		ck_assert_int_eq(now.error_part, RING_PART_NONE);
		ck_assert_int_eq(now.state, RING_PARKED);
		ck_assert_uint_eq(now.contexts, 0);
		program_check(&s.p);
	}
	program_end(&s.p);
}
START_TEST(refusals)
{
	refused("stalls denied", RING_PART_STALLS_DENIED, 35);
	refused("stalls memory 0", RING_PART_STALLS_MEMORY, 8);
	refused("stalls memory 3", RING_PART_STALLS_MEMORY, 8);
	refused("stalls error 7", RING_PART_STALLS, 7);
}
END_TEST

/* PC sampling nearly stops graphs: it ends with the first one, for good; everything else continues. */
START_TEST(graphs)
{
	struct sampled s = { 0 };
	struct ring_state_now now;

	start(&s, DEVICES KERNELS STALLS "play threads 2\nplay launches 500\nplay graph 16 2\n");
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(program_open(&s.p, WANT).state, RING_OPEN);
		ck_assert_int_eq(program_state(&s.p).stall_part,
				 round ? RING_PART_STALLS_GRAPHS : RING_PART_NONE);
		s.p.n_sums = 0;
		program_play(&s.p, true);
		for (int i = 0; (now = program_state(&s.p)).contexts; i++) {
			ring_beat(s.p.ring, clock_mono_ns());
			ck_assert_int_lt(i, PROGRAM_WAIT_MS);
			program_pause();
		}
		now = program_close(&s.p);
		ck_assert_int_eq(now.stall_part, RING_PART_STALLS_GRAPHS);
		ck_assert_uint_eq(now.stall_code, 0);
		ck_assert_int_eq(now.error_part, RING_PART_NONE);
		ck_assert_int_eq(now.state, RING_PARKED);
		program_check(&s.p);
	}
	ck_assert_uint_le(s.n_configs, 2); /* of the first window */
	program_end(&s.p);
}
END_TEST

/* A window for stalls only ends if they are not available. */
START_TEST(alone)
{
	struct sampled s = { 0 };
	struct ring_state_now now;

	start(&s, DEVICES KERNELS STALLS "stalls memory 3\nplay threads 1\nplay launches 10\n");
	program_open(&s.p, RING_WANT_STALLS);
	fputs("warm\n", s.p.to);
	program_expect(&s.p, "warm");
	for (int i = 0; (now = program_state(&s.p)).state != RING_PARKED; i++) {
		ring_beat(s.p.ring, clock_mono_ns());
		ck_assert_int_lt(i, PROGRAM_WAIT_MS);
		program_pause();
	}
	ck_assert_int_eq(now.stall_part, RING_PART_STALLS_MEMORY);
	program_end(&s.p);
}
END_TEST

/* A CUPTI from before PC sampling, and one with narrower records. */
START_TEST(older)
{
	struct sampled s = { 0 };
	char directory[] = "/tmp/cresset-old.XXXXXX", command[512], cwd[256];

	ck_assert_ptr_nonnull(mkdtemp(directory));
	ck_assert_ptr_nonnull(getcwd(cwd, sizeof cwd));
	snprintf(command, sizeof command,
		 "ln -s %s/%s/doubles/libcupti-old.so.13 %s/libcupti.so.13", cwd, program_build(),
		 directory);
	ck_assert_int_eq(system(command), 0);
	setenv("PROGRAM_FIRST", directory, 1);
	start(&s, DEVICES KERNELS "play threads 1\nplay launches 100\n");
	ck_assert_int_eq(program_open(&s.p, WANT).state, RING_OPEN);
	program_play(&s.p, true);
	ck_assert_int_eq(program_close(&s.p).stall_part, RING_PART_STALLS_ABSENT);
	program_check(&s.p);
	program_end(&s.p);
	unsetenv("PROGRAM_FIRST");
	snprintf(command, sizeof command, "rm -r %s", directory);
	ck_assert_int_eq(system(command), 0);

	struct sampled narrow = { 0 };

	start(&narrow,
	      DEVICES KERNELS STALLS "cupti version 21\nplay threads 2\nplay launches 300\n");
	program_open(&narrow.p, WANT);
	warm(&narrow);
	program_play(&narrow.p, true);
	program_close(&narrow.p);
	check(&narrow, 1);
	program_end(&narrow.p);
}
END_TEST

/* Given back while contexts are sampled, and requested again: nothing remains, later samples are as exact, and device code loaded then is kept. */
START_TEST(detached)
{
	T_NEEDS_MAP_FILES();
	struct sampled s = { 0 };
	struct err err = { 0 };
	char is_clean[128];

	start(&s, DEVICES KERNELS STALLS "play threads 2\nplay launches 600\n");
	snprintf(is_clean, sizeof is_clean,
		 "cd /proc/%d && ! ls -l fd | grep -q memfd:cresset- && "
		 "! grep -Eq 'memfd:cresset-(ring|cubins)' maps",
		 s.p.pid);
	for (uint64_t round = 1; round <= 3; round++) {
		program_open(&s.p, WANT);
		warm(&s);
		ck_assert_int_ne(system(is_clean), 0);
		ring_close(s.p.ring);
		s.p.ring = NULL;
		ck_assert_msg(ring_detach(s.p.pid, &err) == 0, "%s", err.text);
		program_until(is_clean); /* the library closes it after it publishes the stub */
		ck_assert_msg(ring_reattach(s.p.pid, &err) == 0, "%s", err.text);
		ck_assert_int_eq(ring_open(s.p.pid, clock_mono_ns(), &s.p.ring, &err), 0);
		s.n_rows = s.n_modules = 0;
		program_open(&s.p, WANT);
		warm(&s);
		program_play(&s.p, true);
		ck_assert_uint_eq(program_close(&s.p).contexts, 0);
		check(&s, 1);
		ck_assert_uint_eq(s.n_modules, round == 1 ? 1 : 0);
		if (s.n_modules) {
			uint8_t image[4096 * 16];

			ck_assert_uint_le(s.modules[0].size, sizeof image);
			ck_assert(ring_module_copy(s.p.ring, &s.modules[0], image));
			ck_assert_int_eq(memcmp(image, "\177ELF", 4), 0);
		}
	}
	program_end(&s.p);
}
END_TEST

UNIT_MAIN("gpu-stalls", windows, context_comes_and_goes, many_places, concurrent_samples, module,
	  late, late_and_many, dropped, refusals, graphs, alone, older, detached)
