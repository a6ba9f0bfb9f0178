// tier: test
/* The resolver on real processes: their mappings come from the kernel's own records, the samples from here. */
// run: alone: what it takes is compared with what comes and goes on the machine
#include "collect/process/process.h"
#include "collect/resolve/resolver.h"
#include "program_copy.h"
#include "resolve_world.h"

#include <dirent.h>
#include <spawn.h>

/* --- files ------------------------------------------------------------------------------------ */

/* Its file and the process are gone, and its record was read in between. */
START_TEST(gone_when_resolved)
{
	if (!setup())
		T_SKIP(NEEDS);
	compile(program_text, "", "short");
	struct child c = run_program("short", "");
	see();
	shell_do("rm %s/short", dir);
	end_program(&c);
	apply();
	sample(c.pid, c.addr + 1);
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "work_here");
	ck_assert_uint_eq(profile->meta.loss[LOSS_OBJECT_GONE], 0);
	teardown();
}
END_TEST

/* It was not looked at while it ran: while the file is there, the record is proof enough; another file of that name is not taken for it. */
START_TEST(gone_when_seen)
{
	if (!setup())
		T_SKIP(NEEDS);
	compile(program_text, "", "stays");
	compile(program_text, "", "goes");
	struct child c = run_program("stays", ""), d = run_program("goes", "");
	end_program(&c);
	end_program(&d);
	compile("int work_here(void) { return 0; } int main(void) { return 1; }", "", "other");
	shell_do("mv %s/other %s/goes", dir, dir);
	apply();
	sample(c.pid, c.addr + 1);
	sample(d.pid, d.addr + 1);
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "work_here");
	ck_assert_int_eq(strncmp(stack_of(1), "goes+0x", 7), 0);
	ck_assert_uint_eq(profile->meta.loss[LOSS_OBJECT_GONE], 1);
	teardown();
}
END_TEST

/* Really gone: offset and name stay, and the loss is counted once. */
START_TEST(object_lost)
{
	if (!setup())
		T_SKIP(NEEDS);
	compile(program_text, "-DX=1 -Wl,--build-id=0x0123456789abcdef", "lost");
	struct child c = run_program("lost", "");
	end_program(&c);
	shell_do("rm %s/lost", dir);
	apply();
	sample(c.pid, c.addr + 1);
	sample(c.pid, c.addr + 2);
	resolve_symbolize(resolver);
	ck_assert_int_eq(strncmp(stack_of(0), "lost+0x", 7), 0);
	ck_assert_uint_eq(profile->meta.loss[LOSS_OBJECT_GONE], 1);
	struct given no_rows = { .n_user = 1, .walk_end = WALK_NO_FP, .addr = { c.addr + 1 } };
	struct resolve_stats stats;
	sample_at(c.pid, c.pid, "lost", no_rows, clock_mono_ns()); /* no file, no unwind table */
	ck_assert_int_eq(strncmp(stack_of(2), "[truncated: no file];lost+0x", 28), 0);
	resolve_get_stats(resolver, &stats);
	ck_assert_uint_eq(stats.unsymbolized, 2);
	ck_assert_uint_eq(stats.ends[WALK_NO_FILE], 1);
	teardown();
}
END_TEST

/* It was looked for when its first frame came, and not found after that. */
START_TEST(lost_while_awaited)
{
	struct object *lost = NULL;

	if (!setup())
		T_SKIP(NEEDS);
	compile(program_text, "-DX=2", "sought");
	struct child c = run_program("sought", "");
	end_program(&c);
	shell_do("rm %s/sought", dir);
	apply();
	for (size_t i = 0; i < resolver->objects.all.n; i++) {
		struct object *o = resolver->objects.all.v[i];
		if (o && o->name && strstr(o->name, "/sought"))
			lost = o;
	}
	ck_assert_ptr_nonnull(lost);
	lost->state = OBJECT_AWAITED;
	sample(c.pid, c.addr + 1);
	ck_assert_uint_eq(profile->meta.loss[LOSS_OBJECT_GONE], 0);
	lost->state = OBJECT_GONE; /* as object_take_far does */
	resolve_symbolize(resolver);
	resolve_symbolize(resolver);
	ck_assert_uint_eq(profile->meta.loss[LOSS_OBJECT_GONE], 1);
	teardown();
}
END_TEST

