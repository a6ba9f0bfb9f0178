/* Examines the threads of a process for one that waits in a safe system call. */
#include "attach/attach_thread.h"

#include "attach/attach.h"
#include "attach/attach_frames.h"
#include "attach/attach_status.h"
#include "attach/attach_symbols.h"
#include "base/fs.h"
#include "base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	THREADS_MAX = 4096, /* limit: examined threads of a process */
	/* limit: stack of a chosen thread; one with more is not chosen */
	STACK_MAX = 1 << 20,
	STACK_PIECE = 64 << 10,
	NEAR_WORDS = 64, /* pthread_cond_wait's frames down to its system call are within these */
};

enum park { PARK_ALWAYS, PARK_BY_FD, PARK_FUTEX };
struct parking {
	int nr;
	enum park how;
	const char *name;
};

#ifdef __x86_64__
static const struct parking calls[] = {
	{ SYS_poll, PARK_ALWAYS, "poll" },
	{ SYS_ppoll, PARK_ALWAYS, "ppoll" },
	{ SYS_epoll_wait, PARK_ALWAYS, "epoll_wait" },
	{ SYS_epoll_pwait, PARK_ALWAYS, "epoll_pwait" },
	{ SYS_epoll_pwait2, PARK_ALWAYS, "epoll_pwait2" },
	{ SYS_select, PARK_ALWAYS, "select" },
	{ SYS_pselect6, PARK_ALWAYS, "pselect6" },
	{ SYS_nanosleep, PARK_ALWAYS, "nanosleep" },
	{ SYS_clock_nanosleep, PARK_ALWAYS, "clock_nanosleep" },
	{ SYS_accept, PARK_ALWAYS, "accept" },
	{ SYS_accept4, PARK_ALWAYS, "accept4" },
	{ SYS_recvfrom, PARK_ALWAYS, "recvfrom" },
	{ SYS_recvmsg, PARK_ALWAYS, "recvmsg" },
	{ SYS_wait4, PARK_ALWAYS, "wait4" },
	{ SYS_rt_sigtimedwait, PARK_ALWAYS, "rt_sigtimedwait" },
	{ SYS_read, PARK_BY_FD, "read" },
	{ SYS_futex, PARK_FUTEX, "futex" },
};
#else
static const struct parking calls[] = { { -1, PARK_ALWAYS, NULL } };
#endif

static const struct parking *parking_of(int nr)
{
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i].nr == nr && calls[i].name)
			return &calls[i];
	return NULL;
}

const char *attach_parking_call(int nr)
{
	const struct parking *p = parking_of(nr);
	return p ? p->name : NULL;
}

/* A named pipe, or a terminal. Its file system, which may not respond, is not queried. */
static bool is_named_pipe(uint32_t pid, uint64_t fd)
{
	enum { CONSOLE = 4, TTY = 5, PTS = 136, PTS_LAST = 143 };
	struct statx st;
	char path[64];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/fd/%" PRIu64, pid, fd);
	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE, &st))
		return false;
	uint32_t major = st.stx_rdev_major;
	return S_ISFIFO(st.stx_mode) ||
	       (S_ISCHR(st.stx_mode) &&
		(major == CONSOLE || major == TTY || (major >= PTS && major <= PTS_LAST)));
}

/* A read of a regular file may be the loader's, and cannot be interrupted. */
static bool waits_for_others(uint32_t pid, uint64_t fd)
{
	static const char *const kinds[] = { "pipe:", "socket:", "anon_inode:" };
	char name[48], target[64];

	snprintf(name, sizeof name, "fd/%" PRIu64, fd);
	attach_link(pid, name, target, sizeof target);
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strncmp(target, kinds[i], strlen(kinds[i])) == 0)
			return true;
	return is_named_pipe(pid, fd);
}

static bool read_memory(uint32_t pid, uint64_t addr, void *to, size_t len)
{
	struct iovec local = { to, len }, remote = { (void *)(uintptr_t)addr, len };
	return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)len;
}

static const struct attach_range *range_of(const struct attach_symbols *s, uint64_t word)
{
	for (size_t i = 0; i < s->ranges.n; i++)
		if (word >= s->ranges.v[i].start && word < s->ranges.v[i].end)
			return &s->ranges.v[i];
	return NULL;
}

struct stack_says {
	bool is_unsafe, waits;
};

static void look_at(uint32_t pid, const struct attach_symbols *s, uint64_t word, bool near,
		    struct stack_says *says)
{
	const struct attach_range *r = range_of(s, word);

	if (!r || (r->kind == ATTACH_WAITS && !near))
		return;
	if (r->kind == ATTACH_NO_WORD)
		says->is_unsafe = true;
	else if (attach_frames_is_behind_call(pid, word))
		*(r->kind == ATTACH_WAITS ? &says->waits : &says->is_unsafe) = true;
}

