// tier: test
/* Stacks in the resolver: order, markers, caches, code made at run time, labels. */
#include "base/buf.h"
#include "resolve_world.h"

#include <time.h>

/* --- stacks ----------------------------------------------------------------------------------- */

/* A caller is the instruction before its return address, even if that is the first one of the next function. */
START_TEST(callers)
{
	if (!setup())
		T_SKIP(NEEDS);
	compile(program_text, "", "prog");
	struct child c = run_program("prog", "");
	char *text =
		shell("nm %s/prog | awk '$3 == \"work_there\" || $3 == \"work_here\" { print $1 }' "
		      "| sort",
		      dir);
	uint64_t here = strtoull(text, NULL, 16), there = strtoull(strchr(text, '\n'), NULL, 16);
	ck_assert_uint_gt(there, here);
	free(text);
	uint64_t next = c.addr + (there - here); /* the first byte of work_there */
	struct given g = { .n_user = 3, .addr = { next, next, next + 1 } };
	apply();
	sample_at(c.pid, c.pid, "x", g, clock_mono_ns());
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "work_there;work_here;work_there");
	end_program(&c);
	teardown();
}
END_TEST

static uint64_t kernel_symbol(const char *name)
{
	char *text = shell("awk '$3 == \"%s\" { print $1; exit }' /proc/kallsyms", name);
	uint64_t addr = strtoull(text, NULL, 16);

	free(text);
	return addr;
}

START_TEST(order_and_sides)
{
	uint64_t kernel = kernel_symbol("do_syscall_64");
	struct given g = { .n_kernel = 1,
			   .n_user = 1,
			   .walk_end = WALK_NO_FP,
			   .addr = { kernel, (uintptr_t)function_of_the_test } };
	static const char *const want[] = {
		"[truncated: no frame pointer];function_of_the_test;do_syscall_64",
		"[truncated: no frame pointer];function_of_the_test",
		"do_syscall_64",
	};

	if (!kernel)
		T_SKIP("/proc/kallsyms shows no addresses");
	for (int i = 0; i < 3; i++) {
		if (!setup_with((struct sampler_opts){ .no_kernel = i == 1, .no_user = i == 2 }))
			T_SKIP(NEEDS);
		sample_at(getpid(), getpid(), "x", g, clock_mono_ns());
		resolve_symbolize(resolver);
		ck_assert_str_eq(stack_of(0), want[i]);
		struct resolve_stats stats;
		resolve_get_stats(resolver, &stats);
		ck_assert_uint_eq(stats.truncated, i != 2);
		ck_assert_uint_eq(stats.unsymbolized, 0);
		teardown();
	}
}
END_TEST

START_TEST(markers)
{
	static const char *const want[WALK_ENDS] = {
		[WALK_COMPLETE] = "[unknown]",
		[WALK_NO_USER] = "[unknown]",
		[WALK_NO_FP] = "[truncated: no frame pointer];[unknown]",
		[WALK_UNREADABLE] = "[truncated: stack unreadable];[unknown]",
		[WALK_DEPTH] = "[truncated: depth];[unknown]",
		[WALK_32BIT] = "[truncated: 32-bit];[unknown]",
		[WALK_RULE] = "[truncated: unwind rule];[unknown]",
		[WALK_ASTRAY] = "[truncated: astray];[unknown]",
		[WALK_NOT_LOADED] = "[truncated: unwind table not loaded];[unknown]",
		[WALK_CUT] = "[truncated: stack not sent];[unknown]",
		[WALK_KERNEL] = "[truncated: kernel];[unknown]",
		[WALK_LOST] = "[truncated: lost];[unknown]",
		[WALK_EXEC] = "[exec];[unknown]",
		[WALK_TIME] = "[truncated: time];[unknown]",
		[WALK_NO_ROOM] = "[truncated: no room for its mappings];[unknown]",
		[WALK_EXIT] = "[exit];[unknown]",
		[WALK_NO_COPY_ROOM] = "[truncated: stack not copied: ring full];[unknown]",
		[WALK_NO_COPY_TIME] = "[truncated: stack not copied: CPU time];[unknown]",
		[WALK_NO_MAPPING] = "[truncated: no mapping];[unknown]",
		[WALK_NO_FILE] = "[truncated: no file];[unknown]",
	};
	struct resolve_stats stats;

	if (!setup())
		T_SKIP(NEEDS);
	for (uint32_t end = 0; end < WALK_ENDS; end++) {
		struct given g = { .n_user = 1, .walk_end = end, .addr = { 0x10 } };

		sample_at(getpid(), getpid(), "x", g, clock_mono_ns());
		ck_assert_str_eq(stack_of(end), want[end]);
	}
	struct event_sample lost = {
		.tgid = getpid(), .tid = getpid(), .stack_hash = 424242, .time_ns = clock_mono_ns()
	};
	take_event(&lost);
	ck_assert_str_eq(stack_of(WALK_ENDS), "[truncated: lost]");
	lost.stack_hash = 0;
	take_event(&lost);
	ck_assert_str_eq(stack_of(WALK_ENDS + 1), "");
	resolve_symbolize(resolver);
	resolve_get_stats(resolver, &stats);
	ck_assert_uint_eq(stats.truncated, WALK_ENDS - 4 + 1); /* exec and exit miss nothing */
	ck_assert_uint_eq(stats.unsymbolized, WALK_ENDS);
	ck_assert_int_eq(profile->frames.frames.v[0].kind, FRAME_NATIVE);
	teardown();
}
END_TEST

