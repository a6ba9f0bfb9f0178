#include "gpu/ring_read.h"

#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct lane_read {
	uint32_t at, size;
	uint64_t tail;
};
struct name_kept {
	char text[RING_NAME_BYTES + 1];
};
struct ring_reader {
	char *ring;
	size_t size;
	uint64_t token; /* this agent */
	uint32_t generation;
	uint32_t n_lanes;
	struct lane_read lanes[RING_LANES_MAX];
	uint32_t names_at, names_size;
	struct map name_of; /* place → index + 1 of names */
	struct name_kept **names;
	uint32_t n_names;
	uint64_t bad_bytes;
	struct name_kept scratch;
};

static struct ring_control *control(const struct ring_reader *r)
{
	return (struct ring_control *)r->ring;
}
static struct ring_lane *lane_shared(const struct ring_reader *r, uint32_t i)
{
	return (struct ring_lane *)(r->ring + RING_LANES_AT) + i;
}

/* --- opening --- */

/* Places are checked on a copy: the program may change the page at any time. */
static int check_lanes(struct ring_reader *r, struct err *err)
{
	for (uint32_t i = 0; i < r->n_lanes; i++) {
		struct ring_lane *there = lane_shared(r, i);
		struct lane_read *l = &r->lanes[i];

		l->at = __atomic_load_n(&there->at, __ATOMIC_RELAXED);
		l->size = __atomic_load_n(&there->size, __ATOMIC_RELAXED);
		if (l->size < 4096 || l->size & (l->size - 1) || l->at & 7 ||
		    l->at < RING_NAMES_AT || l->at > r->size || l->size > r->size - l->at)
			return err_set(err, EPROTO, "ring: lane %u lies at %u, %u bytes, in %zu", i,
				       l->at, l->size, r->size);
		/* What was written for nobody is not read: it is of a window before. */
		l->tail = __atomic_load_n(&there->head, __ATOMIC_ACQUIRE) & ~7ull;
		uint64_t tail = __atomic_load_n(&there->tail, __ATOMIC_ACQUIRE);

		if (!(tail & 7) && l->tail - tail <= l->size)
			l->tail = tail;
		else
			__atomic_store_n(&there->tail, l->tail, __ATOMIC_RELEASE);
	}
	return 0;
}

static int check_control(struct ring_reader *r, uint32_t owner, struct err *err)
{
	struct ring_control c = *control(r);

	if (__atomic_load_n(&control(r)->magic, __ATOMIC_ACQUIRE) != RING_MAGIC)
		return err_set(err, EPROTO, "ring: no ring, or not ready");
	if (c.version != RING_VERSION)
		return err_set(err, EPROTO, "ring: version %u, this program knows %d", c.version,
			       RING_VERSION);
	if (owner && c.pid != owner)
		return err_set(err, ENOENT, "ring: of process %u, inherited", c.pid);
	if (!c.lanes || c.lanes > RING_LANES_MAX || c.size != r->size ||
	    c.names_at != RING_NAMES_AT || c.names_size & 7 ||
	    c.names_size > r->size - RING_NAMES_AT)
		return err_set(err, EPROTO, "ring: %u lanes and %u bytes of names in %zu", c.lanes,
			       c.names_size, r->size);
	r->n_lanes = c.lanes;
	r->names_at = c.names_at;
	r->names_size = c.names_size;
	r->generation = c.generation;
	return check_lanes(r, err);
}

/* The pages may not go away below the reader, nor come from anything but ordinary shared memory. */
static int check_file(int fd, size_t *size, struct err *err)
{
	struct stat st;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(fd, &st))
		return err_set(err, EPROTO, "ring: no sealed memfd");
	if (st.st_size < RING_NAMES_AT || st.st_size > RING_SIZE_MAX ||
	    st.st_blksize != sysconf(_SC_PAGESIZE))
		return err_set(err, EPROTO, "ring: %lld bytes", (long long)st.st_size);
	*size = st.st_size;
	return 0;
}

