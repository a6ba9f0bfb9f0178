/* Maps the control page, and reads or changes the state. */
#include "gpu/ring/ring_look.h"

#include "base/clock.h"
#include "base/err.h"
#include "gpu/ring/ring_find.h"
#include "gpu/ring/time_space.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int check(const struct ring_control *c, uint32_t owner, bool stub, size_t size,
		 struct err *err)
{
	if (c->magic != (stub ? RING_STUB_MAGIC : RING_MAGIC))
		return err_set(err, EPROTO, "ring: no ring, or not ready");
	if (c->version != RING_VERSION)
		return err_set(err, EPROTO, "ring: version %u, this program knows %d", c->version,
			       RING_VERSION);
	if (c->pid != owner)
		return err_set(err, ENOENT, "ring: inherited from process %u", c->pid);
	if (!c->lanes || c->lanes > RING_LANES_MAX || c->size != size)
		return err_set(err, EPROTO, "ring: %u lanes in %zu bytes", c->lanes, size);
	return 0;
}

/* Checks and uses a copy of the control page. */
int ring_look_fd(int fd, uint32_t owner, bool stub, uint64_t now_ns, struct ring_look *out,
		 struct err *err)
{
	size_t size = 0;
	int rc = ring_check_file(fd, &size, err);

	if (rc)
		return rc;
	void *ring = mmap(NULL, RING_NAMES_AT, PROT_READ, MAP_SHARED, fd, 0);

	if (ring == MAP_FAILED)
		return err_set(err, errno, "ring: mmap failed");
	const struct ring_control c = *(const struct ring_control *)ring;

	rc = check(&c, owner, stub, size, err);
	if (!rc) {
		uint64_t beat = c.heartbeat_ns;

		*out = (struct ring_look){ .detached = stub, .is_asked_back = c.detach != 0 };
		ring_state_of(ring, c.lanes, &out->now);
		out->has_agent = c.agent &&
				 (now_ns < beat || now_ns - beat < RING_AGENT_GONE_MS * 1000000ull);
	}
	munmap(ring, RING_NAMES_AT);
	return rc;
}

struct looking {
	uint32_t owner;
	bool stub;
	uint64_t now_ns; /* on the program's clock */
	struct ring_look *out;
};

static int look_at(void *ctx, int fd, struct err *err)
{
	const struct looking *l = ctx;

	return ring_look_fd(fd, l->owner, l->stub, l->now_ns, l->out, err);
}

int ring_look(pid_t pid, uint64_t now_ns, struct ring_look *out, struct err *err)
{
	struct looking l = { .owner = ring_owner(pid), .out = out };
	int64_t ahead_ns;
	int rc = time_space_ahead(pid, &ahead_ns, err);

	if (rc)
		return rc;
	l.now_ns = ring_time(now_ns, ahead_ns);
	rc = ring_find(pid, RING_NAME, O_RDONLY, look_at, &l, err);
	if (rc == -ENOENT) {
		l.stub = true;
		rc = ring_find(pid, RING_STUB_NAME, O_RDONLY, look_at, &l, err);
	}
	if (rc == 0) {
		out->now.opened_ns = ring_time(out->now.opened_ns, -ahead_ns);
		out->now.closed_ns = ring_time(out->now.closed_ns, -ahead_ns);
	}
	return rc;
}

/* Waits until the library has released the ring, or has one again. */
static int wait_until(pid_t pid, bool detached, struct err *err)
{
	uint64_t until_ns = clock_mono_ns() + RING_ANSWER_NS;

	while (clock_mono_ns() < until_ns) {
		struct ring_look now = { 0 };
		struct err ignored = { 0 };
		int rc = ring_look(pid, clock_mono_ns(), &now, &ignored);

		if (rc == 0 && now.detached == detached)
			return 0;
		if (rc == 0 && now.is_asked_back != detached)
			return err_set(
				err, ENOMEM,
				"process %d: the library has no memory or no descriptor for that",
				pid);
		if (rc && kill(pid, 0) < 0 && errno == ESRCH)
			return err_set(err, ESRCH, "process %d has ended", pid);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	return err_set(err, ETIMEDOUT, "process %d: its library does not respond", pid);
}

int ring_detach(pid_t pid, struct err *err)
{
	struct ring_reader *r = NULL;
	struct ring_look now = { 0 };
	int rc = ring_look(pid, clock_mono_ns(), &now, err);

	if (rc)
		return rc;
	if (now.detached)
		return err_set(err, EALREADY, "process %d is detached", pid);
	rc = ring_open(pid, clock_mono_ns(), &r, err);
	if (rc)
		return rc;
	ring_give_back(r, clock_mono_ns());
	rc = wait_until(pid, true, err);
	ring_close(r);
	return rc;
}

static int ask_for(void *ctx, int fd, struct err *err)
{
	const struct looking *l = ctx;
	size_t size = 0;
	int rc = ring_check_file(fd, &size, err);

	if (rc)
		return rc;
	struct ring_control *c =
		mmap(NULL, RING_NAMES_AT, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (c == MAP_FAILED)
		return err_set(err, errno, "ring: mmap failed");
	const struct ring_control copy = *c;

	rc = check(&copy, l->owner, true, size, err);
	if (!rc) {
		__atomic_store_n(&c->detach, 0, __ATOMIC_RELEASE);
		__atomic_fetch_add(&c->bell, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, &c->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	}
	munmap(c, RING_NAMES_AT);
	return rc;
}

int ring_reattach(pid_t pid, struct err *err)
{
	struct looking l = { .owner = ring_owner(pid), .stub = true };
	struct ring_look now = { 0 };
	int rc = ring_look(pid, clock_mono_ns(), &now, err);

	if (rc)
		return rc;
	if (!now.detached)
		return err_set(err, EALREADY, "process %d has its ring", pid);
	rc = ring_find(pid, RING_STUB_NAME, O_RDWR, ask_for, &l, err);
	return rc ? rc : wait_until(pid, false, err);
}
