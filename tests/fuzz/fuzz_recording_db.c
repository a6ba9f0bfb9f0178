// tier: test
/* Recordings as SQLite files: any bytes as one; a good one with bytes of it changed, {u16 place, u8 value}; and rows {u8 type, u16 length,
 * payload} that are given ids and right sums, so that what is inside them is reached. */
#include "format_fuzz.h"

#include "format/recording/cresset.h"
#include "profile/chunk.h"
#include "store/recording/recording.h"

#include <string.h>

static void read_any(const void *data, size_t len)
{
	struct profile *p = fuzz_read(&format_cresset, data, len);
	if (!p)
		return;
	struct buf b = fuzz_write(&format_cresset, p, &(struct format_write_opts){ 0 });
	struct profile *again = fuzz_read(&format_cresset, b.data, b.len);
	must(again && again->samples.n == p->samples.n);
	must(again->meta.loss[LOSS_INPUT_SKIPPED] == p->meta.loss[LOSS_INPUT_SKIPPED]);
	buf_done(&b);
	profile_free(again);
	profile_free(p);
}

static struct profile *small_profile(void)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct frame f = { .mapping = MAPPING_NONE, .function = sink_string(s, "main") };
	uint32_t frame = s->ops->frame(s, &f);
	struct type type = { .name = sink_string(s, "cpu"), .unit = sink_string(s, "count") };
	struct series series = { .type = s->ops->type(s, &type) };
	struct sample sample = { .value = 1,
				 .series = s->ops->series(s, &series),
				 .stack = s->ops->stack(s, &frame, 1) };
	s->ops->sample(s, &sample);
	return p;
}

static void read_changed(struct cur c)
{
	struct profile *p = small_profile();
	struct buf b = fuzz_write(&format_cresset, p, &(struct format_write_opts){ 0 });
	while (cur_left(&c)) {
		uint16_t at = cur_u16(&c);
		uint8_t value = cur_u8(&c);
		b.data[at % b.len] = (char)value;
	}
	read_any(b.data, b.len);
	buf_done(&b);
	profile_free(p);
}

static void put_row(struct db *db, uint32_t type, uint32_t flags, const void *data, size_t len)
{
	sqlite3_stmt *s = db_prepare(
		db, "INSERT INTO chunk(type, flags, sum, data) VALUES(?, ?, ?, ?)", NULL);
	sqlite3_bind_int64(s, 1, type);
	sqlite3_bind_int64(s, 2, flags);
	sqlite3_bind_int64(s, 3, (int64_t)chunk_checksum(type, flags, data, len));
	sqlite3_bind_blob64(s, 4, data, len, SQLITE_STATIC);
	must(db_step(db, s, NULL) == 0);
}

static void read_rows(struct cur c)
{
	const struct db_opts opts = { .schema = &recording_schema, .access = DB_WRITE };
	struct db *db;
	sqlite3_int64 len;
	must(db_open(":memory:", &opts, &db, NULL) == 0);
	while (cur_left(&c)) {
		uint8_t type = cur_u8(&c);
		size_t n = cur_u16(&c);
		n = n < cur_left(&c) ? n : cur_left(&c);
		const void *payload = cur_take(&c, n);
		put_row(db, type & 15, type >> 4 & 1, payload ? payload : "", payload ? n : 0);
	}
	unsigned char *data = sqlite3_serialize(db_handle(db), "main", &len, 0);
	must(data != NULL);
	db_close(db);
	read_any(data, (size_t)len);
	sqlite3_free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_any(data, size);
	read_changed(cur_of(data, size));
	read_rows(cur_of(data, size));
	return 0;
}