/* Takes the ring from an agent that is gone. */
static int take(struct ring_reader *r, uint64_t now_ns, struct err *err)
{
	struct ring_control *c = control(r);
	__u64 there = __atomic_load_n(&c->agent, __ATOMIC_ACQUIRE);
	uint64_t beat = __atomic_load_n(&c->heartbeat_ns, __ATOMIC_ACQUIRE);

	if (there && now_ns - beat < RING_AGENT_GONE_MS * 1000000ull)
		return err_set(err, EBUSY, "ring: another agent reads it");
	r->token = hash_mix((uint64_t)getpid() << 32 | (uint32_t)(uintptr_t)r, now_ns) | 1;
	__atomic_store_n(&c->heartbeat_ns, now_ns, __ATOMIC_RELEASE);
	if (!__atomic_compare_exchange_n(&c->agent, &there, r->token, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return err_set(err, EBUSY, "ring: another agent takes it");
	return 0;
}

int ring_open_fd(int fd, uint32_t owner, uint64_t now_ns, struct ring_reader **out, struct err *err)
{
	size_t size = 0;
	int rc = check_file(fd, &size, err);

	if (rc)
		return rc;
	void *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (ring == MAP_FAILED)
		return err_set(err, errno, "ring: mmap failed");
	struct ring_reader *r = xcalloc(1, sizeof *r);

	r->ring = ring;
	r->size = size;
	rc = check_control(r, owner, err);
	if (!rc)
		rc = take(r, now_ns, err);
	if (rc) {
		munmap(ring, size);
		free(r);
		return rc;
	}
	*out = r;
	return 0;
}

/* The process's pid in the innermost namespace that it is in. */
static uint32_t own_pid(pid_t pid)
{
	char path[64], line[512];
	uint32_t found = 0;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof line, f)) {
		if (strncmp(line, "NSpid:", 6))
			continue;
		char *last = strrchr(line, '\t');

		found = last ? strtoul(last + 1, NULL, 10) : 0;
	}
	if (f)
		fclose(f);
	return found;
}

/* Through the program's own descriptor where it still has it: that needs less than map_files. */
static int open_mapped(pid_t pid, const char *range, uint64_t inode)
{
	char path[96];
	struct stat st;

	for (int n = 0; n < 1024; n++) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, n);
		if (stat(path, &st) || st.st_ino != inode || !S_ISREG(st.st_mode))
			continue;
		int fd = open(path, O_RDWR | O_CLOEXEC);

		if (fd >= 0 && fcntl(fd, F_GET_SEALS) >= 0)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	snprintf(path, sizeof path, "/proc/%d/map_files/%s", pid, range);
	return open(path, O_RDWR | O_CLOEXEC);
}

int ring_open(pid_t pid, uint64_t now_ns, struct ring_reader **out, struct err *err)
{
	char path[64], line[PATH_MAX + 256];
	int rc = err_set(err, ENOENT, "process %d has no ring", pid), fd;

	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	FILE *f = fopen(path, "re");

	if (!f)
		return err_set(err, errno, "%s: cannot be read", path);
	while (rc && fgets(line, sizeof line, f)) {
		char range[64];
		unsigned long inode;

		if (!strstr(line, "/memfd:" RING_NAME " ") ||
		    sscanf(line, "%63s %*s %*s %*s %lu", range, &inode) != 2)
			continue;
		fd = open_mapped(pid, range, inode);
		if (fd < 0) {
			rc = err_set(err, errno, "ring of process %d: cannot be opened", pid);
			continue;
		}
		rc = ring_open_fd(fd, own_pid(pid), now_ns, out, err);
		close(fd);
	}
	fclose(f);
	return rc;
}

/* --- windows --- */

