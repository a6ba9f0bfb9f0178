/* Reads rows that another process writes at the same time. */
#include "mem/live/live_read.h"

#include "base/clock.h"
#include "base/err.h"
#include "gpu/ring/ring_find.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SIZE_MAX_BYTES (1ull << 47) /* limit: bytes of a block */
#define WEIGHT_MAX     1e12         /* limit: blocks that a sample stands for */
#define BYTES_MAX      1e15         /* … and their bytes: sums of all rows fit */

/* --- opening ---------------------------------------------------------------------------------- */

struct opening {
	struct live *out;
	uint32_t owner;
};

static int check_file(int fd, struct err *err)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st) || st.st_size != LIVE_SIZE ||
	    st.st_blksize != sysconf(_SC_PAGESIZE))
		return err_set(err, EPROTO, "the memory of its library is not as expected");
	return 0;
}

/* Two readers would stop each other's samples. The kernel releases the lock of one that dies. */
static int lock_file(int fd, int *lock, struct err *err)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	*lock = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (*lock < 0)
		return err_set(err, errno, "its memory: %s", strerror(errno));
	if (fcntl(*lock, F_OFD_SETLK, &whole) == 0)
		return 0;
	close(*lock);
	return err_set(err, EBUSY, "another recording reads its allocations");
}

