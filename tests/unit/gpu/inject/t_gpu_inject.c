// tier: test
// parts: 3
/* The library inside a GPU program, on the doubles: the recording equals the script, to the nanosecond; parked it does nothing; it gives way to other
 * tools. */
#include "map_files.h"
#include "unit.h"

#include "base/err.h"
#include "gpu/ring/ring_look.h"
#include "gpu_program.h"

#define DEVICES "device 0 name \"First\"\ndevice 1 name \"Second\"\nwait none\n"
#define KERNELS \
	"kernel gemm ns 1500\nkernel _Z4axpyPfS_f ns 400\nkernel softmax ns 333\nkernel " \
	"layer_norm ns 271\nkernel copy_k ns 17\n"

/* Everything of two windows; nothing is recorded between them. */
START_TEST(windows)
{
	struct gpu_program p = { 0 };

	program_start(&p,
		      DEVICES KERNELS
		      "play threads 4\nplay launches 5000\nplay copy 50 4096\nplay pace 200\n"
		      "play waits 25\n",
		      NULL);
	ck_assert_int_eq(program_state(&p).state, RING_PARKED);
	program_play(&p, true);
	ck_assert_uint_eq(p.records, 0);
	uint64_t from = clock_mono_ns();

	ck_assert_int_eq(program_open(&p, RING_WANT_ALL).state, RING_OPEN);
	program_play(&p, true);
	struct ring_state_now now = program_close(&p);

	ck_assert_int_eq(now.state, RING_PARKED);
	ck_assert_uint_eq(now.dropped + now.cupti_dropped + now.names_lost + now.unknown_records +
				  now.bad_bytes,
			  0);
	ck_assert_uint_eq(now.calls, 4 * 5100);
	ck_assert_uint_gt(now.busy_ns, 0);
	program_check(&p);
	/* Times are those of the kernel's clock. */
	ck_assert_uint_ge(p.earliest_ns, from);
	ck_assert_uint_le(p.earliest_ns, clock_mono_ns());
	uint64_t records = p.records;

	program_play(&p, true);
	ck_assert_uint_eq(p.records, records);
	program_open(&p, RING_WANT_KERNELS);
	p.n_sums = 0;
	program_play(&p, true);
	program_close(&p);
	ck_assert_uint_eq(program_sum(&p, "calls", 0)->count, 0);
	ck_assert_uint_gt(program_sum(&p, "gemm", 0)->sum, 0);
	ck_assert_uint_eq(p.opened, 2);
	ck_assert_uint_eq(p.closed, 2);
	program_end(&p);
}
END_TEST

/* The promise: a million launches by 8 threads on 2 devices, including graphs; ids wrap around. */
START_TEST(million)
{
	struct gpu_program p = { 0 };

	program_start(&p,
		      DEVICES KERNELS
		      "play threads 8\nplay launches 131072\nplay graph 16 4\nplay waits 25\n"
		      "cupti correlation 4294800000\n",
		      "cupti");
	ck_assert_int_eq(program_open(&p, RING_WANT_ALL).state, RING_OPEN);
	program_play(&p, true);
	struct ring_state_now now = program_close(&p);

	ck_assert_uint_eq(now.dropped, 0);
	ck_assert_uint_eq(now.cupti_dropped, 0);
	ck_assert_uint_eq(now.calls, 8 * 131072);
	ck_assert_uint_gt(p.first_call, p.last_call);
	program_check(&p);
	program_end(&p);
}
END_TEST

/* Without a reader, missing records are counted exactly. */
START_TEST(full)
{
	struct gpu_program p = { 0 };

	program_start(&p, DEVICES KERNELS "play threads 4\nplay launches 60000\n", NULL);
	program_open(&p, RING_WANT_KERNELS | RING_WANT_CALLS);
	program_play(&p, false);
	struct ring_state_now now = program_close(&p);

	ck_assert_uint_gt(now.dropped, 0);
	ck_assert_uint_eq(p.records + now.dropped + now.cupti_dropped, 2 * 4 * 60000 + 2);
	program_end(&p);
}
END_TEST

