/* Sends a request to a worker, and waits for the response up to a deadline. */
#include "collect/worker/proc_reader.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/cpu_budget.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/stream.h"
#include "base/vec.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/page_state.h"
#include "collect/proc/proc_owner.h"
#include "collect/proc/process_context.h"
#include "collect/proc/process_memory.h"
#include "collect/worker/helper.h"
#include "collect/worker/left_alone.h"
#include "gpu/device/agent_name.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	WAITS_SAVED_NS = 200000000,
	WORKS_SAVED_NS = 1000000000,
	QUICK_NS = 1000000, /* a response within this time is not charged */
	SMALL_NS = 300000,  /* … to the user of the process */
	MAX_USERS = 4096,   /* users with a share; then all are forgotten */
};

#define QUEUES_SAVED_NS 5000000000ll
#define LATE_NS         3000000000ull

struct proc_reader {
	struct helper *helper;
	struct stream worker;
	uint32_t worker_pid; /* 0: not known yet */
	uint32_t serial;     /* of the last request */
	uint32_t asked_pid, asked_kind;
	uint64_t asked_ns; /* when it was sent; 0: it was served */
	uint64_t cpu_ns;
	struct left_alone pids, owners;
	struct allowance waits, works, queues;
	struct map users; /* → index of shares */
	VEC(struct allowance) shares;
	uint64_t overspent_ns; /* a user may have overspent until then */
	struct proc_reader_stats stats;
	/* Mappings that arrived late: of a process with very many. -1: none */
	int late_fd;
	uint32_t late_pid;
	uint64_t late_ns, late_others;
	bool is_late_cut;
	/* the response being waited for */
	bool has_answer;
	struct read_answer answer;
	int fd;
	struct buf data;
};

struct proc_reader *proc_reader_new(struct helper *helper)
{
	struct proc_reader *r = xcalloc(1, sizeof *r);

	r->helper = helper;
	r->worker.fd = r->fd = r->late_fd = -1;
	r->waits = (struct allowance){ .share = PROC_READER_WAIT_SHARE, .most_ns = WAITS_SAVED_NS };
	r->works = (struct allowance){ .share = PROC_READER_WORK_SHARE, .most_ns = WORKS_SAVED_NS };
	r->queues =
		(struct allowance){ .share = PROC_READER_QUEUE_SHARE, .most_ns = QUEUES_SAVED_NS };
	return r;
}

static void forget_answer(struct proc_reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
	r->has_answer = false;
	buf_clear(&r->data);
}

static void forget_late(struct proc_reader *r)
{
	if (r->late_fd >= 0)
		close(r->late_fd);
	r->late_fd = -1;
}

void proc_reader_free(struct proc_reader *r)
{
	if (!r)
		return;
	forget_answer(r);
	forget_late(r);
	buf_done(&r->data);
	stream_close(&r->worker);
	left_alone_done(&r->pids);
	left_alone_done(&r->owners);
	map_done(&r->users);
	vec_done(&r->shares);
	free(r);
}

/* --- processes that are left alone ------------------------------------------------------------ */

static bool has_stuck(const struct proc_reader *r)
{
	struct helper_stats s;

	helper_get_stats(r->helper, &s);
	return s.stuck[HELPER_READ] > 0;
}

static bool is_left_alone(struct proc_reader *r, uint32_t pid)
{
	uint64_t now_ns;
	uint32_t user;

	if (!r->pids.until_s.n && !r->owners.until_s.n)
		return false;
	now_ns = clock_mono_ns();
	bool is_stuck = has_stuck(r);
	return left_alone_has(&r->pids, pid, now_ns, is_stuck) ||
	       (r->owners.until_s.n && proc_owner(pid, &user) == 0 &&
		left_alone_has(&r->owners, user, now_ns, is_stuck));
}

static void leave_alone(struct proc_reader *r, uint32_t pid)
{
	uint64_t now_ns = clock_mono_ns();
	uint32_t user;

	left_alone_add(&r->pids, pid, now_ns, PROC_READER_LEFT_ALONE_NS);
	if (proc_owner(pid, &user) == 0 && user)
		left_alone_add(&r->owners, user, now_ns, PROC_READER_USER_ALONE_NS);
}

/* --- shares of users -------------------------------------------------------------------------- */