/* A return address outside of all code: the chain is wrong, and dropped from there on. */
START_TEST(astray)
{
	uint64_t here = (uintptr_t)function_of_the_test + 1;
	struct given g = { .n_user = 4, .addr = { here, here, 0x1234, here } };

	if (!setup())
		T_SKIP(NEEDS);
	sample_at(getpid(), getpid(), "x", g, clock_mono_ns());
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "[truncated: kernel];function_of_the_test;"
				      "function_of_the_test");
	teardown();
}
END_TEST

/* The same stack again costs nothing; after a change of the mappings it is another one. */
START_TEST(stacks_are_preserved)
{
	struct event_stack *st = calloc(1, sizeof *st + 8);
	struct event_sample s = { .tgid = 4000000,
				  .tid = 4000000,
				  .stack_hash = 99,
				  .time_ns = clock_mono_ns(),
				  .comm = "x" };

	if (!setup())
		T_SKIP(NEEDS);
	st->kind = EVENT_STACK;
	st->n_user = 1;
	st->stack_hash = 99;
	st->addr[0] = 0x1000;
	resolve_stack_contents(resolver, st);
	struct side_record fork = { .kind = SIDE_FORK, .pid = 4000000, .tid = 4000000, .ppid = 1 };
	struct side_record exec = {
		.kind = SIDE_COMM, .pid = 4000000, .tid = 4000000, .exec = true
	};
	struct side_record map = {
		.kind = SIDE_MMAP, .pid = 4000000, .tid = 4000000, .start = 0x1000, .len = 0x1000
	};
	record(fork, NULL, 0);
	record(exec, "x", 0);
	for (int i = 0; i < 3; i++)
		take_event(&s);
	ck_assert_str_eq(stack_of(0), "[unknown]");
	ck_assert_uint_eq(profile->samples.stack[2], profile->samples.stack[0]);
	record(map, "[uprobes]", 0);
	take_event(&s);
	ck_assert_str_eq(stack_of(3), "[uprobes]+0x0");
	ck_assert(!resolve_take_epoch_over(resolver));
	free(st);
	teardown();
}
END_TEST