/* Records dropped by CUPTI itself. */
START_TEST(cupti_drops)
{
	struct gpu_program p = { 0 };

	program_start(&p, DEVICES KERNELS "play threads 2\nplay launches 5000\ncupti drop 7\n",
		      NULL);
	program_open(&p, RING_WANT_KERNELS);
	program_play(&p, true);
	struct ring_state_now now = program_close(&p);

	ck_assert_uint_eq(now.cupti_dropped, 10000 / 7);
	ck_assert_uint_eq(p.records, 2 + 10000 - 10000 / 7);
	program_end(&p);
}
END_TEST

START_TEST(late_records)
{
	struct gpu_program p = { 0 };

	program_start(&p,
		      DEVICES KERNELS
		      "play threads 2\nplay launches 300\ncupti late 100000\ncupti overhead 5000\n",
		      NULL);
	program_open(&p, RING_WANT_KERNELS | RING_WANT_CALLS);
	program_play(&p, true);
	ck_assert_uint_eq(program_sum(&p, "gemm", 0)->count, 0);
	ck_assert_uint_eq(program_close(&p).dropped, 0);
	program_check(&p);
	program_end(&p);
}
END_TEST

/* System calls and switches of one thread, from the kernel. */
static uint64_t switches_of(pid_t pid, const char *name)
{
	char path[128], line[256];
	uint64_t n = UINT64_MAX;

	for (int tid = pid; tid < pid + 64; tid++) {
		snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid, tid);
		FILE *f = fopen(path, "r");
		bool is_it = false;
		unsigned long v;

		while (f && fgets(line, sizeof line, f)) {
			is_it |= !strncmp(line, "Name:", 5) && strstr(line, name);
			if (is_it && strstr(line, "ctxt_switches:") &&
			    sscanf(line, "%*s %lu", &v) == 1)
				n = n == UINT64_MAX ? v : n + v;
		}
		if (f)
			fclose(f);
	}
	return n;
}

/* A thread that is never scheduled makes no call: three seconds beside a working program, before and after a window. */
START_TEST(parked)
{
	struct gpu_program p = { 0 };

	program_start(&p, DEVICES KERNELS "play threads 2\nplay launches 2000\n", NULL);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 100; i++) /* until it sleeps */
			program_pause();
		uint64_t before = switches_of(p.pid, "cresset-cuda"),
			 until = clock_mono_ns() + 3000000000ull;

		ck_assert_uint_ne(before, UINT64_MAX);
		program_play(&p, true);
		while (clock_mono_ns() < until)
			program_pause();
		ck_assert_uint_eq(switches_of(p.pid, "cresset-cuda"), before);
		program_open(&p, RING_WANT_ALL);
		ck_assert_int_eq(program_close(&p).state, RING_PARKED);
	}
	program_end(&p);
}
END_TEST

/* The heartbeat stops: within two seconds the library is parked, though the window had a minute left. */
START_TEST(agent_gone)
{
	struct gpu_program p = { 0 };
	struct ring_state_now now;

	program_start(&p, DEVICES KERNELS "play threads 1\nplay launches 100\n", NULL);
	program_open(&p, RING_WANT_ALL);
	ring_beat(p.ring, clock_mono_ns());
	uint64_t from = clock_mono_ns();

	do {
		program_pause();
		ring_now(p.ring, &now);
		ck_assert_uint_lt(clock_mono_ns() - from, t_slow_ns(5000000000));
	} while (now.state != RING_PARKED);
	ck_assert_uint_gt(clock_mono_ns() - from, 900000000ull);
	/* Another reader takes over, and everything works as before. */
	struct ring_reader *next;
	struct err err;

	while (clock_mono_ns() - from < RING_AGENT_GONE_MS * 1000000ull)
		program_pause();
	ck_assert_int_eq(ring_open(p.pid, clock_mono_ns(), &next, &err), 0);
	struct ring_reader *third = next;

	ck_assert_int_eq(ring_open(p.pid, clock_mono_ns(), &third, &err), -EBUSY);
	ck_assert(program_state(&p).taken);
	ring_window(p.ring, RING_WANT_ALL, 0, clock_mono_ns(), UINT64_MAX);
	ring_close(p.ring);
	p.ring = next;
	ck_assert_int_eq(program_state(&p).state, RING_PARKED);
	ck_assert_int_eq(program_open(&p, RING_WANT_ALL).state, RING_OPEN);
	program_play(&p, true);
	program_close(&p);
	program_check(&p);
	program_end(&p);
}
END_TEST