static struct allowance *share_of(struct proc_reader *r, uint32_t user)
{
	const struct allowance full = { .share = PROC_READER_USER_SHARE,
					.most_ns = PROC_READER_USER_SAVED_NS };
	const uint32_t *at = map_get(&r->users, user);

	if (at)
		return &r->shares.v[*at];
	if (r->shares.n >= MAX_USERS) {
		map_clear(&r->users);
		r->shares.n = 0;
	}
	map_put(&r->users, user, (uint32_t)r->shares.n);
	vec_push(&r->shares, full);
	return &r->shares.v[r->shares.n - 1];
}

/* Charges what a process had the worker do to its user. */
static void charge_user(struct proc_reader *r, uint32_t pid, uint64_t busy_ns)
{
	uint64_t now_ns = clock_mono_ns();
	uint32_t user;

	if (busy_ns < SMALL_NS || proc_owner(pid, &user) || !user)
		return;
	struct allowance *share = share_of(r, user);
	allowance_left(share, now_ns);
	allowance_spend(share, busy_ns);
	uint64_t until_ns = now_ns + (share->left_ns < 0 ? (uint64_t)-share->left_ns : 0) *
					     PROC_READER_USER_SHARE;
	if (until_ns > now_ns && until_ns > r->overspent_ns)
		r->overspent_ns = until_ns;
}

static bool has_overspent(struct proc_reader *r, uint32_t pid)
{
	uint64_t now_ns = clock_mono_ns();
	uint32_t user;

	return now_ns < r->overspent_ns && proc_owner(pid, &user) == 0 && user &&
	       allowance_left(share_of(r, user), now_ns) < 0;
}

/* --- the worker ------------------------------------------------------------------------------- */

static bool has_worker(struct proc_reader *r)
{
	int fd = stream_is_open(&r->worker) ? -1 : helper_start(r->helper, HELPER_READ);

	if (fd >= 0) {
		stream_open(&r->worker, fd, sizeof(struct read_answer) + READ_MAX_DATA);
		r->worker_pid = 0;
		r->asked_ns = 0;
	}
	return stream_is_open(&r->worker);
}

static void end_worker(struct proc_reader *r, enum helper_end how)
{
	helper_end(r->helper, HELPER_READ, how, &r->worker);
	r->asked_ns = 0;
}

/* Whether the worker runs, or would if it got a CPU. */
static bool is_running(const struct proc_reader *r)
{
	struct buf b = { 0 };
	char path[32];

	if (!r->worker_pid)
		return true; /* it has not started */
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/stat", r->worker_pid);
	int rc = fs_read_at(AT_FDCWD, path, 4096, &b, NULL);
	const char *end = rc ? NULL : strrchr(buf_cstr(&b), ')');
	bool runs = end && end[1] == ' ' && end[2] == 'R';
	buf_done(&b);
	return runs;
}

/* How long the last request occupied the worker. A wait for a CPU does not count. */
static uint64_t busy_ns(const struct proc_reader *r)
{
	return r->answer.cpu_ns + r->answer.slept_us * 1000ull;
}

static bool take_answer(struct proc_reader *r, const struct stream_message *m, int fd)
{
	if (m->len < sizeof r->answer)
		return false;
	memcpy(&r->answer, m->payload, sizeof r->answer);
	r->cpu_ns += r->answer.cpu_ns;
	if (r->answer.serial != r->serial) { /* there is one request at a time */
		if (fd >= 0)
			close(fd);
		return false;
	}
	charge_user(r, r->asked_pid, busy_ns(r));
	r->asked_ns = 0;
	r->has_answer = true;
	r->fd = fd;
	buf_add(&r->data, (const char *)m->payload + sizeof r->answer, m->len - sizeof r->answer);
	return true;
}

static bool take_message(struct proc_reader *r, const struct stream_message *m)
{
	int fd = m->with_fd ? stream_take_fd(&r->worker) : -1;

	if (m->type == READ_ANSWER)
		return take_answer(r, m, fd);
	if (fd >= 0)
		close(fd);
	if (m->type != READ_HELLO || m->len != sizeof r->worker_pid)
		return false;
	memcpy(&r->worker_pid, m->payload, sizeof r->worker_pid);
	return true;
}

