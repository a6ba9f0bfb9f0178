// tier: test
/* Labels of processes: of real ones in this machine's cgroups, and of files in a test directory. */
#include "base/clock.h"
#include "collect/proc/proc_stat.h"
#include "collect/process/object.h"
#include "collect/process/process.h"
#include "collect/resolve/labels.h"
#include "shell.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define S 1000000000ull

static struct label_table table;

static const char *label(uint32_t set, enum process_label k)
{
	return strtab_get(&table.texts, table.sets.v[set].v[k]);
}

static struct process process_of(pid_t pid)
{
	return (struct process){ .pid = pid };
}

/* The user is read from /proc. */
static uint32_t looked_up(struct process *p, uint64_t cgroup_id, uint64_t now_ns)
{
	return process_labels(&table, p, (struct sampled_owner){ cgroup_id, EVENT_NO_UID }, now_ns);
}

START_TEST(own)
{
	struct process p = process_of(getpid());
	char exe[4096] = "";

	label_table_init(&table, "/");
	uint32_t set = looked_up(&p, 1, S);
	ck_assert_int_gt(readlink("/proc/self/exe", exe, sizeof exe - 1), 0);
	ck_assert_str_eq(label(set, LABEL_EXECUTABLE), strrchr(exe, '/') + 1);
	ck_assert_str_eq(label(set, LABEL_USER), getpwuid(geteuid())->pw_name);
	ck_assert_str_eq(label(set, LABEL_SERVICE), "");
	ck_assert_uint_eq(table.looks, 1);
	label_table_done(&table);
}
END_TEST

/* A process whose cgroup id is unknown, as no sample had it: its cgroup is read, and not confused with another. */
START_TEST(never_sampled)
{
	struct process p = process_of(getpid());

	label_table_init(&table, "/");
	ck_assert_str_ne(label(looked_up(&p, 0, S), LABEL_EXECUTABLE), "");
	ck_assert_uint_eq(table.known.n, 0);
	ck_assert(!map_get(&table.cgroups, 0));
	looked_up(&p, 1, S); /* now it was */
	ck_assert_uint_eq(table.looks, 2);
	label_table_done(&table);
}
END_TEST

/* After ½, 1, 2 … 64 s; at once in another group. */
START_TEST(looking_again)
{
	struct process p = process_of(getpid());

	label_table_init(&table, "/");
	for (uint64_t t = 0; t <= 200; t++) {
		looked_up(&p, 1, (1000 + t) * S);
		table.second_ns = 0; /* this tests the times, not the budget */
	}
	ck_assert_uint_eq(table.looks, 1 + 9); /* at 0, 1, 2, 4, 8, 16, 32, 64, 128, 192 */
	looked_up(&p, 2, 1201 * S);
	ck_assert_uint_eq(table.looks, 11);
	label_table_done(&table);
}
END_TEST

START_TEST(budget)
{
	struct process p = process_of(getpid());

	label_table_init(&table, "/");
	looked_up(&p, 1, 10 * S);
	table.second_ns = 20 * S;
	table.spent_ns[0] = table.spent_ns[1] = S;
	looked_up(&p, 1, 20 * S + 1);
	ck_assert_uint_eq(table.looks, 1);
	looked_up(&p, 1, 21 * S + 1);
	ck_assert_uint_eq(table.looks, 2);
	label_table_done(&table);
}
END_TEST

/* The CPU time of lookups that read only a cgroup. */
START_TEST(reading_cgroups_counts)
{
	uint64_t begin_ns, all_ns;

	label_table_init(&table, "/");
	begin_ns = clock_thread_ns();
	for (int i = 0; i < 200; i++) {
		struct process p = process_of(getpid());
		p.is_kernel_thread = true;
		looked_up(&p, 0, S);
	}
	all_ns = clock_thread_ns() - begin_ns;
	ck_assert_uint_gt(table.spent_ns[0], all_ns / 2);
	label_table_done(&table);
}
END_TEST