/* A window ends by itself. */
START_TEST(deadline)
{
	struct gpu_program p = { 0 };
	struct ring_state_now now;
	uint64_t from = clock_mono_ns();

	program_start(&p, DEVICES KERNELS "play threads 1\nplay launches 100\n", NULL);
	from = clock_mono_ns();
	ring_window(p.ring, RING_WANT_ALL, 0, from, from + 300000000ull);
	do {
		program_pause();
		ring_beat(p.ring, clock_mono_ns());
		ring_now(p.ring, &now);
		ck_assert_uint_lt(clock_mono_ns() - from, t_slow_ns(5000000000));
	} while (now.generation_seen != now.generation_asked);
	ck_assert_int_eq(now.state, RING_PARKED);
	ck_assert_uint_ge(now.closed_ns, from + 300000000ull);
	program_end(&p);
}
END_TEST

/* Another tool has CUPTI: reported by name; and every way in which CUPTI can be unusable. The program continues in all cases. */
static void refused(const char *fault, enum ring_state state, enum ring_part part, uint32_t code)
{
	struct gpu_program p = { 0 };
	char scenario[1024];

	snprintf(scenario, sizeof scenario,
		 DEVICES KERNELS "play threads 2\nplay launches 100\n%s\n", fault);
	program_start(&p, scenario, NULL);
	for (int i = 0; i < 2; i++) { /* a second request changes nothing */
		struct ring_state_now now = program_open(&p, RING_WANT_ALL);

		ck_assert_msg(now.state == state, "%s: %s", fault, ring_state_text(now.state));
		ck_assert_msg(now.error_part == part, "%s: %s", fault,
			      ring_part_text(now.error_part));
		ck_assert_uint_eq(now.error_code, code);
		if (state == RING_BUSY)
			ck_assert_str_eq(now.other, "Nsight Systems");
	}
	program_play(&p, true);
	ck_assert_uint_eq(p.records, 0);
	program_end(&p);
}
START_TEST(refusals)
{
	refused("cupti busy \"Nsight Systems\"", RING_BUSY, RING_PART_SUBSCRIBE, 39);
	refused("cupti unknown", RING_INERT, RING_PART_SUBSCRIBE, 999);
	refused("cupti memory", RING_PARKED, RING_PART_ENABLE, 8);
	refused("cupti version 12", RING_INERT, RING_PART_TOO_OLD, 12);
}
END_TEST

/* A CUPTI that hangs when kernels are switched off is left on: its records between windows are discarded. */
START_TEST(cannot_switch_off)
{
	struct gpu_program p = { 0 };

	program_start(&p,
		      DEVICES KERNELS "play threads 2\nplay launches 1000\ncupti version 130000\n",
		      NULL);
	for (int i = 0; i < 2; i++) {
		p.n_sums = p.records = 0;
		ck_assert_int_eq(program_open(&p, RING_WANT_KERNELS | RING_WANT_CALLS).state,
				 RING_OPEN);
		program_play(&p, true);
		struct ring_state_now now = program_close(&p);

		ck_assert_int_eq(now.state, RING_MUTED);
		ck_assert_uint_eq(now.cupti_version, 130000);
		program_check(&p);
		uint64_t records = p.records;

		program_play(&p, true);
		ck_assert_uint_eq(p.records, records);
	}
	program_end(&p);
}
END_TEST