START_TEST(opened_later)
{
	if (!setup())
		T_SKIP(NEEDS);
	compile(program_text, "", "prog");
	compile(library_text, "-shared -fPIC", "lib.so");
	char lib[64];
	snprintf(lib, sizeof lib, "%s/lib.so", dir);
	struct child c = run_program("prog", lib);
	apply();
	sample(c.pid, c.addr);
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "work_elsewhere");
	ck_assert_str_eq(profile_str(profile, profile_frame_binary(profile, 0)), "lib.so");
	end_program(&c);
	teardown();
}
END_TEST

/* A file system visible only to the process, in another pid namespace. (In a chroot, whose root is no mount point, unshare cannot keep mounts from
 * propagating.) */
START_TEST(other_namespaces)
{
	if (geteuid() || !setup())
		T_SKIP("needs root");
	char command[512], id[64];
	/* A build id of its own, or it would be named after another test's program. */
	snprintf(id, sizeof id, "-Wl,--build-id=0x%016llx", (unsigned long long)clock_mono_ns());
	compile(program_text, id, "prog");
	shell_do("mkdir %s/hidden", dir);
	snprintf(command, sizeof command,
		 "exec unshare -m $(unshare -m true 2>/dev/null || echo --propagation=unchanged) "
		 "-p -f sh -c 'mount -t tmpfs none %s/hidden && "
		 "cp %s/prog %s/hidden/inside && exec %s/hidden/inside'",
		 dir, dir, dir, dir);
	struct child c = run_shell(command);
	apply();
	char *pid = shell("pgrep -P %d", c.pid);
	sample(atol(pid), c.addr);
	end_program(&c);
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "work_here");
	ck_assert_str_eq(profile_str(profile, profile_frame_binary(profile, 0)), "inside");
	free(pid);
	teardown();
}
END_TEST

/* --- processes -------------------------------------------------------------------------------- */

/* Known only from /proc: it started earlier, and there is no record of it. */
START_TEST(ran_before)
{
	temp_dir(dir);
	compile(program_text, "", "before");
	struct child c = run_program("before", "");
	char old_dir[32];
	memcpy(old_dir, dir, sizeof dir);
	if (!setup())
		T_SKIP(NEEDS);
	sample(c.pid, c.addr);
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "work_here");
	ck_assert_str_eq(label_of(0, "process"), "test"); /* the main thread's name then */
	sample_at(c.pid, c.pid + 1, "thread", (struct given){ .n_user = 1, .addr = { c.addr } },
		  clock_mono_ns());
	ck_assert_str_eq(label_of(1, "comm"), "thread");
	ck_assert_str_eq(label_of(1, "process"), "test");
	end_program(&c);
	shell_do("rm -rf %s", old_dir);
	teardown();
}
END_TEST

/* A tick of cycles may stand for several periods (bpf/cycle_clock.h). */
START_TEST(stands_for_periods)
{
	if (!setup())
		T_SKIP(NEEDS);
	for (uint16_t periods = 0; periods < 4; periods++)
		take_event(&(struct event_sample){ .kind = EVENT_SAMPLE,
						   .periods = periods,
						   .time_ns = clock_mono_ns(),
						   .tgid = getpid(),
						   .tid = getpid(),
						   .cgroup_id = 1 });
	ck_assert_uint_eq(profile->samples.n, 4);
	for (int64_t i = 0; i < 4; i++)
		ck_assert_int_eq(profile->samples.value[i], i ? i : 1);
	teardown();
}
END_TEST