/* Returns false when the worker has died. */
static bool receive(struct proc_reader *r)
{
	struct stream_message m;
	bool is_good = stream_flush(&r->worker) == 0;
	int rc;

	do {
		rc = stream_read(&r->worker);
		while (is_good && !r->has_answer && stream_next(&r->worker, &m) > 0)
			is_good = take_message(r, &m);
	} while (rc > 0 && is_good && !r->has_answer);
	return is_good && (rc > 0 || rc == -EAGAIN);
}

static void wait_until(struct proc_reader *r, uint64_t end_ns)
{
	uint64_t now_ns = clock_mono_ns();
	struct pollfd p = { .fd = r->worker.fd,
			    .events = POLLIN | (stream_has_more(&r->worker) ? POLLOUT : 0) };
	struct timespec left = { .tv_nsec = now_ns < end_ns ? (long)(end_ns - now_ns) : 0 };

	ppoll(&p, 1, &left, NULL);
}

static int64_t wait_ns(struct proc_reader *r, uint64_t now_ns)
{
	int64_t left_ns = allowance_left(&r->waits, now_ns),
		works_ns = allowance_left(&r->works, now_ns);

	if (works_ns < left_ns)
		left_ns = works_ns;
	return left_ns > (int64_t)PROC_READER_WAIT_NS ? (int64_t)PROC_READER_WAIT_NS
	       : left_ns > QUICK_NS                   ? left_ns
						      : QUICK_NS;
}