/* fork, then exec of a program that is gone before it is looked at. */
START_TEST(inherited)
{
	struct object_table objects;
	struct process_table processes;

	object_table_init(&objects, 10);
	process_table_init(&processes, &objects);
	label_table_init(&table, "/");
	struct process *parent = process_add(&processes, getpid());
	uint32_t set = looked_up(parent, 1, S);
	struct process *child = process_fork(&processes, getpid(), INT32_MAX);
	ck_assert_uint_eq(looked_up(child, 1, S), set);
	uint64_t looks = table.looks;
	struct process *ended = process_fork(&processes, getpid(), INT32_MAX - 1);
	ended->is_over = true; /* known without a look */
	ck_assert_uint_eq(looked_up(ended, 1, S), set);
	ck_assert_uint_eq(table.looks, looks);
	process_exec(&processes, child);
	uint32_t after = looked_up(child, 1, S);
	ck_assert_str_eq(label(after, LABEL_EXECUTABLE), "");
	ck_assert_str_eq(label(after, LABEL_USER), label(set, LABEL_USER));
	process_exec(&processes, child);
	process_labels_exec(&table, child, "/usr/bin/gone");
	after = looked_up(child, 1, S);
	ck_assert_str_eq(label(after, LABEL_EXECUTABLE), "gone");

	label_table_renew(&table, &processes);
	ck_assert_str_eq(label(child->labels, LABEL_EXECUTABLE), "gone");
	ck_assert_str_eq(label(parent->labels, LABEL_USER), getpwuid(geteuid())->pw_name);
	ck_assert_uint_eq(table.sets.n, 3);
	process_table_done(&processes);
	object_table_done(&objects);
	label_table_done(&table);
}
END_TEST

/* A program that root starts as another user, when the budget is spent. */
START_TEST(user_of_the_sample)
{
	const struct sampled_owner root = { 1, 0 }, other = { 1, 12345 };
	struct object_table objects;
	struct process_table processes;

	object_table_init(&objects, 10);
	process_table_init(&processes, &objects);
	label_table_init(&table, "/");
	struct process *parent = process_add(&processes, getpid());
	uint32_t set = process_labels(&table, parent, root, 10 * S);
	ck_assert_str_eq(label(set, LABEL_USER), "root");
	table.second_ns = 20 * S;
	table.spent_ns[0] = table.spent_ns[1] = S;
	uint64_t looks = table.looks;
	struct process *child = process_fork(&processes, getpid(), INT32_MAX);
	ck_assert_uint_eq(process_labels(&table, child, root, 20 * S + 1), set);
	process_exec(&processes, child);
	process_labels_exec(&table, child, "/usr/bin/program");
	uint32_t after = process_labels(&table, child, other, 20 * S + 2);
	ck_assert_str_eq(label(after, LABEL_EXECUTABLE), "program");
	ck_assert_str_eq(label(after, LABEL_USER), "12345");
	struct process *grandchild = process_fork(&processes, INT32_MAX, INT32_MAX - 1);
	ck_assert_uint_eq(process_labels(&table, grandchild, other, 20 * S + 3), after);
	grandchild->is_over = true;
	set = process_labels(&table, grandchild, root, 20 * S + 4);
	ck_assert_str_eq(label(set, LABEL_USER), "root");
	ck_assert_uint_eq(table.looks, looks);
	process_table_done(&processes);
	object_table_done(&objects);
	label_table_done(&table);
}
END_TEST

/* --- a process in its own groups -------------------------------------------------------------- */

static char group[128];

/* In systemd's hierarchy or in v2's, whichever is writable. */
static bool make_group(const char *path)
{
	static const char *const mounts[] = { "/sys/fs/cgroup/systemd", "/sys/fs/cgroup" };

	for (size_t i = 0; i < sizeof mounts / sizeof *mounts; i++) {
		struct stat st;
		char procs[128];
		snprintf(procs, sizeof procs, "%s/cgroup.procs", mounts[i]);
		if (stat(procs, &st) || access(procs, W_OK))
			continue;
		snprintf(group, sizeof group, "%s/%s", mounts[i], path);
		char command[300];
		snprintf(command, sizeof command, "mkdir -p '%s' 2>/dev/null", group);
		if (system(command) == 0)
			return true;
	}
	return false;
}