/* Contents are bounded: when they are dropped the caller is told, and recent ones are still known. */
START_TEST(contents_are_bounded)
{
	struct event_stack *st = calloc(1, sizeof *st + 8 * WALK_MAX_USER);
	struct event_sample s = { .tgid = getpid(), .tid = getpid(), .time_ns = clock_mono_ns() };
	int times_over = 0;

	if (!setup())
		T_SKIP(NEEDS);
	st->kind = EVENT_STACK;
	st->n_user = WALK_MAX_USER;
	for (int i = 0; i < WALK_MAX_USER; i++)
		st->addr[i] = (uintptr_t)function_of_the_test + 1;
	size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
	for (uint64_t i = 1; i <= 20000; i++) { /* 82 MB */
		st->stack_hash = i;
		resolve_stack_contents(resolver, st);
		times_over += resolve_take_epoch_over(resolver);
	}
	ck_assert_int_gt(times_over, 5);
	size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
	ck_assert_uint_lt(after, before + (12 << 20));
	s.stack_hash = 20000 - 500;
	take_event(&s);
	ck_assert_uint_eq(stack_depth(&profile->stacks, profile->samples.stack[0]), WALK_MAX_USER);
	s.stack_hash = 1;
	take_event(&s);
	ck_assert_str_eq(stack_of(1), "[truncated: lost]");
	free(st);
	teardown();
}
END_TEST

START_TEST(vsyscall_and_vdso)
{
	char *text = shell("awk '/vdso/ { print $1 }' /proc/%d/maps", getpid());
	uint64_t vdso = strtoull(text, NULL, 16);

	free(text);
	if (!setup())
		T_SKIP(NEEDS);
	sample(getpid(), 0xffffffffff600000);
	sample(getpid(), vdso + 0x40);
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "[vsyscall]+0x0");
	const struct mapping *m = &profile->frames.mappings.v[leaf_of(1)->mapping];
	ck_assert_str_eq(profile_str(profile, m->name), "[vdso]");
	ck_assert_uint_eq(leaf_of(1)->offset, 0x40);
	teardown();
}
END_TEST

/* --- code made at run time -------------------------------------------------------------------- */

static uint64_t anonymous_code(void)
{
	void *code = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert_ptr_ne(code, MAP_FAILED);
	return (uintptr_t)code;
}

static void write_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	ck_assert_int_eq(write(fd, data, len), len);
	close(fd);
}

/* The map is written after the samples, when the virtual machine ends. */
START_TEST(perf_map)
{
	char path[64], text[128];

	if (!setup())
		T_SKIP(NEEDS);
	uint64_t code = anonymous_code();
	apply();
	struct given g = { .n_user = 3,
			   .addr = { code + 4, code + 0x101, (uintptr_t)function_of_the_test } };
	sample_at(getpid(), getpid(), "x", g, clock_mono_ns());
	sample(getpid(), code + 0x1800);
	ck_assert_uint_eq(profile->samples.n, 0); /* held back */
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	int len = snprintf(text, sizeof text, "%" PRIx64 " 100 made()\n%" PRIx64 " 100 caller()\n",
			   code, code + 0x100);
	write_file(path, text, len);
	resolve_symbolize(resolver);
	unlink(path);
	ck_assert_uint_eq(profile->samples.n, 2);
	const char *end =
		strchr(stack_of(0), ';'); /* whatever is before the first byte of the function */
	ck_assert_str_eq(end, ";caller();made()");
	ck_assert_int_eq(leaf_of(0)->kind, FRAME_JIT);
	ck_assert_uint_eq(leaf_of(0)->mapping, MAPPING_NONE);
	ck_assert_str_eq(stack_of(1), "[anon]");
	struct resolve_stats stats;
	resolve_get_stats(resolver, &stats);
	ck_assert_uint_eq(stats.unsymbolized, 1);
	teardown();
}
END_TEST

static uint64_t code_of(pid_t pid)
{
	char *maps = shell("awk '$2 == \"r-xp\" && NF == 5 { print $1 }' /proc/%d/maps", pid);
	uint64_t code = strtoull(maps, NULL, 16);

	free(maps);
	return code;
}

static pid_t child_with_code(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		anonymous_code();
		pause();
	}
	while (!code_of(pid))
		usleep(1000);
	return pid;
}

/* A compiler writes its map right before its process ends: samples that still wait get their names. Samples
 * that were passed on before are counted. */
