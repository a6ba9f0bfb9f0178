/* Writes records into the lanes of a ring. */
#include "gpu/ring/ring_write.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SPINS = 1 << 12, NAME_PROBES = 64 };

size_t ring_size(const struct ring_shape *s)
{
	return RING_NAMES_AT + (size_t)s->names_size + (size_t)s->buffer_lanes * s->buffer_size +
	       (size_t)s->call_lanes * s->call_size;
}

void ring_lay_out(void *ring, const struct ring_shape *s, uint32_t pid)
{
	struct ring_control *c = ring;
	struct ring_lane *lanes = (void *)((char *)ring + RING_LANES_AT);
	uint32_t at = RING_NAMES_AT + s->names_size;

	c->version = RING_VERSION;
	c->lanes = s->buffer_lanes + s->call_lanes;
	c->size = ring_size(s);
	c->names_at = RING_NAMES_AT;
	c->names_size = s->names_size;
	c->names_used = 8; /* 0 is no name */
	c->pid = pid;
	for (uint32_t i = 0; i < c->lanes; i++) {
		lanes[i].at = at;
		lanes[i].size = i < s->buffer_lanes ? s->buffer_size : s->call_size;
		at += lanes[i].size;
	}
}

/* --- lanes --- */

static bool claim(struct ring_lane *lane, uint32_t from, uint32_t tid)
{
	return __atomic_compare_exchange_n(&lane->owner, &from, tid, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* Buffer lanes are those with the size of the first lane: the library and tests make them larger
 * than the others. */
static void lane_range(void *ring, enum ring_lane_kind kind, uint32_t *first, uint32_t *end)
{
	const struct ring_control *c = ring;
	const struct ring_lane *lanes = (void *)((char *)ring + RING_LANES_AT);
	uint32_t n = 0;

	while (n < c->lanes && lanes[n].size == lanes[0].size)
		n++;
	if (n == c->lanes) { /* all have one size: either kind may use any */
		*first = 0;
		*end = n;
		return;
	}
	*first = kind == RING_LANE_BUFFER ? 0 : n;
	*end = kind == RING_LANE_BUFFER ? n : c->lanes;
}

struct ring_lane *ring_lane_take(void *ring, enum ring_lane_kind kind, uint32_t tid, bool *shared)
{
	struct ring_lane *lanes = (void *)((char *)ring + RING_LANES_AT);
	uint32_t first, end;
	int saved = errno;

	lane_range(ring, kind, &first, &end);
	*shared = false;
	for (uint32_t i = first; i + 1 < end; i++) {
		uint32_t owner = __atomic_load_n(&lanes[i].owner, __ATOMIC_RELAXED);

		if (owner == tid || (!owner && claim(&lanes[i], 0, tid)))
			return &lanes[i];
	}
	for (uint32_t i = first; i + 1 < end; i++) {
		uint32_t owner = __atomic_load_n(&lanes[i].owner, __ATOMIC_RELAXED);
		bool gone = owner && syscall(SYS_tgkill, getpid(), owner, 0) < 0 && errno == ESRCH;

		errno = saved;
		if (gone && claim(&lanes[i], owner, tid))
			return &lanes[i];
	}
	*shared = true;
	return &lanes[end - 1];
}

static bool lane_lock(struct ring_lane *lane)
{
	for (int i = 0; i < SPINS; i++) {
		if (!__atomic_exchange_n(&lane->lock, 1, __ATOMIC_ACQUIRE))
			return true;
		while (i < SPINS && __atomic_load_n(&lane->lock, __ATOMIC_RELAXED))
			i++;
	}
	return false;
}

/* For the only writer of this lane. Copies by words, as the sizes are few and small. */
static bool put(void *ring, struct ring_lane *lane, const struct ring_record *record,
		uint32_t words)
{
	uint64_t head = lane->head, tail = __atomic_load_n(&lane->tail, __ATOMIC_ACQUIRE);
	uint32_t size = lane->size, place = head & (size - 1), need = words * 8;
	uint32_t pad = size - place < need ? size - place : 0;
	char *data = (char *)ring + lane->at;

	if (head + pad + need - tail > size)
		return false;
	if (pad) {
		struct ring_record fill = { .type = RING_PAD, .words = pad / 8 };

		memcpy(data + place, &fill, sizeof fill);
		place = 0;
	}
	uint64_t *to = (uint64_t *)(data + place);
	const uint64_t *from = (const uint64_t *)record;

	for (uint32_t i = 0; i < words; i++)
		to[i] = from[i];
	__atomic_store_n(&lane->head, head + pad + need, __ATOMIC_RELEASE);
	return true;
}

bool ring_write(void *ring, struct ring_lane *lane, bool shared, struct ring_record *record,
		size_t size)
{
	record->words = size / 8;
	if (shared && !lane_lock(lane)) {
		ring_lane_add(&lane->dropped, true, 1);
		return false;
	}
	bool ok = put(ring, lane, record, record->words);

	if (shared)
		__atomic_store_n(&lane->lock, 0, __ATOMIC_RELEASE);
	if (!ok)
		ring_lane_add(&lane->dropped, shared, 1);
	return ok;
}

/* --- names --- */

/* Hashes by words of 8 bytes: templated kernels have names of hundreds of bytes, and every record
 * looks one up. 0 stands for a free slot. */
static uint64_t name_hash(const char *name, size_t len)
{
	uint64_t h = len * 0x9e3779b97f4a7c15ull, word;

	for (; len; name += 8, len -= 8) {
		if (len < 8) {
			word = 0;
			memcpy(&word, name, len);
			len = 8;
		} else {
			memcpy(&word, name, 8);
		}
		h = (h ^ word) * 0xff51afd7ed558ccdull; /* MurmurHash3's finalizer */
		h ^= h >> 32;
	}
	return h ? h : 1;
}

static void put_hash(char *to, uint64_t hash)
{
	*to = '~';
	for (int i = 0; i < 16; i++)
		to[1 + i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
}

static uint32_t name_write(struct ring_names *names, const char *name, size_t len, uint64_t hash)
{
	struct ring_control *c = names->ring;
	uint32_t stored = len > RING_NAME_BYTES ? RING_NAME_BYTES : (uint32_t)len;
	uint32_t need = (4 + stored + 7) & ~7u;
	uint32_t at = __atomic_load_n(&c->names_used, __ATOMIC_RELAXED);

	do {
		if (at > c->names_size || need > c->names_size - at) {
			__atomic_fetch_add(&c->names_lost, 1, __ATOMIC_RELAXED);
			return 0;
		}
	} while (!__atomic_compare_exchange_n(&c->names_used, &at, at + need, true,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	char *to = (char *)names->ring + c->names_at + at;

	memcpy(to + 4, name, stored);
	if (stored < len)
		put_hash(to + 4 + stored - 17, hash);
	__atomic_store_n((uint32_t *)to, stored, __ATOMIC_RELEASE);
	return at;
}

/* Two threads may write the same new name at the same time: then it is stored twice, which is
 * harmless. */
uint32_t ring_name(struct ring_names *names, const char *name)
{
	if (!name || !*name)
		return 0;
	size_t len = strlen(name);
	uint64_t hash = name_hash(name, len);

	for (uint32_t i = 0; i < NAME_PROBES; i++) {
		struct ring_name_slot *slot = &names->slots[(hash + i) & (names->n_slots - 1)];
		uint64_t there = __atomic_load_n(&slot->hash, __ATOMIC_ACQUIRE);

		if (!there && __atomic_compare_exchange_n(&slot->hash, &there, hash, false,
							  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			there = hash;
		if (there != hash)
			continue;
		uint32_t at = __atomic_load_n(&slot->at, __ATOMIC_ACQUIRE);

		if (!at && (at = name_write(names, name, len, hash)))
			__atomic_store_n(&slot->at, at, __ATOMIC_RELEASE);
		return at;
	}
	return name_write(names, name, len, hash);
}