/* Waits until end_ns, or longer if the worker has had no CPU. Returns false when it has died. */
static bool wait_for(struct proc_reader *r, uint64_t end_ns, uint64_t last_ns)
{
	uint64_t now_ns = clock_mono_ns();
	bool is_there = true;

	while (is_there && !r->has_answer &&
	       (now_ns < end_ns || (now_ns < last_ns && is_running(r)))) {
		wait_until(r, now_ns < end_ns ? end_ns : now_ns + QUICK_NS);
		is_there = receive(r);
		now_ns = clock_mono_ns();
	}
	return is_there;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Charges what a process makes the worker wait or do, and what a busy machine does. */
static void charge_wait(struct proc_reader *r, uint64_t took_ns, uint64_t most_ns)
{
	bool has_slept = !r->has_answer || r->answer.slept;
	uint64_t its_ns = least(took_ns, has_slept ? most_ns : r->answer.cpu_ns);

	if (took_ns <= QUICK_NS)
		return;
	allowance_spend(has_slept ? &r->waits : &r->works, its_ns);
	allowance_spend(&r->queues, took_ns - its_ns);
}

/* Returns -EAGAIN when no response came in time, -EPIPE when the worker has died. */
static int wait_for_answer(struct proc_reader *r)
{
	uint64_t begin_ns = clock_mono_ns(), most_ns = (uint64_t)wait_ns(r, begin_ns);
	bool may_queue = allowance_left(&r->queues, begin_ns) > 0;
	uint64_t last_ns = begin_ns + (may_queue ? 2 * PROC_READER_WAIT_NS : most_ns);
	bool is_there = wait_for(r, begin_ns + most_ns, last_ns);

	charge_wait(r, clock_mono_ns() - begin_ns, most_ns);
	return r->has_answer ? 0 : is_there ? -EAGAIN : -EPIPE;
}

/* Abandons a worker that has slept over a request for long, or run for very long. */
static void judge_worker(struct proc_reader *r)
{
	uint64_t now_ns = clock_mono_ns();

	if (now_ns < r->asked_ns + PROC_READER_SLEEPS_NS ||
	    (now_ns < r->asked_ns + PROC_READER_RUNS_NS && is_running(r)))
		return;
	if (!receive(r) || !r->asked_ns) /* it has responded in the meantime, or died */
		return;
	leave_alone(r, r->asked_pid);
	end_worker(r, HELPER_STUCK);
}

static void keep_late(struct proc_reader *r)
{
	forget_late(r);
	r->late_fd = r->fd;
	r->fd = -1;
	r->late_pid = r->asked_pid;
	r->late_ns = clock_mono_ns();
	r->late_others = r->answer.value;
	r->is_late_cut = r->answer.is_cut;
}

/* Returns whether a request may be sent: an earlier one is served by now, or given up. */
static bool is_free(struct proc_reader *r)
{
	if (!stream_is_open(&r->worker) || !r->asked_ns)
		return true;
	if (!receive(r)) {
		end_worker(r, HELPER_DIED);
		return true;
	}
	if (r->has_answer && r->asked_kind == READ_MAPS && !r->answer.rc)
		keep_late(r);
	forget_answer(r); /* no request still waits for it */
	if (r->asked_ns)
		judge_worker(r);
	return !r->asked_ns;
}

static void send_ask(struct proc_reader *r, struct read_ask *ask, const char *text)
{
	struct buf b = { 0 };

	ask->serial = ++r->serial;
	r->asked_ns = clock_mono_ns();
	r->asked_pid = ask->pid;
	r->asked_kind = ask->kind;
	buf_add(&b, ask, sizeof *ask);
	buf_add(&b, text, strnlen(text, READ_MAX_TEXT - 1));
	stream_put(&r->worker, READ_ASK, b.data, b.len, -1);
	stream_flush(&r->worker);
	buf_done(&b);
}

/* A worker that dies is replaced once for a request: it may have been killed for something else. */
static int call(struct proc_reader *r, struct read_ask *ask, const char *text)
{
	enum { TRIES = 2 };
	int rc = -EPIPE;

	forget_answer(r);
	if (!is_free(r)) {
		r->stats.late++;
		return -EAGAIN;
	}
	if (is_left_alone(r, ask->pid) || has_overspent(r, ask->pid)) {
		r->stats.refused++;
		return -EBUSY;
	}
	for (int i = 0; i < TRIES && rc == -EPIPE; i++) {
		if (!has_worker(r)) {
			r->stats.refused++;
			return -EBUSY;
		}
		send_ask(r, ask, text);
		rc = wait_for_answer(r);
		if (rc == -EPIPE)
			end_worker(r, HELPER_DIED);
	}
	if (rc == -EPIPE)
		leave_alone(r, ask->pid);
	r->stats.late += rc == -EAGAIN;
	return rc ? rc : r->answer.rc;
}

/* --- reads ------------------------------------------------------------------------------------ */

static int memory_piece(struct proc_reader *r, uint32_t pid, uint64_t addr, void *out, size_t len)
{
	struct read_ask ask = { .kind = READ_MEMORY, .pid = pid, .addr = addr, .len = len };
	int rc = call(r, &ask, "");

	if (rc)
		return rc;
	if (r->data.len != len)
		return -EPROTO;
	memcpy(out, r->data.data, len);
	return 0;
}

int proc_reader_memory(struct proc_reader *r, uint32_t pid, uint64_t addr, void *out, size_t len)
{
	int rc = 0;

	if (!r)
		return process_memory_read(pid, addr, out, len);
	for (size_t at = 0; at < len && !rc; at += READ_MAX_DATA) {
		size_t piece = len - at < READ_MAX_DATA ? len - at : READ_MAX_DATA;

		rc = memory_piece(r, pid, addr + at, (char *)out + at, piece);
	}
	return rc;
}

/* Returns the descriptor of the last response; the caller owns it. */
static int taken_fd(struct proc_reader *r)
{
	int fd = r->fd;

	r->fd = -1;
	return fd >= 0 ? fd : -EPROTO;
}

/* Mappings that were requested before, and are not old. */
static int take_late(struct proc_reader *r, uint32_t pid)
{
	is_free(r);
	int fd = r->late_pid == pid && clock_mono_ns() < r->late_ns + LATE_NS ? r->late_fd : -1;

	if (fd >= 0)
		r->late_fd = -1;
	return fd;
}

int proc_reader_maps(struct proc_reader *r, uint32_t pid, proc_map_fn *fn, void *ctx,
		     uint32_t *others)
{
	struct read_ask ask = { .kind = READ_MAPS, .pid = pid };

	if (!r)
		return proc_maps_read(pid, fn, ctx);
	int fd = take_late(r, pid);
	bool is_late = fd >= 0;
	int rc = is_late ? 0 : call(r, &ask, "");
	if (!is_late)
		fd = rc ? rc : taken_fd(r);
	if (fd < 0)
		return fd;
	*others += (uint32_t)(is_late ? r->late_others : r->answer.value);
	bool is_cut = is_late ? r->is_late_cut : r->answer.is_cut;
	rc = proc_maps_read_fd(fd, fn, ctx);
	close(fd);
	return rc ? rc : is_cut;
}

static int taken_file(struct proc_reader *r, struct stat *st)
{
	const struct read_answer *a = &r->answer;
	int fd = taken_fd(r);

	if (fd < 0)
		return fd;
	*st = (struct stat){ .st_dev = a->dev,
			     .st_ino = a->ino,
			     .st_size = (off_t)a->size,
			     .st_mode = a->mode,
			     .st_uid = a->uid,
			     .st_mtim = { a->mtime_ns / 1000000000, a->mtime_ns % 1000000000 } };
	return fd;
}

int proc_reader_open(struct proc_reader *r, const struct mapped_file *f, struct stat *st)
{
	struct read_ask ask = { .kind = READ_OPEN,
				.pid = f->pid,
				.start = f->start,
				.end = f->end,
				.pgoff = f->pgoff,
				.ino = f->ino,
				.maj = f->maj,
				.min = f->min,
				.build_id_len = f->build_id_len };

	if (!r)
		return mapped_file_open_mapping(f, st);
	if (f->build_id_len)
		memcpy(ask.build_id, f->build_id, f->build_id_len);
	int rc = call(r, &ask, f->path);
	return rc ? rc : taken_file(r, st);
}

int proc_reader_open_program(struct proc_reader *r, uint32_t pid, struct stat *st)
{
	struct read_ask ask = { .kind = READ_PROGRAM, .pid = pid };
	char path[32];

	if (!r) {
		snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);
		return plain_file_open(path, st);
	}
	int rc = call(r, &ask, "");
	return rc ? rc : taken_file(r, st);
}