START_TEST(perf_map_at_the_end)
{
	char path[64], text[64];

	if (!setup())
		T_SKIP(NEEDS);
	pid_t pid = child_with_code();
	apply();
	uint64_t code = code_of(pid);
	sample(pid, code);
	for (int i = 0; i < 1000 && profile->samples.n < 1; i++)
		resolve_give_held(resolver);
	ck_assert_str_eq(stack_of(0), "[anon]");
	ck_assert_uint_eq(profile->meta.loss[LOSS_CODE_UNREAD], 0);
	sample(pid, code);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
	write_file(path, text, snprintf(text, sizeof text, "%" PRIx64 " 100 late()\n", code));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	resolve_symbolize(resolver);
	unlink(path);
	ck_assert_str_eq(stack_of(1), "late()");
	ck_assert_uint_eq(profile->meta.loss[LOSS_CODE_UNREAD], 1);
	teardown();
}
END_TEST

/* A map is written a buffer at a time: samples of a process that has one wait for the next cut. */
START_TEST(perf_map_in_parts)
{
	char path[64], text[128];

	if (!setup())
		T_SKIP(NEEDS);
	uint64_t code = anonymous_code();
	apply();
	snprintf(path, sizeof path, "/tmp/perf-%d.map", getpid());
	int len = snprintf(text, sizeof text, "%" PRIx64 " 100 first()\n", code);
	write_file(path, text, len);
	sample(getpid(), code + 0x100);
	sample(getpid(), code);
	for (int i = 0; i < 1000 && profile->samples.n < 1; i++)
		resolve_give_held(resolver);
	ck_assert_str_eq(stack_of(0), "first()");
	len += snprintf(text + len, sizeof text - len, "%" PRIx64 " 100 second()\n", code + 0x100);
	write_file(path, text, len);
	sample(getpid(), code + 0x800);
	for (int i = 0; i < 1000 && profile->samples.n < 2; i++)
		resolve_give_held(resolver);
	ck_assert_str_eq(stack_of(1), "second()");
	ck_assert_uint_eq(profile->samples.n, 2);
	for (int i = 0; i < 1000 && profile->samples.n < 3; i++)
		resolve_give_held(resolver);
	ck_assert_str_eq(stack_of(2), "[anon]"); /* it is in no map */
	unlink(path);
	teardown();
}
END_TEST