static pid_t child_in_group(uid_t uid)
{
	int ready[2];
	char byte;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char command[300];
		snprintf(command, sizeof command, "echo %d >'%s/cgroup.procs'", getpid(), group);
		if (system(command) || setresuid(uid, uid, uid))
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (write(ready[1], "x", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 100 && rmdir(group) && errno == EBUSY; i++)
		usleep(10000);
	for (char *slash; (slash = strrchr(group, '/')) && strstr(group, "cresset-test");) {
		*slash = '\0';
		rmdir(group);
	}
}

START_TEST(in_a_unit)
{
	if (geteuid() || !make_group("cresset-test.slice/some\\x2dthing.service"))
		T_SKIP("needs root and a cgroup that it may write to");
	label_table_init(&table, "/");
	pid_t pid = child_in_group(12345);
	struct process p = process_of(pid);
	uint32_t set = looked_up(&p, 1, S);
	ck_assert_str_eq(label(set, LABEL_UNIT), "some\\x2dthing.service");
	ck_assert_str_eq(label(set, LABEL_USER), "12345");
	ck_assert_str_eq(label(set, LABEL_CONTAINER_ID), "");
	end_child(pid);
	label_table_done(&table);
}
END_TEST

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* A container as docker makes it, with its file under a test directory: uid 1 is named by the host, not by the container. */
START_TEST(in_a_container)
{
	char dir[32];

	if (geteuid() || !make_group("cresset-test.slice/docker-" ID ".scope"))
		T_SKIP("needs root and a cgroup that it may write to");
	temp_dir(dir);
	shell_do("mkdir -p %s/etc %s/var/lib/docker/containers/" ID, dir, dir);
	shell_do("echo 'daemon:x:1:1:::' >%s/etc/passwd", dir);
	shell_do("echo '{\"Name\":\"/web_1\"}' >%s/var/lib/docker/containers/" ID "/config.v2.json",
		 dir);
	label_table_init(&table, dir);
	pid_t pid = child_in_group(1);
	struct process p = process_of(pid);
	uint32_t set = looked_up(&p, 1, S);
	ck_assert_str_eq(label(set, LABEL_CONTAINER_ID), ID);
	ck_assert_str_eq(label(set, LABEL_CONTAINER), "web_1");
	ck_assert_str_eq(label(set, LABEL_USER), "1");
	ck_assert_str_eq(label(set, LABEL_UNIT), "");
	end_child(pid);
	label_table_done(&table);
	shell_do("rm -rf %s", dir);
}
END_TEST

START_TEST(uids)
{
	static const char text[] = "Name:\tUid:\nState:\tS\nUid:\t1000\t0\t3\t4\nGid:\t9\n";
	uint32_t uid;

	ck_assert_int_eq(proc_uid_parse(text, strlen(text), &uid), 0);
	ck_assert_uint_eq(uid, 0);
	ck_assert_int_lt(proc_uid_parse("\nUid:\t1", 7, &uid), 0);
	ck_assert_int_lt(proc_uid_parse("\nUid:\t1\t", 8, &uid), 0);
	ck_assert_int_lt(proc_uid_parse("\nUid:\t1\t4294967296", 18, &uid), 0);
	ck_assert_int_eq(proc_uid(getpid(), &uid), 0);
	ck_assert_uint_eq(uid, geteuid());
	ck_assert_int_lt(proc_uid(INT32_MAX, &uid), 0);
}
END_TEST

UNIT_MAIN("labels", own, never_sampled, looking_again, budget, reading_cgroups_counts, inherited,
	  user_of_the_sample, in_a_unit, in_a_container, uids)