static void wake(struct ring_control *c)
{
	__atomic_fetch_add(&c->bell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &c->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Another agent may have taken it, when this one did not beat in time. */
static bool is_ours(const struct ring_reader *r)
{
	return __atomic_load_n(&control(r)->agent, __ATOMIC_ACQUIRE) == r->token;
}

void ring_window(struct ring_reader *r, uint32_t want, uint32_t stacks_per_s, uint64_t now_ns,
		 uint64_t until_ns)
{
	struct ring_control *c = control(r);

	if (!is_ours(r))
		return;
	__atomic_store_n(&c->want, want, __ATOMIC_RELAXED);
	__atomic_store_n(&c->stacks_per_s, stacks_per_s, __ATOMIC_RELAXED);
	__atomic_store_n(&c->deadline_ns, until_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&c->heartbeat_ns, now_ns, __ATOMIC_RELAXED);
	r->generation = __atomic_add_fetch(&c->generation, 1, __ATOMIC_RELEASE);
	wake(c);
}

void ring_beat(struct ring_reader *r, uint64_t now_ns)
{
	if (is_ours(r))
		__atomic_store_n(&control(r)->heartbeat_ns, now_ns, __ATOMIC_RELEASE);
}

void ring_close(struct ring_reader *r)
{
	if (!r)
		return;
	__u64 ours = r->token;

	ring_window(r, 0, 0, 0, 0);
	__atomic_compare_exchange_n(&control(r)->agent, &ours, 0, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	munmap(r->ring, r->size);
	for (uint32_t i = 0; i < r->n_names; i++)
		free(r->names[i]);
	free(r->names);
	map_done(&r->name_of);
	free(r);
}

/* --- records --- */

/* The size that a record of this type has; 0: a later version's. */
static size_t type_size(uint32_t type)
{
	static const uint8_t sizes[RING_TYPES] = {
		[RING_KERNEL] = sizeof(struct ring_kernel),
		[RING_COPY] = sizeof(struct ring_copy),
		[RING_SET] = sizeof(struct ring_copy),
		[RING_SYNC] = sizeof(struct ring_sync),
		[RING_GRAPH] = sizeof(struct ring_graph),
		[RING_MEMORY] = sizeof(struct ring_memory),
		[RING_CALL] = sizeof(struct ring_call),
		[RING_WINDOW] = sizeof(struct ring_window),
	};
	return type < RING_TYPES ? sizes[type] : 0;
}

/* Copies the name that stands at this place, and makes it a line of text. */
static bool name_read(struct ring_reader *r, uint32_t at, struct name_kept *out)
{
	if (at < 8 || at & 7 || at > r->names_size - 8)
		return false;
	const char *from = r->ring + r->names_at + at;
	uint32_t len = __atomic_load_n((const uint32_t *)from, __ATOMIC_ACQUIRE);

	if (!len || len > RING_NAME_BYTES || len > r->names_size - at - 4)
		return false;
	memcpy(out->text, from + 4, len);
	out->text[len] = 0;
	for (uint32_t i = 0; i < len; i++)
		if ((unsigned char)out->text[i] < ' ' || out->text[i] == 127)
			out->text[i] = '?';
	return true;
}

static const char *name_text(struct ring_reader *r, uint32_t at)
{
	uint32_t *known = map_get(&r->name_of, at);

	if (known)
		return r->names[*known - 1]->text;
	if (!r->names_size || !name_read(r, at, &r->scratch))
		return "";
	if (r->n_names == RING_READ_NAMES)
		return r->scratch.text;
	if (!(r->n_names & (r->n_names - 1)))
		r->names =
			xreallocarray(r->names, r->n_names ? 2 * r->n_names : 1, sizeof *r->names);
	r->names[r->n_names] = xmalloc(sizeof **r->names);
	*r->names[r->n_names] = r->scratch;
	map_put(&r->name_of, at, ++r->n_names);
	return r->names[r->n_names - 1]->text;
}

/* What of a lane is there to be read: whole words, no more than it holds. A head that cannot be loses what it may
 * have held. */
static uint64_t lane_held(struct ring_reader *r, struct lane_read *l, uint64_t head)
{
	uint64_t held = head - l->tail;

	if (!(held & 7) && held <= l->size)
		return held;
	r->bad_bytes += held <= l->size ? held : l->size;
	l->tail = head & ~7ull;
	return 0;
}

static size_t lane_poll(struct ring_reader *r, uint32_t i, size_t max_bytes, ring_record_fn *fn,
			void *ctx)
{
	struct lane_read *l = &r->lanes[i];
	struct ring_lane *there = lane_shared(r, i);
	uint64_t held = lane_held(r, l, __atomic_load_n(&there->head, __ATOMIC_ACQUIRE)), used = 0;
	size_t n = 0;

	while (used < held && used < max_bytes) {
		uint32_t place = (l->tail + used) & (l->size - 1);
		const char *from = r->ring + l->at + place;
		union ring_any record;

		memcpy(&record.r, from, sizeof record.r);
		uint64_t len = record.r.words * 8ull, want = type_size(record.r.type);

		if (!len || len > l->size - place || len > held - used || (want && len != want)) {
			r->bad_bytes += held - used;
			used = held;
			break;
		}
		used += len;
		if (!want)
			continue;
		struct ring_record head = record.r;

		memcpy(&record, from, want);
		record.r = head; /* what was checked, whatever stands there by now */
		fn(ctx, &record,
		   record.r.type == RING_KERNEL ? name_text(r, record.kernel.name) : "");
		n++;
	}
	l->tail += used;
	__atomic_store_n(&there->tail, l->tail, __ATOMIC_RELEASE);
	return n;
}

size_t ring_poll(struct ring_reader *r, size_t max_bytes, ring_record_fn *fn, void *ctx)
{
	size_t n = 0;

	for (uint32_t i = 0; i < r->n_lanes && is_ours(r); i++)
		n += lane_poll(r, i, max_bytes, fn, ctx);
	return n;
}

/* --- state --- */

void ring_now(struct ring_reader *r, struct ring_state_now *out)
{
	const struct ring_control c = *control(r);

	*out = (struct ring_state_now){
		.state = c.state,
		.error_part = c.error_part,
		.error_code = c.error_code,
		.cupti_version = c.cupti_version,
		.generation_asked = r->generation,
		.generation_seen = c.seen,
		.opened_ns = c.opened_ns,
		.closed_ns = c.closed_ns,
		.helper_ns = c.helper_ns,
		.overhead_ns = c.overhead_ns,
		.cupti_dropped = c.cupti_dropped,
		.names_lost = c.names_lost,
		.unknown_records = c.unknown_records,
		.bad_bytes = r->bad_bytes,
		.taken = !is_ours(r),
	};
	for (uint32_t i = 0; i < r->n_lanes; i++) {
		const struct ring_lane *l = lane_shared(r, i);

		out->calls += __atomic_load_n(&l->calls, __ATOMIC_RELAXED);
		out->probes += __atomic_load_n(&l->probes, __ATOMIC_RELAXED);
		out->busy_ns += __atomic_load_n(&l->busy_ns, __ATOMIC_RELAXED);
		out->dropped += __atomic_load_n(&l->dropped, __ATOMIC_RELAXED);
	}
	for (size_t i = 0; i + 1 < sizeof out->other && c.other[i]; i++)
		out->other[i] = c.other[i] >= ' ' && c.other[i] < 127 ? c.other[i] : '?';
}

const char *ring_state_text(enum ring_state state)
{
	switch (state) {
	case RING_PARKED:
		return "parked";
	case RING_OPEN:
		return "window open";
	case RING_MUTED:
		return "muted: this CUPTI cannot be switched off again";
	case RING_BUSY:
		return "another tool has CUPTI";
	case RING_INERT:
		return "inert";
	}
	return "unknown";
}

const char *ring_part_text(enum ring_part part)
{
	static const char *const texts[] = {
		[RING_PART_NONE] = "",
		[RING_PART_NO_CUPTI] = "no libcupti is mapped, none lies beside the CUDA runtime",
		[RING_PART_SYMBOLS] = "libcupti lacks a function",
		[RING_PART_TOO_OLD] = "libcupti is too old",
		[RING_PART_SUBSCRIBE] = "cuptiSubscribe failed",
		[RING_PART_CALLBACKS] = "cuptiActivityRegisterCallbacks failed",
		[RING_PART_ENABLE] = "cuptiActivityEnable failed",
		[RING_PART_FATAL] = "CUPTI reported a fatal error",
	};
	return part < sizeof texts / sizeof *texts ? texts[part] : "unknown";
}

const char *ring_work_text(const union ring_any *record)
{
	static const char *const copies[] = {
		"[copy]",
		"[copy host to device]",
		"[copy device to host]",
		"[copy host to array]",
		"[copy array to host]",
		"[copy array to array]",
		"[copy array to device]",
		"[copy device to array]",
		"[copy device to device]",
		"[copy host to host]",
		"[copy between devices]",
	};
	uint8_t kind = record->copy.kind;

	switch (record->r.type) {
	case RING_COPY:
		return copies[kind < sizeof copies / sizeof *copies ? kind : 0];
	case RING_SET:
		return "[set]";
	case RING_SYNC:
		return "[sync]";
	case RING_GRAPH:
		return "[graph]";
	default:
		return "[unknown]";
	}
}