/* Another user's file of the right name is ignored. */
START_TEST(foreign_perf_map)
{
	char path[64], text[64];

	if (geteuid() || !setup())
		T_SKIP("needs root");
	pid_t pid = fork();
	if (pid == 0) {
		anonymous_code();
		if (setuid(65534) || prctl(PR_SET_DUMPABLE, 1))
			_exit(1);
		pause();
	}
	struct stat st = { 0 };
	char proc[32];
	snprintf(proc, sizeof proc, "/proc/%d", pid);
	while (st.st_uid != 65534)
		ck_assert_int_eq(stat(proc, &st), 0);
	apply();
	char *maps = shell("awk '$2 == \"r-xp\" && NF == 5 { print $1 }' /proc/%d/maps", pid);
	uint64_t code = strtoull(maps, NULL, 16);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
	int len = snprintf(text, sizeof text, "%" PRIx64 " 2000 code\n", code);
	static const uid_t owners[] = { 12345, 65534 };
	for (int i = 0; i < 2; i++) {
		write_file(path, text, len);
		ck_assert_int_eq(chown(path, owners[i], -1), 0);
		sample(pid, code);
		resolve_symbolize(resolver);
		ck_assert_str_eq(stack_of(i), i ? "code" : "[anon]");
		unlink(path);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	free(maps);
	teardown();
}
END_TEST

/* Runs a process that writes a perf map of its code, gives it to a user, and ends. Returns its pid. */
static pid_t brief_process(uint64_t code, int owner)
{
	char path[64], text[64];
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	snprintf(path, sizeof path, "/tmp/perf-%d.map", pid ? pid : getpid());
	if (pid == 0) {
		int len = snprintf(text, sizeof text, "%" PRIx64 " 2000 brief\n", code);
		int fd = owner < 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		bool is_done =
			owner < 0 || (write(fd, text, len) == len && fchown(fd, owner, -1) == 0);
		_exit(is_done ? 0 : 1);
	}
	int status;
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	return pid;
}

/* The process has ended before anything of it is read: its map is where its parent has it. Without one, or with one of another user, that is
 * counted. */
START_TEST(perf_map_of_a_process_that_has_ended)
{
	char path[64];

	if (geteuid() || !setup())
		T_SKIP("needs root");
	uint64_t code = anonymous_code();
	apply();
	static const int owners[] = { 0, 12345, -1 };
	for (int i = 0; i < 3; i++) {
		pid_t pid = brief_process(code, owners[i]);
		apply();
		sample(pid, code);
		resolve_symbolize(resolver);
		ck_assert_str_eq(stack_of(i), i ? "[anon]" : "brief");
		ck_assert_uint_eq(profile->meta.loss[LOSS_CODE_UNREAD], i);
		snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
		unlink(path);
	}
	teardown();
}
END_TEST

static void add(struct buf *b, uint64_t v, size_t size)
{
	buf_add(b, &v, size);
}

static void add_code(struct buf *b, uint64_t time_ns, uint64_t addr, uint64_t index,
		     const char *name)
{
	add(b, 0, 4); /* JIT_CODE_LOAD */
	add(b, 56 + strlen(name) + 1 + 4, 4);
	add(b, time_ns, 8);
	add(b, getpid(), 4);
	add(b, getpid(), 4);
	add(b, addr, 8);
	add(b, addr, 8);
	add(b, 4, 8);
	add(b, index, 8);
	buf_add(b, name, strlen(name) + 1);
	add(b, 0xc3, 4);
}

/* Two functions at one address, one after the other: the time of the sample decides. The dump announces itself by being mapped. */
START_TEST(jitdump)
{
	struct buf b = { 0 };
	char path[64];

	if (!setup())
		T_SKIP(NEEDS);
	uint64_t code = anonymous_code(), t0 = clock_mono_ns();
	add(&b, 0x4a695444, 4);
	add(&b, 1, 4);
	add(&b, 40, 4);
	add(&b, 62, 4);
	add(&b, 0, 4);
	add(&b, getpid(), 4);
	add(&b, t0, 8);
	add(&b, 0, 8);
	add_code(&b, t0 + 10, code, 1, "older");
	add_code(&b, t0 + 1000, code, 2, "newer");
	snprintf(path, sizeof path, "%s/jit-%d.dump", dir, getpid());
	write_file(path, b.data, b.len);
	int fd = file_open(path);
	void *marker = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	ck_assert_ptr_ne(marker, MAP_FAILED);
	apply();
	struct given g = { .n_user = 1, .addr = { code + 1 } };
	sample_at(getpid(), getpid(), "x", g, t0 + 500);
	sample_at(getpid(), getpid(), "x", g, t0 + 2000);
	unlink(path);
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "older");
	ck_assert_str_eq(stack_of(1), "newer");
	munmap(marker, 4096);
	buf_done(&b);
	teardown();
}
END_TEST