/* Not even in the snapshot. */
START_TEST(never_heard_of)
{
	if (!setup())
		T_SKIP(NEEDS);
	compile(program_text, "", "secret");
	struct child c = run_program("secret", "");
	sample_at(c.pid, c.pid + 1, "thread", (struct given){ .n_user = 1, .addr = { c.addr } },
		  clock_mono_ns());
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "work_here");
	ck_assert_str_eq(label_of(0, "process"), "secret");
	end_program(&c);
	teardown();
}
END_TEST

/* The shell before and the program after its exec, by the time of the sample. */
START_TEST(exec_in_time)
{
	if (!setup())
		T_SKIP(NEEDS);
	compile(program_text, "", "after");
	uint64_t sh_map = 0;
	struct child c = run_program("after", "");
	see();
	qsort(records.v, records.n, sizeof *records.v, by_time);
	uint64_t exec_ns = 0;
	for (size_t i = 0; i < records.n; i++) {
		const struct kept *k = &records.v[i];

		if ((pid_t)k->r.pid != c.pid)
			continue;
		if (k->r.kind == SIDE_COMM && k->r.exec)
			exec_ns = k->r.time_ns;
		if (k->r.kind == SIDE_MMAP && strstr(k->name, "sh") && k->name[0] == '/' &&
		    !strstr(k->name, dir))
			sh_map = k->r.start;
	}
	ck_assert_uint_ne(sh_map, 0);
	bool sampled = false;
	for (size_t i = 0; i < records.n; i++) {
		if (!sampled && records.v[i].r.time_ns >= exec_ns) {
			sample(c.pid, sh_map + 0x10);
			sampled = true;
		}
		records.v[i].r.name = records.v[i].name;
		resolve_apply(resolver, &records.v[i].r);
	}
	vec_clear(&records);
	sample(c.pid, c.addr);
	sample(c.pid, sh_map + 0x10);
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(1), "work_here");
	ck_assert_str_eq(stack_of(2), "[unknown]"); /* the shell's code is gone */
	const char *sh = profile_str(profile, profile->frames.mappings.v[leaf_of(0)->mapping].name);
	ck_assert_msg(strstr(sh, "sh") && !strstr(sh, dir), "%s", sh);
	end_program(&c);
	teardown();
}
END_TEST

START_TEST(fork_without_exec)
{
	if (!setup())
		T_SKIP(NEEDS);
	apply();
	pid_t pid = fork();
	if (pid == 0)
		pause();
	apply();
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0); /* too late for /proc */
	sample(pid, (uintptr_t)function_of_the_test);
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "function_of_the_test");
	teardown();
}
END_TEST

/* Another process with the same pid: only records can distinguish them. */
START_TEST(pid_used_again)
{
	if (!setup())
		T_SKIP(NEEDS);
	compile(program_text, "", "first");
	struct child c = run_program("first", "");
	apply();
	sample(c.pid, c.addr);
	end_program(&c);
	apply();
	record((struct side_record){ .kind = SIDE_FORK, .pid = c.pid, .tid = c.pid, .ppid = 1 },
	       NULL, 0);
	record((struct side_record){ .kind = SIDE_COMM, .pid = c.pid, .tid = c.pid, .exec = true },
	       "second", 0);
	sample_at(c.pid, c.pid + 1, "x", (struct given){ .n_user = 1, .addr = { c.addr } },
		  clock_mono_ns());
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "work_here");
	ck_assert_str_eq(stack_of(1), "[unknown]");
	ck_assert_str_eq(label_of(1, "process"), "second");
	teardown();
}
END_TEST

/* After lost records the table is read again, once for all earlier losses. */
START_TEST(lost_records)
{
	if (!setup())
		T_SKIP(NEEDS);
	compile(program_text, "", "missed");
	struct child c = run_program("missed", "");
	see();
	vec_clear(&records);
	record((struct side_record){ .kind = SIDE_LOST, .lost = 17 }, NULL, 0);
	ck_assert_uint_eq(profile->meta.loss[LOSS_SIDE_BAND], 17);
	sample_at(c.pid, c.pid + 1, "x", (struct given){ .n_user = 1, .addr = { c.addr } },
		  clock_mono_ns());
	resolve_symbolize(resolver);
	ck_assert_str_eq(stack_of(0), "work_here");
	ck_assert_str_eq(label_of(0, "process"), "missed");
	end_program(&c);
	teardown();
}
END_TEST