/* A stack that cannot be read, or is unusually large, is unsafe. */
static struct stack_says read_stack(uint32_t pid, uint64_t sp, uint64_t end,
				    const struct attach_symbols *s)
{
	struct stack_says says = { .is_unsafe = sp & 7 || end <= sp || end - sp > STACK_MAX };
	uint64_t *words = xmalloc(STACK_PIECE);
	bool near = true;

	for (uint64_t at = sp; at < end && (near || !says.is_unsafe); at += STACK_PIECE) {
		size_t n = end - at < STACK_PIECE ? end - at : STACK_PIECE;
		if (!read_memory(pid, at, words, n)) {
			says.is_unsafe = true;
			break;
		}
		for (size_t i = 0; i < n / 8 && (near || !says.is_unsafe); i++) {
			near = at == sp && i < NEAR_WORDS;
			look_at(pid, s, words[i], near, &says);
		}
		near = false;
	}
	free(words);
	return says;
}

enum attach_stack_words attach_place_words(uint32_t pid, const struct attach_place *p,
					   uint64_t stack_end, const struct attach_symbols *symbols)
{
	const struct parking *call = parking_of(p->nr);
	const struct attach_range *in = range_of(symbols, p->pc);

	if (!call || (in && in->kind == ATTACH_NO_CALL_FROM))
		return ATTACH_NOT_PARKED;
	if (call->how == PARK_BY_FD && !waits_for_others(pid, p->arg0))
		return ATTACH_NOT_PARKED;
	struct stack_says says = read_stack(pid, p->sp, stack_end, symbols);
	if (call->how == PARK_FUTEX && !says.waits && !(in && in->kind == ATTACH_WAITS))
		return ATTACH_NOT_PARKED;
	return says.is_unsafe ? ATTACH_WORDS_SPEAK_AGAINST : ATTACH_WORDS_CLEAR;
}

/* --- stopped threads -------------------------------------------------------------------------- */

/* The word of a condition's wait may be a stale one. */
static bool frames_agree(const struct attach_place *p, const struct attach_walk *w,
			 struct attach_frames *frames, const struct attach_symbols *symbols)
{
	return attach_frames_are_free(frames, w, symbols) &&
	       (parking_of(p->nr)->how != PARK_FUTEX || attach_frames_wait(w, symbols));
}

bool attach_parked_is_safe(uint32_t pid, const struct attach_place *p, uint64_t stack_end,
			   const uint64_t *regs, struct attach_frames *frames,
			   const struct attach_symbols *symbols)
{
	enum attach_stack_words words = attach_place_words(pid, p, stack_end, symbols);

	if (words == ATTACH_NOT_PARKED)
		return false;
	if (words == ATTACH_WORDS_CLEAR && !symbols->allocators.n)
		return true;
	struct attach_walk w = attach_frames_walk(frames, regs);
	return w.is_whole ? frames_agree(p, &w, frames, symbols)
			  : words == ATTACH_WORDS_CLEAR && !w.is_early;
}

#ifdef __x86_64__

/* struct ptrace_rseq_configuration and struct rseq_cs of the kernel (5.13). */
struct rseq_place {
	uint64_t address;
	uint32_t size, signature, flags, unused;
};
struct rseq_section {
	uint32_t version, flags;
	uint64_t start, length, abort;
};
enum { GET_RSEQ_CONFIGURATION = 0x420f, RSEQ_SECTION_AT = 8 };

/* In a restartable sequence: the kernel would not restart it after our code. */
static bool is_in_sequence(uint32_t pid, uint32_t tid, uint64_t pc)
{
	struct rseq_place at = { 0 };
	struct rseq_section in;
	uint64_t section = 0;

	if (syscall(SYS_ptrace, GET_RSEQ_CONFIGURATION, tid, (void *)sizeof at, &at) < 0 ||
	    !at.address)
		return false;
	if (!read_memory(pid, at.address + RSEQ_SECTION_AT, &section, sizeof section))
		return true;
	return section && (!read_memory(pid, section, &in, sizeof in) || pc - in.start < in.length);
}

/* The C library finds a thread by a word that points to itself: code that switches threads on its
 * own may have another one there. */
static bool has_thread(uint32_t pid, uint64_t thread_pointer)
{
	uint64_t self = 0;

	return thread_pointer && read_memory(pid, thread_pointer, &self, sizeof self) &&
	       self == thread_pointer;
}