static void until_samples(uint64_t n)
{
	for (int i = 0; i < 10000 && profile->samples.n < n; i++) {
		resolve_run(resolver);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	ck_assert_uint_eq(profile->samples.n, n);
}

/* When the process gets another image or ends, or its pid is reused, the names of the old code are as good as they get. */
START_TEST(pending_until_the_image_goes)
{
	enum { PID = 4000000 };
	struct side_record fork = { .kind = SIDE_FORK, .pid = PID, .tid = PID, .ppid = 2 };
	struct side_record exec = { .kind = SIDE_COMM, .pid = PID, .tid = PID, .exec = true };
	struct side_record exit = { .kind = SIDE_EXIT, .pid = PID, .tid = PID };
	struct side_record code = {
		.kind = SIDE_MMAP, .pid = PID, .tid = PID, .start = 0x1000, .len = 0x1000
	};

	if (!setup())
		T_SKIP(NEEDS);
	record(fork, NULL, 0);
	for (int i = 0; i < 3; i++) {
		record(exec, "jit", 0);
		record(code, "//anon", 0);
		sample(PID, 0x1000);
		ck_assert_uint_eq(profile->samples.n, i);
		record(i == 0 ? exec : i == 1 ? fork : exit, "x", 0);
		if (i == 2) /* two seconds later it is certain */
			record(exit, NULL, 2000000000);
		until_samples(i + 1); /* another process was asked for them */
		ck_assert_str_eq(stack_of(i), "[anon]");
	}
	teardown();
}
END_TEST

/* Samples that wait for names are bounded: beyond the limit they are handed over unchanged, also when the other process, on a busy
 * machine, has answered nothing by then. */
START_TEST(pending_samples_are_bounded)
{
	if (!setup())
		T_SKIP(NEEDS);
	uint64_t code = anonymous_code();
	apply();
	enum { SAMPLES = 150000 }; /* of 80 bytes each, more than twice JIT_MAX_PENDING_BYTES */
	for (int i = 0; i < SAMPLES; i++)
		sample(getpid(), code);
	ck_assert_uint_gt(profile->samples.n, 30000);
	resolve_symbolize(resolver);
	ck_assert_uint_eq(profile->samples.n, SAMPLES);
	teardown();
}
END_TEST

/* --- labels ----------------------------------------------------------------------------------- */

#define CONTAINER "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

START_TEST(container)
{
	char group[160];

	if (geteuid() || !setup())
		T_SKIP("needs root");
	compile(program_text, "", "prog");
	/* any hierarchy will do; v2 if it is the only one */
	snprintf(group, sizeof group, "%s/docker-%d/" CONTAINER,
		 access("/sys/fs/cgroup/cgroup.procs", F_OK) ? "/sys/fs/cgroup/pids"
							     : "/sys/fs/cgroup",
		 getpid());
	char command[512];
	snprintf(command, sizeof command, "mkdir -p %s && echo $$ >%s/cgroup.procs && exec %s/prog",
		 group, group, dir);
	if (access("/sys/fs/cgroup/pids/cgroup.procs", W_OK) &&
	    access("/sys/fs/cgroup/cgroup.procs", W_OK)) {
		teardown();
		T_SKIP("no cgroup can be made here");
	}
	struct child c = run_shell(command);
	apply();
	sample(c.pid, c.addr);
	ck_assert_str_eq(label_of(0, "container_id"), CONTAINER);
	sample(getppid(), 0x10);
	ck_assert_str_ne(label_of(1, "container_id"), CONTAINER);
	end_program(&c);
	shell_do("rmdir %s $(dirname %s)", group, group);
	teardown();
}
END_TEST

START_TEST(series)
{
	if (!setup())
		T_SKIP(NEEDS);
	for (int i = 0; i < 6; i++)
		sample_at(getpid(), getpid() + i % 2, i % 3 ? "a" : "b",
			  (struct given){ .n_user = 1, .addr = { 0x10 } }, clock_mono_ns());
	ck_assert_uint_eq(profile->samples.n, 6);
	/* main thread: b a a, the other: a a b; process is the last name of the main thread */
	static const char *const comm[] = { "b", "a", "a", "b", "a", "a" };
	static const char *const process[] = { "b", "b", "a", "a", "a", "a" };
	for (int i = 0; i < 6; i++) {
		ck_assert_str_eq(label_of(i, "comm"), comm[i]);
		ck_assert_str_eq(label_of(i, "process"), process[i]);
		ck_assert_int_eq(profile->samples.value[i], 1);
		ck_assert_uint_eq(profile->samples.pid[i], getpid());
		ck_assert_uint_eq(profile->samples.tid[i], getpid() + i % 2);
	}
	ck_assert_uint_eq(profile->samples.series[2], profile->samples.series[4]);
	ck_assert_int_eq(profile->series.series.v[profile->samples.series[0]].period, 10101010);
	teardown();
}
END_TEST

UNIT_MAIN("resolve_stacks", callers, order_and_sides, markers, astray, stacks_are_preserved,
	  contents_are_bounded, vsyscall_and_vdso, perf_map, perf_map_at_the_end, perf_map_in_parts,
	  foreign_perf_map, perf_map_of_a_process_that_has_ended, jitdump,
	  pending_until_the_image_goes, pending_samples_are_bounded, container, series)