/* A forked child writes nothing, least of all in a window; its parent continues. Records not yet delivered when contexts end are not lost. */
START_TEST(fork_and_end)
{
	T_NEEDS_MAP_FILES();
	struct gpu_program p = { 0 };
	struct ring_reader *own;
	struct err err;

	program_start(&p, DEVICES KERNELS "play threads 2\nplay launches 1000\ncupti late 100000\n",
		      NULL);
	program_open(&p, RING_WANT_KERNELS | RING_WANT_CALLS);
	fputs("fork\n", p.to);
	program_expect(&p, "child");
	ring_poll(p.ring, SIZE_MAX, program_record, &p);
	ck_assert_uint_eq(p.records, 1);
	program_play(&p, true);
	fputs("end\n", p.to);
	program_expect(&p, "ended");
	ring_poll(p.ring, SIZE_MAX, program_record, &p);
	program_check(&p);
	ck_assert_int_eq(ring_open(getpid(), clock_mono_ns(), &own, &err), -ENOENT);
	program_close(&p);
	program_end(&p);
}
END_TEST

/* The program ends in an open window: the ring outlives it. */
START_TEST(exit_in_window)
{
	struct gpu_program p = { 0 };
	int status;

	program_start(&p, DEVICES KERNELS "play threads 2\nplay launches 1000\ncupti late 100000\n",
		      NULL);
	program_open(&p, RING_WANT_KERNELS | RING_WANT_CALLS);
	program_play(&p, true);
	fclose(p.to);
	waitpid(p.pid, &status, 0);
	ck_assert_int_eq(status, 0);
	ring_poll(p.ring, SIZE_MAX, program_record, &p);
	program_check(&p);
	ring_close(p.ring);
	fclose(p.from);
	unlink(p.script);
}
END_TEST

static int line_count(const char *command);

/* Loaded by dlopen while the program runs, and a second time as another file: there is one ring, and it works. */
START_TEST(loaded_late)
{
	struct gpu_program p = { 0 };
	char command[128];

	program_start(&p, DEVICES KERNELS "play threads 2\nplay launches 3000\nplay pace 100\n",
		      "late");
	ck_assert_int_eq(program_open(&p, RING_WANT_KERNELS | RING_WANT_CALLS).state, RING_OPEN);
	program_play(&p, true);
	ck_assert_int_eq(program_close(&p).state, RING_PARKED);
	program_check(&p);
	snprintf(command, sizeof command, "grep -c 'memfd:%s' /proc/%d/maps | grep -x 1", RING_NAME,
		 p.pid);
	ck_assert_int_eq(line_count(command), 1);
	/* Neither reattaching nor detaching needs the program's help. */
	for (int i = 0; i < 50; i++) {
		struct err err;

		ring_close(p.ring);
		ck_assert_int_eq(ring_open(p.pid, clock_mono_ns(), &p.ring, &err), 0);
	}
	p.n_sums = 0;
	program_open(&p, RING_WANT_KERNELS | RING_WANT_CALLS);
	program_play(&p, true);
	program_close(&p);
	program_check(&p);
	snprintf(command, sizeof command, "%s.so", p.script);
	unlink(command);
	program_end(&p);
}
END_TEST

/* What could grow in the program: descriptors, mappings, threads; and our own parts of it. */
static void sizes_of(pid_t pid, int out[4])
{
	static const char *const commands[] = { "ls /proc/%d/fd", "cat /proc/%d/maps",
						"ls /proc/%d/task",
						"cd /proc/%d && { grep memfd:cresset- maps; "
						"ls -l fd | grep memfd:cresset-; }" };
	char command[128];

	for (int i = 0; i < 4; i++) {
		snprintf(command, sizeof command, commands[i], pid);
		out[i] = line_count(command);
	}
}

static struct ring_look look(pid_t pid)
{
	struct ring_look now = { 0 };
	struct err err = { 0 };

