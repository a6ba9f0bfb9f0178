/* Feature sections: host, build ids, command line. */
#include "format/perf_data/perf_data_info.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/perf_data/perf_data_event.h"

#include <stdlib.h>
#include <string.h>

enum {
	BUILD_ID_FIELD = 24,         /* in a record of the table, padding included */
	BUILD_ID_SHA1 = 20,          /* its length if none is given */
	MISC_BUILD_ID_SIZE = 1 << 15 /* PERF_RECORD_MISC_BUILD_ID_SIZE: the length is at [20] */
};

void pd_info_done(struct pd_info *i)
{
	arena_done(&i->text);
	vec_done(&i->build_ids);
	map_done(&i->by_path);
}

/* --- build ids -------------------------------------------------------------------------------- */

struct path_key {
	const struct pd_info *info;
	const char *path;
	size_t len;
};

static bool same_path(const void *ctx, uint32_t i)
{
	const struct path_key *key = ctx;
	const char *path = key->info->build_ids.v[i].path;
	return strlen(path) == key->len && memcmp(path, key->path, key->len) == 0;
}

const struct pd_build_id *pd_info_find_build_id(const struct pd_info *i, const char *path,
						size_t len)
{
	struct path_key key = { i, path, len };
	uint32_t at;
	bool found = map_lookup(&i->by_path, hash_bytes(path, len), same_path, &key, &at);
	return found ? &i->build_ids.v[at] : NULL;
}

void pd_info_build_id(struct pd_info *i, uint16_t misc, struct wire record)
{
	wire_u32(&record); /* pid: of the machine, host or guest */
	const uint8_t *field = cur_take(&record.c, BUILD_ID_FIELD);
	size_t len;
	const char *path = wire_text(&record, &len);
	if (!field || !len || i->build_ids.n >= PD_MAX_BUILD_IDS)
		return;
	struct pd_build_id b = { .len = BUILD_ID_SHA1 };
	if (misc & MISC_BUILD_ID_SIZE && field[BUILD_ID_SHA1] <= BUILD_ID_SHA1)
		b.len = field[BUILD_ID_SHA1];
	memcpy(b.id, field, b.len);
	struct path_key key = { i, path, len };
	uint32_t fresh = i->build_ids.n;
	if (map_intern(&i->by_path, hash_bytes(path, len), fresh, same_path, &key) != fresh)
		return; /* the first one wins */
	b.path = arena_dup(&i->text, path, len);
	vec_push(&i->build_ids, b);
}

static void build_id_table(struct pd_info *i, struct wire w)
{
	enum { HEADER = 8 };
	while (wire_left(&w) >= HEADER) {
		wire_u32(&w); /* type: unused */
		uint16_t misc = wire_u16(&w), size = wire_u16(&w);
		if (size < HEADER || size > wire_left(&w) + HEADER)
			break;
		pd_info_build_id(i, misc, wire_part(&w, size - HEADER));
	}
}

/* --- the other sections ----------------------------------------------------------------------- */

/* Reads a u32 length, then that many bytes, padded with NULs. */
static const char *counted_text(struct wire *w, size_t *len)
{
	uint32_t size = wire_u32(w);
	struct wire part = wire_part(w, size);
	return wire_text(&part, len);
}

static const char *keep_text(struct pd_info *i, struct wire w)
{
	size_t len;
	const char *s = counted_text(&w, &len);
	return len ? arena_dup(&i->text, s, len) : NULL;
}

/* Joins arguments with blanks. */
static const char *keep_command(struct pd_info *i, struct wire w)
{
	struct buf b = { 0 };
	for (uint32_t n = wire_u32(&w); n && wire_left(&w); n--) {
		size_t len;
		const char *s = counted_text(&w, &len);
		buf_adds(&b, b.len ? " " : "");
		buf_add(&b, s, len);
	}
	const char *kept = b.len ? arena_dup(&i->text, b.data, b.len) : NULL;
	buf_done(&b);
	return kept;
}

/* Reads u32 events, u32 size of an attribute, then for each: attribute, u32 ids, name, the ids. */
static void event_descriptions(struct pd_events *e, struct wire w)
{
	uint32_t n = wire_u32(&w), attr_size = wire_u32(&w);
	for (; n && !w.c.bad && wire_left(&w); n--) {
		cur_take(&w.c, attr_size);
		uint32_t ids = wire_u32(&w);
		size_t len;
		const char *name = counted_text(&w, &len);
		pd_events_name(e, wire_part(&w, (size_t)ids * 8), name, len);
	}
}

/* Reads u32 version, u32 clock id, u64 wall clock, u64 the samples' clock. */
static void clock_data(struct pd_info *i, struct wire w)
{
	wire_u64(&w);
	uint64_t wall_ns = wire_u64(&w), clock_ns = wire_u64(&w);
	if (w.c.bad)
		return;
	i->wall_ns = wall_ns;
	i->clock_ns = clock_ns;
}

bool pd_info_wants(uint64_t feature)
{
	switch (feature) {
	case PD_FEATURE_BUILD_ID:
	case PD_FEATURE_HOSTNAME:
	case PD_FEATURE_OSRELEASE:
	case PD_FEATURE_ARCH:
	case PD_FEATURE_NRCPUS:
	case PD_FEATURE_CMDLINE:
	case PD_FEATURE_EVENT_DESC:
	case PD_FEATURE_CLOCK_DATA:
		return true;
	}
	return false;
}

void pd_info_feature(struct pd_info *i, struct pd_events *e, uint64_t feature, struct wire w)
{
	switch (feature) {
	case PD_FEATURE_BUILD_ID:
		build_id_table(i, w);
		break;
	case PD_FEATURE_HOSTNAME:
		i->host = keep_text(i, w);
		break;
	case PD_FEATURE_OSRELEASE:
		i->kernel = keep_text(i, w);
		break;
	case PD_FEATURE_ARCH:
		i->arch = keep_text(i, w);
		break;
	case PD_FEATURE_NRCPUS:
		wire_u32(&w); /* configured */
		i->cpus = wire_u32(&w);
		break;
	case PD_FEATURE_CMDLINE:
		i->command = keep_command(i, w);
		break;
	case PD_FEATURE_EVENT_DESC:
		event_descriptions(e, w);
		break;
	case PD_FEATURE_CLOCK_DATA:
		clock_data(i, w);
		break;
	}
}