bool attach_running_is_safe(uint32_t pid, uint32_t tid, const uint64_t *regs,
			    uint64_t thread_pointer, struct attach_frames *frames,
			    const struct attach_symbols *symbols)
{
	struct attach_walk w = attach_frames_walk(frames, regs);

	return attach_frames_are_outside(frames, &w, symbols) && has_thread(pid, thread_pointer) &&
	       !is_in_sequence(pid, tid, regs[PT_IP]);
}

#endif

/* --- threads of a process --------------------------------------------------------------------- */

struct end_search {
	uint64_t sp, end;
};
static bool visit_end(void *ctx, const struct gpu_map *m)
{
	struct end_search *s = ctx;

	if (s->sp >= m->start && s->sp < m->end)
		s->end = m->end;
	return !s->end && m->start <= s->sp;
}

uint64_t attach_stack_end(uint32_t pid, const struct gpu_attach_view *view, uint64_t sp)
{
	struct end_search s = { .sp = sp };

	return view->maps(pid, visit_end, &s) == 0 ? s.end : 0;
}

/* Lower is better. */
static int rank_of(const struct attach_thread *t, const struct gpu_attach_library *library)
{
	for (const char *const *p = library->pollers; p && *p; p++)
		if (strncmp(t->name, *p, strlen(*p)) == 0)
			return 0;
	return parking_of(t->place.nr)->how == PARK_FUTEX ? 2 : 1;
}

/* A thread with clear words before any other. */
static bool is_better(const struct attach_thread *t, const struct attach_thread *best,
		      const struct gpu_attach_library *library)
{
	return t->words != best->words ? t->words > best->words
				       : rank_of(t, library) < rank_of(best, library);
}

static bool look_at_thread(uint32_t pid, uint32_t tid, struct attach_thread *out)
{
	char path[64];
	struct attach_syscall call;

	*out = (struct attach_thread){ .tid = tid };
	if (!attach_syscall_read(pid, tid, &call) || !parking_of(call.nr))
		return false;
	out->place = (struct attach_place){ call.nr, call.args[0], call.sp, call.pc };
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task/%" PRIu32 "/comm", pid, tid);
	fs_read_line(path, out->name, sizeof out->name);
	return true;
}

bool attach_may_run(uint32_t pid, uint32_t tid, const struct gpu_attach_opts *opts)
{
	struct attach_status s;

	return attach_status_read(pid, tid, &s) == 0 && s.state == 'R' &&
	       attach_can_call(pid, tid, opts);
}

bool attach_can_call(uint32_t pid, uint32_t tid, const struct gpu_attach_opts *opts)
{
	struct attach_status s;

	if (attach_status_read(pid, tid, &s) < 0 || s.state == 'D' || s.state == 'T' ||
	    (s.state == 'S' && attach_is_frozen(pid, tid)))
		return false;
	return s.seccomp == 0 || attach_is_forced(opts, GPU_ATTACH_SECCOMP);
}

static void consider(uint32_t pid, uint32_t tid, const struct gpu_attach_opts *opts,
		     const struct attach_symbols *symbols, struct attach_choice *out)
{
	struct attach_thread t;

	out->threads++;
	if (!look_at_thread(pid, tid, &t))
		return;
	t.words = ATTACH_WORDS_CLEAR;
	if (out->parked && !is_better(&t, &out->best, opts->library))
		return; /* safe or not, it would not be chosen */
	if (!attach_can_call(pid, tid, opts)) {
		out->kept_out++;
		return;
	}
	t.stack_end = attach_stack_end(pid, opts->view, t.place.sp);
	t.words = attach_place_words(pid, &t.place, t.stack_end, symbols);
	if (t.words == ATTACH_NOT_PARKED)
		return;
	if (!out->parked++ || is_better(&t, &out->best, opts->library))
		out->best = t;
}

size_t attach_threads(uint32_t pid, uint32_t *tids, size_t max)
{
	char path[32];
	struct dirent *e;
	size_t n = 0;

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/task", pid);
	DIR *dir = opendir(path);
	while (dir && n < max && (e = readdir(dir)))
		if ((tids[n] = strtoul(e->d_name, NULL, 10)))
			n++;
	if (dir)
		closedir(dir);
	return n;
}

int attach_choose(uint32_t pid, const struct gpu_attach_opts *opts,
		  const struct attach_symbols *symbols, uint32_t skip, struct attach_choice *out)
{
	uint32_t *tids = xcalloc(THREADS_MAX, sizeof *tids);
	size_t n = attach_threads(pid, tids, THREADS_MAX);

	*out = (struct attach_choice){ 0 };
	for (size_t i = 0; i < n; i++)
		if (tids[i] != skip)
			consider(pid, tids[i], opts, symbols, out);
	free(tids);
	return n ? 0 : -ESRCH;
}