	ck_assert_msg(ring_look(pid, clock_mono_ns(), &now, &err) == 0, "%s", err.text);
	return now;
}

/* The library publishes the stub, and closes the ring right after that. */
static void await_closed_ring(pid_t pid)
{
	char command[128];

	snprintf(command, sizeof command, "! ls -l /proc/%d/fd | grep -q memfd:cresset-", pid);
	program_until(command);
}

static void detach(struct gpu_program *p)
{
	struct err err = { 0 };

	ring_close(p->ring);
	p->ring = NULL;
	ck_assert_msg(ring_detach(p->pid, &err) == 0, "%s", err.text);
	ck_assert(look(p->pid).detached);
	ck_assert_int_eq(look(p->pid).now.state, RING_DETACHED);
	await_closed_ring(p->pid);
	ck_assert_int_eq(ring_open(p->pid, clock_mono_ns(), &p->ring, &err), -ENOENT);
}

static void reattach(struct gpu_program *p)
{
	struct err err = { 0 };

	ck_assert_msg(ring_reattach(p->pid, &err) == 0, "%s", err.text);
	ck_assert_int_eq(ring_open(p->pid, clock_mono_ns(), &p->ring, &err), 0);
	ck_assert(!look(p->pid).detached);
}

/* The ring is given back and taken again many times: nothing grows, sums continue, records stay exact; a program that runs meanwhile does not
 * notice. */
START_TEST(detached)
{
	T_NEEDS_MAP_FILES();
	struct gpu_program p = { 0 };
	struct err err = { 0 };
	int before[4], now[4];

	program_start(&p,
		      DEVICES KERNELS
		      "play threads 4\nplay launches 500\nplay copy 50 4096\nplay pace 100\n",
		      NULL); /* fewer records than the ring holds */
	program_open(&p, RING_WANT_ANY);
	program_play(&p, true);
	sizes_of(p.pid, now);
	ck_assert_int_eq(now[3], 4); /* ring and device code, mapped and open */
	uint64_t calls = program_close(&p).calls;

	program_check(&p);
	ck_assert_int_eq(ring_detach(p.pid, &err), -EBUSY);
	ck_assert(look(p.pid).has_agent);
	detach(&p);
	sizes_of(p.pid, before);
	ck_assert_int_eq(before[3], 1); /* the stub */
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(ring_detach(p.pid, &err), -EALREADY);
		program_play(&p, false);
		reattach(&p);
		ck_assert_int_eq(ring_reattach(p.pid, &err), -EALREADY);
		p.n_sums = p.records = 0;
		ck_assert_int_eq(program_open(&p, RING_WANT_ANY).state, RING_OPEN);
		program_play(&p, true);
		sizes_of(p.pid, now);
		ck_assert_int_eq(now[3], 4);
		struct ring_state_now state = program_close(&p);

		calls += 4 * 510;
		ck_assert_uint_eq(state.calls, calls);
		ck_assert_uint_eq(state.dropped + state.bad_bytes, 0);
		program_check(&p);
		detach(&p);
		sizes_of(p.pid, now);
		ck_assert_int_eq(now[0], before[0]);
		ck_assert_int_lt(now[1], before[1] + 8); /* the program's threads come and go */
		ck_assert_int_eq(now[2], before[2]);
		ck_assert_int_eq(now[3], before[3]);
		ck_assert_uint_eq(look(p.pid).now.calls, calls);
	}
	program_end(&p);
}
END_TEST