/* A process with too many mappings: the others are counted as lost. */
START_TEST(mappings_beyond_the_limit)
{
	struct resolve_stats before, after;

	if (!setup())
		T_SKIP(NEEDS);
	record((struct side_record){ .kind = SIDE_FORK, .pid = INT32_MAX, .tid = INT32_MAX }, NULL,
	       0);
	resolve_get_stats(resolver, &before);
	for (uint64_t i = 0; i < PROCESS_MAX_MAPS + 10; i++)
		record((struct side_record){ .kind = SIDE_MMAP,
					     .pid = INT32_MAX,
					     .tid = INT32_MAX,
					     .start = i << 13,
					     .len = 4096 },
		       i & 1 ? "[a]" : "[b]", 0);
	resolve_get_stats(resolver, &after);
	ck_assert_uint_eq(after.mappings_refused, before.mappings_refused + 10);
	teardown();
}
END_TEST

static int open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* n processes of the programs first … first + programs - 1. */
static void run_short(int n, int first, int programs)
{
	char path[64], *argv[] = { path, NULL };
	pid_t pid;

	for (int i = 0; i < n; i++) {
		snprintf(path, sizeof path, "%s/p%d", dir, first + i % programs);
		if (i < programs)
			program_copy(path, first + i);
		ck_assert_int_eq(posix_spawn(&pid, path, NULL, NULL, argv, NULL), 0);
		if (i % 10 == 0)
			apply();
		next_hash = 1; /* one stack for all */
		sample(pid, 0x1234);
		waitpid(pid, NULL, 0);
	}
	apply();
}

static void let_time_pass(uint64_t from_s, uint64_t to_s)
{
	for (; from_s < to_s; from_s += 2)
		record((struct side_record){ .kind = SIDE_EXIT, .pid = INT32_MAX }, NULL,
		       from_s * 1000000000);
}

/* Two thousand processes of two hundred programs come and go: their memory is released. */
START_TEST(soak)
{
	struct resolve_stats before, after;

	if (!setup())
		T_SKIP(NEEDS);
	children_only = true;
	run_short(100, 0, 10);
	let_time_pass(0, 30);
	vec_done(&records);
	resolve_get_stats(resolver, &before);
	int fds = open_descriptors();
	size_t bytes = mallinfo2().uordblks;
	uint64_t samples = profile->samples.n;
	run_short(2000, 10, 200);
	let_time_pass(30, 60);
	vec_done(&records);
	resolve_get_stats(resolver, &after);
	ck_assert_uint_eq(profile->samples.n, samples + 2000);
	/* other processes on the machine, if records were lost and all were read again */
	ck_assert_uint_le(after.processes, before.processes + 200);
	ck_assert_uint_le(after.objects, before.objects + 50);
	uint64_t others =
		after.processes > before.processes ? after.processes - before.processes : 0;
	ck_assert_uint_le((uint64_t)open_descriptors(), (uint64_t)fds + 50 + others);
	/* rows of the profile and resolved stacks stay: below 300 bytes a sample; and a series of each program, with its labels; and the other
	 * processes, with their mappings */
	ck_assert_uint_le(mallinfo2().uordblks, bytes + 2000 * 300 + 200 * 1024 + others * 2048);
	teardown();
}
END_TEST

UNIT_MAIN("resolve", gone_when_resolved, gone_when_seen, object_lost, lost_while_awaited,
	  opened_later, other_namespaces, ran_before, stands_for_periods, never_heard_of,
	  exec_in_time, fork_without_exec, pid_used_again, lost_records, mappings_beyond_the_limit,
	  soak)
