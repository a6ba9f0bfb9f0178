// tier: test
/* Between the request and the acknowledgement, the file that holds the batch is synced. Only the kernel is believed: the writing process is traced,
 * and its system calls are inspected. */
#include "profile/frame.h"
#include "profile/profile.h"
#include "profile/series.h"
#include "profile/sink.h"
#include "store/codec/store.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_NS (20000ll * 24 * 3600 * 1000000000)

enum { BATCHES = 60, FDS = 64, ASK = 'a', ANSWER = 'b' };

static int64_t now_of(void *ctx)
{
	return START_NS + *(int *)ctx * 300ll * 1000000000;
}

static struct profile *small_profile(int number)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct type type = { .name = sink_string(s, "cpu") };
	struct series series = { .type = s->ops->type(s, &type) };
	struct frame f = { .kind = FRAME_PYTHON,
			   .mapping = MAPPING_NONE,
			   .function = sink_string(s, "main"),
			   .line = (uint32_t)number };
	uint32_t frame = s->ops->frame(s, &f);
	struct sample sample = { .time_ns = START_NS,
				 .value = 1,
				 .series = s->ops->series(s, &series),
				 .stack = s->ops->stack(s, &frame, 1) };

	s->ops->sample(s, &sample);
	return p;
}

/* Writes a word to /dev/null before each request and after each acknowledgement, for the tracer. */
static void ingest(const char *dir)
{
	int number = 1, words = open("/dev/null", O_WRONLY);
	struct store_opts opts = { .now_ns = now_of, .ctx = &number };
	struct store *s;
	char word;

	if (words < 0 || store_open(dir, &opts, &s, NULL))
		_exit(1);
	for (; number <= BATCHES; number++) {
		struct profile *p = small_profile(number);
		struct store_batch b = { .p = p };
		word = ASK;
		if (write(words, &word, 1) != 1 || store_ingest(s, &b, 1, NULL, NULL))
			_exit(2);
		word = ANSWER;
		if (write(words, &word, 1) != 1)
			_exit(3);
		profile_free(p);
		if (store_maintain(s, 1000000000, NULL) < 0)
			_exit(4);
	}
	_exit(store_close(s, NULL) ? 5 : 0);
}

/* The state of the traced process and its descriptors. */
struct traced {
	pid_t pid;
	bool is_inbox[FDS], dirty[FDS]; /* inbox.db or its journal; written since its last sync */
	bool asked;
	int written, synced; /* since the last request: the inbox's files */
	int answers, unsynced;
};

static void note_open(struct traced *t, long fd)
{
	char link[64], path[256];

	if (fd < 0 || fd >= FDS)
		return;
	snprintf(link, sizeof link, "/proc/%d/fd/%ld", t->pid, fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	const char *name = strrchr(path, '/');
	t->is_inbox[fd] =
		name && (strcmp(name, "/inbox.db") == 0 || strcmp(name, "/inbox.db-wal") == 0);
	t->dirty[fd] = false;
}

static void note_word(struct traced *t, char word)
{
	if (word == ASK) {
		t->asked = true;
		t->written = t->synced = 0;
		return;
	}
	bool dirty = false;
	for (int i = 0; i < FDS; i++)
		dirty |= t->is_inbox[i] && t->dirty[i];
	t->unsynced += !t->asked || dirty || t->written == 0 || t->synced == 0;
	t->answers++;
	t->asked = false;
}

/* A system call that has returned. */
static void note_call(struct traced *t, uint64_t nr, const uint64_t *args, long result)
{
	uint64_t fd = args[0];

	if (nr == SYS_openat) /* used by glibc for every open */
		note_open(t, result);
	if (result < 0 || fd >= FDS)
		return;
	if (nr == SYS_write && args[2] == 1)
		note_word(t, (char)ptrace(PTRACE_PEEKDATA, t->pid, args[1], 0));
	if (!t->is_inbox[fd])
		return;
	if (nr == SYS_pwrite64 || nr == SYS_write || nr == SYS_ftruncate) {
		t->dirty[fd] = true;
		t->written++;
	} else if (nr == SYS_fdatasync || nr == SYS_fsync) {
		t->dirty[fd] = false;
		t->synced++;
	} else if (nr == SYS_close) {
		t->is_inbox[fd] = false;
	}
}

/* Follows the process to its end; returns its exit status. */
static int trace(struct traced *t)
{
	struct __ptrace_syscall_info entry = { 0 }, info;
	int status;

	while (waitpid(t->pid, &status, 0) == t->pid && WIFSTOPPED(status)) {
		if (WSTOPSIG(status) == (SIGTRAP | 0x80) &&
		    ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof info, &info) > 0) {
			if (info.op == PTRACE_SYSCALL_INFO_ENTRY)
				entry = info;
			else if (info.op == PTRACE_SYSCALL_INFO_EXIT)
				note_call(t, entry.entry.nr, (const uint64_t *)entry.entry.args,
					  (long)info.exit.rval);
		}
		ptrace(PTRACE_SYSCALL, t->pid, 0, 0);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

START_TEST(synced_before_it_is_acknowledged)
{
	char dir[] = "/tmp/t_sync.XXXXXX";
	struct traced t = { 0 };
	int status;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	t.pid = fork();
	if (t.pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		ingest(dir);
	}
	ck_assert_int_eq(waitpid(t.pid, &status, 0), t.pid);
	ck_assert(WIFSTOPPED(status));
	ck_assert_int_eq(
		ptrace(PTRACE_SETOPTIONS, t.pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL), 0);
	ptrace(PTRACE_SYSCALL, t.pid, 0, 0);
	ck_assert_int_eq(trace(&t), 0);
	ck_assert_int_eq(t.answers, BATCHES);
	ck_assert_int_eq(t.unsynced, 0);
	ck_assert_int_eq(nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
END_TEST

UNIT_MAIN("store_sync", synced_before_it_is_acknowledged)