/* In the middle of everything: windows are open, threads launch, CUPTI delivers records. Records may be lost, but nothing else happens. */
START_TEST(detached_at_work)
{
	T_NEEDS_MAP_FILES();
	enum { PLAYS = 8 };
	struct gpu_program p = { 0 };
	char line[16];

	program_start(&p,
		      DEVICES KERNELS
		      "play threads 4\nplay launches 5000\nplay copy 50 4096\nplay pace 300\n",
		      NULL);
	program_open(&p, RING_WANT_ALL);
	for (int i = 0; i < PLAYS; i++)
		fputs("go\n", p.to);
	for (int i = 0; i < 25; i++) {
		detach(&p);
		reattach(&p);
		program_open(&p, RING_WANT_ALL);
	}
	for (int i = 0; i < PLAYS; i++) {
		ck_assert_ptr_nonnull(fgets(line, sizeof line, p.from));
		ck_assert_str_eq(line, "done\n");
	}
	struct ring_state_now now = program_close(&p);
	uint64_t dropped = now.dropped + 1;

	/* From then on it is exact again. Where the reader does not get a CPU in time, a lane overflows: that is counted, and such a play does not count. */
	for (int i = 0; i < 20 && now.dropped != dropped; i++) {
		dropped = now.dropped;
		p.n_sums = p.records = 0;
		program_open(&p, RING_WANT_KERNELS | RING_WANT_COPIES | RING_WANT_CALLS);
		program_play(&p, true);
		now = program_close(&p);
	}
	ck_assert_uint_eq(now.dropped, dropped);
	program_check(&p);
	ck_assert_uint_eq(now.bad_bytes, 0);
	/* A child of a detached program is not affected. */
	detach(&p);
	fputs("fork\n", p.to);
	program_expect(&p, "child");
	program_end(&p);
}
END_TEST

static void is_exact_to_its_end(struct gpu_program *p)
{
	p->n_sums = p->records = 0;
	program_open(p, RING_WANT_KERNELS | RING_WANT_CALLS);
	program_play(p, true);
	program_close(p);
	program_check(p);
	program_end(p);
}

/* A CUPTI that cannot be switched off goes on unread, without memory of ours. */
START_TEST(detached_muted)
{
	T_NEEDS_MAP_FILES();
	struct gpu_program p = { 0 };

	program_start(&p,
		      DEVICES KERNELS "play threads 2\nplay launches 1000\ncupti version 130000\n",
		      NULL);
	program_open(&p, RING_WANT_KERNELS | RING_WANT_CALLS);
	ck_assert_int_eq(program_close(&p).state, RING_MUTED);
	detach(&p);
	program_play(&p, false);
	reattach(&p);
	ck_assert_int_eq(program_state(&p).state, RING_MUTED);
	is_exact_to_its_end(&p);
}
END_TEST

/* A program may close every descriptor and reuse their numbers. */
START_TEST(detached_without_descriptors)
{
	struct gpu_program p = { 0 };
	char command[128];

	if (geteuid())
		T_SKIP("a ring without a descriptor is only found by root");
	program_start(&p, DEVICES KERNELS "play threads 2\nplay launches 1000\n", NULL);
	fputs("close\n", p.to);
	program_expect(&p, "closed");
	snprintf(command, sizeof command, "ls -l /proc/%d/fd | grep -c /dev/null | grep -x 64",
		 p.pid);
	ck_assert_int_eq(line_count(command), 1);
	detach(&p);
	ck_assert_int_eq(line_count(command), 1);
	reattach(&p);
	is_exact_to_its_end(&p);
}
END_TEST

/* Loaded into the running program by the command, from a memfd. */
START_TEST(attached)
{
	struct gpu_program p = { 0 };

	if (geteuid())
		T_SKIP("attaching to a process needs root");
	program_start(&p, DEVICES KERNELS "play threads 2\nplay launches 3000\nplay pace 100\n",
		      "attached");
	ck_assert_int_eq(program_open(&p, RING_WANT_KERNELS | RING_WANT_CALLS).state, RING_OPEN);
	program_play(&p, true);
	ck_assert_int_eq(program_close(&p).state, RING_PARKED);
	program_check(&p);
	program_end(&p);
}
END_TEST

static int line_count(const char *command)
{
	char line[512];
	int n = 0;
	FILE *f = popen(command, "r");

	while (f && fgets(line, sizeof line, f))
		n++;
	if (f)
		pclose(f);
	return n;
}