int proc_reader_context(struct proc_reader *r, uint32_t pid, uint64_t addr,
			struct process_context *out)
{
	struct read_ask ask = { .kind = READ_CONTEXT, .pid = pid, .addr = addr };

	if (!r)
		return process_context_read(pid, addr, out);
	*out = (struct process_context){ 0 };
	int rc = call(r, &ask, "");
	if (rc)
		return rc;
	if (r->data.len != sizeof *out)
		return -EPROTO;
	memcpy(out, r->data.data, sizeof *out);
	return 0;
}

int proc_reader_find_context(struct proc_reader *r, uint32_t pid, uint64_t *addr)
{
	struct read_ask ask = { .kind = READ_FIND_CONTEXT, .pid = pid };

	*addr = r ? 0 : process_context_find(pid);
	int rc = r ? call(r, &ask, "") : 0;
	if (r && !rc)
		*addr = r->answer.value;
	return rc;
}

int proc_reader_agent_fits(struct proc_reader *r, uint32_t pid)
{
	struct read_ask ask = { .kind = READ_AGENT, .pid = pid };

	return r ? call(r, &ask, "") : agent_name_fits((pid_t)pid);
}

int proc_reader_ring(struct proc_reader *r, uint32_t pid, const char *name, int flags, uint32_t nth)
{
	struct read_ask ask = {
		.kind = READ_RING, .pid = pid, .len = (uint32_t)flags, .addr = nth
	};
	int rc = call(r, &ask, name);

	return rc ? rc : taken_fd(r);
}

int proc_reader_pages(struct proc_reader *r, uint32_t pid, const uint64_t *addresses, size_t n,
		      uint8_t *states)
{
	struct read_ask ask = { .kind = READ_PAGES, .pid = pid };
	struct buf text = { 0 };

	if (!r)
		return page_states_read(pid, addresses, n, states);
	page_addresses_put(&text, addresses, n);
	int rc = call(r, &ask, buf_cstr(&text));
	buf_done(&text);
	if (!rc && r->data.len != n)
		rc = -EPROTO;
	if (!rc)
		memcpy(states, r->data.data, n);
	return rc;
}

uint64_t proc_reader_clock_ns(const struct proc_reader *r)
{
	return clock_thread_ns() + (r ? r->cpu_ns : 0);
}

void proc_reader_get_stats(const struct proc_reader *r, struct proc_reader_stats *out)
{
	*out = r ? r->stats : (struct proc_reader_stats){ 0 };
}