/* Maps all of it, or the control alone. */
static int map_file(int fd, uint32_t owner, size_t size, int access, void **out, struct err *err)
{
	int rc = check_file(fd, err);
	if (rc)
		return rc;
	void *p = mmap(NULL, size, access, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return err_set(err, errno, "the memory of its library cannot be mapped");
	const struct live_control *c = p;
	if (__atomic_load_n(&c->magic, __ATOMIC_ACQUIRE) != LIVE_MAGIC)
		rc = err_set(err, ENOENT, "its library is still starting");
	else if (c->version != LIVE_VERSION || c->size != LIVE_SIZE)
		rc = err_set(err, EPROTO, "its library has another version: %u", c->version);
	else if (c->pid != owner)
		rc = err_set(err, ENOENT, "the memory is another process's");
	if (rc)
		munmap(p, size);
	else
		*out = p;
	return rc;
}

static int take(void *ctx, int fd, struct err *err)
{
	const struct opening *o = ctx;
	int rc = map_file(fd, o->owner, LIVE_SIZE, PROT_READ | PROT_WRITE, &o->out->memory, err);

	if (!rc)
		rc = lock_file(fd, &o->out->lock, err);
	if (rc && o->out->memory) {
		munmap(o->out->memory, LIVE_SIZE);
		o->out->memory = NULL;
	}
	return rc;
}

int live_open(pid_t pid, struct live *out, struct err *err)
{
	struct live got = { .pid = pid };
	struct opening o = { &got, ring_owner(pid) };
	int rc = ring_find(pid, LIVE_NAME, O_RDWR, take, &o, err);

	if (rc == 0)
		*out = got;
	return rc;
}

int live_open_fd(pid_t pid, int fd, struct live *out, struct err *err)
{
	struct live got = { .pid = pid };
	int rc = take(&(struct opening){ &got, ring_owner(pid) }, fd, err);

	if (rc == 0)
		*out = got;
	return rc;
}

void live_close(struct live *l)
{
	if (!l->memory)
		return;
	munmap(l->memory, LIVE_SIZE);
	close(l->lock);
	l->memory = NULL;
}

/* --- the control ------------------------------------------------------------------------------ */

void live_beat(const struct live *l, uint64_t now_ns)
{
	struct live_control *c = l->memory;

	__atomic_store_n(&c->heartbeat_ns, now_ns, __ATOMIC_RELAXED);
}

uint32_t live_ring(const struct live *l)
{
	struct live_control *c = l->memory;
	uint32_t bell = __atomic_add_fetch(&c->bell, 1, __ATOMIC_RELEASE);

	syscall(SYS_futex, &c->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	return bell;
}

bool live_want(const struct live *l, bool on, uint64_t mean_bytes, uint64_t now_ns)
{
	struct live_control *c = l->memory;

	__atomic_store_n(&c->mean_wanted, mean_bytes, __ATOMIC_RELAXED);
	live_beat(l, now_ns);
	uint32_t before = __atomic_exchange_n(&c->want, on, __ATOMIC_RELEASE);
	if (before != on)
		live_ring(l);
	return before;
}

struct live_now live_look(const struct live *l)
{
	const volatile struct live_control *c = l->memory;
	uint32_t state = c->state, refused = c->refused, by_hand = c->by_hand;

	return (struct live_now){
		.state = state < LIVE_STATES ? state : LIVE_PARKED,
		.refused = refused < LIVE_REFUSALS ? refused : LIVE_NOT_REFUSED,
		.by_hand = by_hand < LIVE_BY_HANDS ? by_hand : LIVE_UNDECIDED,
		.slots = c->slots,
		.slots_foreign = c->slots_foreign,
		.objects = c->objects,
		.mean_bytes = c->mean_bytes,
		.samples = c->samples,
		.inherited = c->inherited,
		.seen = c->seen,
		.removed = c->removed,
		.dropped = c->dropped,
		.helper_ns = c->helper_ns,
	};
}

const char *live_refusal_text(enum live_refusal refused)
{
	static const char *const texts[LIVE_REFUSALS] = {
		[LIVE_SANITIZER] = "it has the allocator of a sanitizer",
		[LIVE_NO_MALLOC] = "no object in it defines malloc",
	};

	return texts[refused];
}

const char *live_function_text(uint32_t by)
{
	static const char *const texts[LIVE_FUNCTIONS] = {
		[LIVE_MALLOC] = "malloc",
		[LIVE_CALLOC] = "calloc",
		[LIVE_REALLOC] = "realloc",
		[LIVE_REALLOCARRAY] = "reallocarray",
		[LIVE_MEMALIGN] = "memalign",
		[LIVE_ALIGNED_ALLOC] = "aligned_alloc",
		[LIVE_POSIX_MEMALIGN] = "posix_memalign",
		[LIVE_VALLOC] = "valloc",
		[LIVE_PVALLOC] = "pvalloc",
		[LIVE_NEW] = "operator new",
		[LIVE_NEW_ARRAY] = "operator new[]",
	};

	return by < LIVE_FUNCTIONS ? texts[by] : NULL;
}

/* --- without the rows ------------------------------------------------------------------------- */

struct peeking {
	uint32_t owner;
	struct live_now *out;
};

static int look_at(void *ctx, int fd, struct err *err)
{
	const struct peeking *k = ctx;
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct live l = { 0 };
	int rc = map_file(fd, k->owner, LIVE_ROWS_AT, PROT_READ, &l.memory, err);

	if (rc)
		return rc;
	*k->out = live_look(&l);
	k->out->has_reader = fcntl(fd, F_OFD_GETLK, &whole) == 0 && whole.l_type != F_UNLCK;
	munmap(l.memory, LIVE_ROWS_AT);
	return 0;
}

int live_peek(pid_t pid, struct live_now *out, struct err *err)
{
	struct peeking k = { ring_owner(pid), out };

	return ring_find(pid, LIVE_NAME, O_RDONLY, look_at, &k, err);
}

const void *live_watch(pid_t pid, int fd)
{
	void *control = NULL;
	int rc = map_file(fd, ring_owner(pid), LIVE_ROWS_AT, PROT_READ, &control, NULL);

	return rc ? NULL : control;
}

void live_forget(const void *watched)
{
	if (watched)
		munmap((void *)(uintptr_t)watched, LIVE_ROWS_AT);
}

enum live_by_hand live_decided(const void *watched)
{
	const volatile struct live_control *c = watched;
	uint32_t by_hand = c->by_hand;

	return by_hand < LIVE_BY_HANDS ? by_hand : LIVE_UNDECIDED;
}

struct deciding {
	uint32_t owner;
	enum live_by_hand to;
	bool is_so;    /* it was before */
	uint32_t bell; /* its value then */
};

static int decide_at(void *ctx, int fd, struct err *err)
{
	struct deciding *d = ctx;
	struct live l = { 0 };
	int rc = map_file(fd, d->owner, LIVE_ROWS_AT, PROT_READ | PROT_WRITE, &l.memory, err);

	if (rc)
		return rc;
	struct live_control *c = l.memory;
	d->is_so = __atomic_exchange_n(&c->by_hand, d->to, __ATOMIC_RELEASE) == d->to;
	d->bell = live_ring(&l);
	munmap(l.memory, LIVE_ROWS_AT);
	return 0;
}

/* It may look parked while it starts: `seen` shows whether it has noticed the bell. */
static bool has_parked(const struct live_now *now, uint32_t bell)
{
	return now->state == LIVE_CHILD ||
	       (now->state == LIVE_PARKED && (int32_t)(now->seen - bell) >= 0);
}

static int wait_parked(pid_t pid, uint32_t bell, struct err *err)
{
	uint64_t until_ns = clock_mono_ns() + LIVE_ANSWER_NS;

	do {
		struct live_now now;
		int rc = live_peek(pid, &now, &(struct err){ 0 });

		if (rc == -ENOENT || rc == -ESRCH)
			return err_set(err, ESRCH, "process %d has ended, or runs another program",
				       pid);
		if (rc == 0 && now.by_hand != LIVE_DETACHED)
			return err_set(err, ECANCELED, "process %d was attached again", pid);
		if (rc == 0 && (now.refused || has_parked(&now, bell)))
			return 0;
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	} while (clock_mono_ns() < until_ns);
	return err_set(err, ETIMEDOUT, "process %d: its library does not respond", pid);
}

int live_decide(pid_t pid, enum live_by_hand by_hand, struct err *err)
{
	struct deciding d = { .owner = ring_owner(pid), .to = by_hand };
	int rc = ring_find(pid, LIVE_NAME, O_RDWR, decide_at, &d, err);

	if (!rc && by_hand == LIVE_DETACHED)
		rc = wait_parked(pid, d.bell, err);
	return rc ? rc : d.is_so ? err_set(err, EALREADY, "process %d is so already", pid) : 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* False for NaN. */
bool live_is_possible(uint64_t number, uint64_t size, double weight)
{
	return number && size < SIZE_MAX_BYTES && weight >= 1 && weight <= WEIGHT_MAX &&
	       (double)size * weight < BYTES_MAX;
}

/* Rows from..to; see live_rows. */
static uint32_t read_rows(const struct live *l, size_t from, size_t to, live_block_fn *fn,
			  void *ctx)
{
	const volatile struct live_row *rows =
		(const volatile void *)((const char *)l->memory + LIVE_ROWS_AT);
	uint32_t wrong = 0;

	for (size_t i = from; i < to; i++) {
		struct live_block b = { .pointer = rows[i].pointer };
		if (b.pointer <= LIVE_ROW_TAKEN)
			continue;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		b.size = rows[i].size;
		b.number = rows[i].number;
		b.weight = rows[i].weight;
		b.born_s = rows[i].born_s;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (rows[i].pointer != b.pointer || rows[i].number != b.number)
			continue; /* freed since */
		if (b.pointer < SIZE_MAX_BYTES && live_is_possible(b.number, b.size, b.weight))
			fn(ctx, &b);
		else
			wrong++;
	}
	return wrong;
}

/* Reading a page that the program has never written would allocate it. */
uint32_t live_rows(const struct live *l, live_block_fn *fn, void *ctx)
{
	const off_t end = LIVE_ROWS_AT + (off_t)LIVE_ROWS * (off_t)sizeof(struct live_row);
	off_t at = LIVE_ROWS_AT;
	uint32_t wrong = 0;

	while (at < end) {
		off_t from = lseek(l->lock, at, SEEK_DATA);
		off_t to = from < at ? -1 : lseek(l->lock, from, SEEK_HOLE);

		if ((from < 0 && errno == ENXIO) || from >= end)
			break;
		if (from < at || to <= from) /* it does not say: all of them */
			from = at, to = end;
		at = to < end ? to : end;
		wrong += read_rows(l, (size_t)(from - LIVE_ROWS_AT) / sizeof(struct live_row),
				   (size_t)(at - LIVE_ROWS_AT) / sizeof(struct live_row), fn, ctx);
	}
	return wrong;
}