/* Affects only the program's process: it needs libc, of any version since 2.17, allocates nothing, and exports one name. */
static void check_device(struct gpu_program *p, uint32_t number, uint8_t last, uint8_t bus)
{
	struct ring_device d;

	ck_assert(ring_device(p->ring, number, &d));
	ck_assert_uint_eq(d.uuid[15], last);
	ck_assert_uint_eq(d.bus, bus);
	ck_assert_uint_eq(d.flags & ~(uint32_t)RING_DEVICE_CONTEXT,
			  RING_DEVICE_UUID | RING_DEVICE_BUS);
}

static bool has_context(struct gpu_program *p, uint32_t number)
{
	struct ring_device d;

	return ring_device(p->ring, number, &d) && d.flags & RING_DEVICE_CONTEXT;
}

/* The identity of each GPU, as numbered by this program, from the first window on, also in the next ring; and the GPUs used. */
START_TEST(which_gpu)
{
	T_NEEDS_MAP_FILES();
	struct gpu_program p = { 0 };
	struct ring_device d;

	setenv("CUDA_VISIBLE_DEVICES", "2,0", 1);
	program_start(&p,
		      DEVICES "device 2 name \"Third\"\n" KERNELS
			      "play threads 1\nplay launches 100\n",
		      NULL);
	unsetenv("CUDA_VISIBLE_DEVICES");
	ck_assert(!ring_device(p.ring, 0, &d));
	program_open(&p, RING_WANT_KERNELS);
	check_device(&p, 0, 2, 3);
	check_device(&p, 1, 0, 1);
	ck_assert(!ring_device(p.ring, 2, &d));
	ck_assert(!ring_device(p.ring, RING_DEVICES_MAX, &d));
	ck_assert(!has_context(&p, 0));
	program_play(&p, true);
	program_close(&p);
	ck_assert(has_context(&p, 0) && !has_context(&p, 1));
	detach(&p);
	reattach(&p);
	check_device(&p, 0, 2, 3);
	ck_assert(has_context(&p, 0) && !has_context(&p, 1));
	program_end(&p);
}
END_TEST

START_TEST(needs_only_libc)
{
	char command[512];

#define RUN(what) (snprintf(command, sizeof command, what, program_build()), line_count(command))
	ck_assert_int_eq(RUN("readelf -dW %s/libcresset-cuda.so | grep '(NEEDED)'"), 1);
	ck_assert_int_eq(
		RUN("readelf -dW %s/libcresset-cuda.so | grep '(NEEDED)' | grep -F '[libc.so.6]'"),
		1);
	ck_assert_int_eq(RUN("objdump -T %s/libcresset-cuda.so | grep -wE "
			     "'malloc|calloc|realloc|free|__tls_get_addr'"),
			 0);
	ck_assert_int_eq(
		RUN("objdump -T %s/libcresset-cuda.so | grep -oE 'GLIBC_[0-9.]+' | sort -uV |"
		    " awk -F. '$2 > 17'"),
		0);
	ck_assert_int_eq(RUN("objdump -T %s/libcresset-cuda.so | grep -v '\\*UND\\*' | grep -cw "
			     "InitializeInjection"),
			 1);
	ck_assert_int_eq(RUN("objdump -T %s/libcresset-cuda.so | grep ' g  *DF'"), 1);
	/* The probe: its name, a five-byte nop, its three words. */
	ck_assert_int_eq(
		RUN("readelf -nW %s/libcresset-cuda.so | grep -E 'Name: launch|Provider: cresset'"),
		2);
#undef RUN
}
END_TEST

UNIT_MAIN("gpu-inject", windows, million, full, cupti_drops, late_records, parked, agent_gone,
	  deadline, refusals, cannot_switch_off, fork_and_end, exit_in_window, loaded_late,
	  detached, detached_at_work, detached_muted, detached_without_descriptors, attached,
	  which_gpu, needs_only_libc)
