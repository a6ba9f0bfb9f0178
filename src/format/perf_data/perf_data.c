/* Reads files and pipes of perf record. */
#include "format/perf_data/perf_data.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"
#include "base/mem.h"
#include "base/unpack.h"
#include "format/perf_data/perf_data_reader.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

enum {
	MAGIC_BYTES = 8,
	HEADER_BYTES = 104, /* of a file */
	PIPE_HEADER_BYTES = 16,
	ATTR_ENTRY_MAX = 4096,
	PLAIN_CHUNK = 64 << 10, /* decompressed at a time */
};

/* perf's own records, in addition to the kernel's. */
enum {
	USER_TYPES = 64,
	HEADER_ATTR = 64,
	HEADER_TRACING_DATA = 66,
	HEADER_BUILD_ID = 67,
	FINISHED_ROUND = 68,
	AUXTRACE = 71,
	EVENT_UPDATE = 78,
	HEADER_FEATURE = 80,
	COMPRESSED = 81,
	COMPRESSED2 = 83,
};
enum { UPDATE_NAME = 2 }; /* EVENT_UPDATE: {u64 what, u64 id, text} */

static const char magic_little[] = "PERFILE2", magic_big[] = "2ELIFREP";

struct section {
	uint64_t offset, size;
};

/* The stream of records. */
struct stream {
	struct pd_reader *reader;
	struct input *in;
	uint64_t left;       /* bytes of the data section; UINT64_MAX: until the end of the input */
	bool is_cut;         /* ended inside a record */
	struct unpack *zstd; /* NULL until the first compressed record */
	struct buf plain;    /* decompressed bytes not yet taken */
	char record[PD_RECORD_MAX];
};

/* --- records ---------------------------------------------------------------------------------- */

/* Returns 1, 0 at the end, or -errno. */
static int stream_read(struct stream *s, void *data, size_t n, struct err *err)
{
	size_t got = 0;
	if (n > s->left)
		return 0;
	while (got < n) {
		long more = input_read(s->in, (char *)data + got, n - got, err);
		if (more < 0)
			return more;
		if (more == 0)
			break;
		got += more;
	}
	s->left -= got;
	s->is_cut |= got && got < n;
	return got == n;
}

static int stream_skip(struct stream *s, uint64_t n, struct err *err)
{
	char scratch[4096];
	int rc = 1;
	for (; n && rc == 1;) {
		size_t piece = n < sizeof scratch ? n : sizeof scratch;
		rc = stream_read(s, scratch, piece, err);
		n -= piece;
	}
	if (rc == 0)
		s->is_cut = true;
	return rc;
}

static struct section read_section(struct wire *w)
{
	struct section s = { .offset = wire_u64(w) };
	s.size = wire_u64(w);
	return s;
}

/* Takes a record of a pipe with an attribute and its ids. */
static void take_attr(struct pd_reader *r, struct wire w)
{
	struct wire size_at = w;
	wire_u32(&size_at);
	uint32_t size = wire_u32(&size_at);
	struct wire attr = wire_part(&w, size);
	if (pd_events_add(&r->events, attr))
		pd_events_add_ids(&r->events, w);
	else
		r->skipped++;
}

static void take_update(struct pd_reader *r, struct wire w)
{
	uint64_t what = wire_u64(&w);
	struct wire id = wire_part(&w, 8);
	size_t len;
	const char *text = wire_text(&w, &len);
	if (what == UPDATE_NAME)
		pd_events_name(&r->events, id, text, len);
}

static void take_feature(struct pd_reader *r, struct wire w)
{
	uint64_t feature = wire_u64(&w);
	pd_info_feature(&r->info, &r->events, feature, w);
}

/* Skips data after the record that its size does not include. */
static int skip_trailing(struct stream *s, const struct pd_header *h, struct wire w,
			 struct err *err)
{
	uint64_t size = h->type == AUXTRACE ? wire_u64(&w) : wire_u32(&w);
	s->reader->skipped += h->type == AUXTRACE;
	if (size > UINT64_MAX - 7)
		return 0;
	return stream_skip(s, (size + 7) & ~7ull, err);
}

static int take_record(struct stream *s, const void *record, size_t len, bool is_unpacked,
		       struct err *err);

/* Takes whole records from the decompressed data. Returns -EBADMSG if one is invalid. */
static int take_plain(struct stream *s, struct err *err)
{
	size_t at = 0;
	int rc = 1;
	while (rc == 1 && s->plain.len - at >= PD_RECORD_HEADER) {
		struct wire w = wire_of(s->plain.data + at, PD_RECORD_HEADER, s->reader->big);
		uint16_t size = pd_header_read(&w).size;
		if (size < PD_RECORD_HEADER)
			return err_set(err, EBADMSG, "a compressed record of %u bytes", size);
		if (size > s->plain.len - at)
			break;
		rc = take_record(s, s->plain.data + at, size, true, err);
		at += size;
	}
	if (at)
		memmove(s->plain.data, s->plain.data + at, s->plain.len - at);
	s->plain.len -= at;
	return rc;
}

/* Decompresses a record. All compressed records of a file form one zstd stream; records in it may
 * span several of them. */
static int take_compressed(struct stream *s, struct cur packed, struct err *err)
{
	if (!s->zstd)
		s->zstd = unpack_new(UNPACK_ZSTD);
	for (size_t got = PLAIN_CHUNK; got == PLAIN_CHUNK || cur_left(&packed);) {
		buf_reserve(&s->plain, PLAIN_CHUNK);
		int rc = unpack_step(s->zstd, &packed, false, s->plain.data + s->plain.len,
				     PLAIN_CHUNK, &got, err);
		if (rc < 0)
			return rc;
		s->plain.len += got;
		rc = take_plain(s, err);
		if (rc != 1)
			return rc;
	}
	return 1;
}

/* COMPRESSED2 states how many of its bytes are used. */
static struct cur packed_bytes(const struct pd_header *h, struct wire w)
{
	if (h->type == COMPRESSED)
		return w.c;
	uint64_t size = wire_u64(&w);
	return wire_part(&w, size < SIZE_MAX ? size : SIZE_MAX).c;
}

/* Returns 1, 0 if nothing more can be read, or -errno. */
static int take_record(struct stream *s, const void *record, size_t len, bool is_unpacked,
		       struct err *err)
{
	struct pd_reader *r = s->reader;
	struct wire w = wire_of(record, len, r->big);
	struct pd_header h = pd_header_read(&w);
	if (h.type < USER_TYPES) {
		pd_reader_record(r, record, len);
		return 1;
	}
	switch (h.type) {
	case HEADER_ATTR:
		take_attr(r, w);
		break;
	case HEADER_BUILD_ID:
		pd_info_build_id(&r->info, h.misc, w);
		break;
	case FINISHED_ROUND:
		pd_queue_round(&r->queue);
		break;
	case EVENT_UPDATE:
		take_update(r, w);
		break;
	case HEADER_FEATURE:
		take_feature(r, w);
		break;
	case AUXTRACE:
	case HEADER_TRACING_DATA:
		return is_unpacked ? 1 : skip_trailing(s, &h, w, err);
	case COMPRESSED:
	case COMPRESSED2:
		r->skipped += is_unpacked;
		return is_unpacked ? 1 : take_compressed(s, packed_bytes(&h, w), err);
	}
	return 1;
}

static int next_record(struct stream *s, struct err *err)
{
	int rc = stream_read(s, s->record, PD_RECORD_HEADER, err);
	if (rc != 1)
		return rc;
	struct wire w = wire_of(s->record, PD_RECORD_HEADER, s->reader->big);
	struct pd_header h = pd_header_read(&w);
	if (h.size < PD_RECORD_HEADER) {
		s->is_cut = true;
		return 0;
	}
	size_t rest = h.size - PD_RECORD_HEADER;
	rc = stream_read(s, s->record + PD_RECORD_HEADER, rest, err);
	if (rc == 1)
		return take_record(s, s->record, h.size, false, err);
	s->is_cut |= rc == 0;
	return rc;
}

/* Reads all records. Damage ends the reading and is counted. */
static int read_records(struct stream *s, struct err *err)
{
	struct pd_reader *r = s->reader;
	int rc;
	while ((rc = next_record(s, err)) == 1)
		continue;
	if (rc < 0 && rc != -EBADMSG)
		return rc;
	r->skipped += rc == -EBADMSG || s->is_cut || s->plain.len;
	pd_reader_finish(r);
	if (r->samples || !r->skipped)
		return 0;
	return err_set(err, EBADMSG, "%s: perf.data without a sample that can be read",
		       input_name(s->in));
}

/* --- files ------------------------------------------------------------------------------------ */

static int bad_file(struct input *in, struct err *err, const char *what)
{
	return err_set(err, EBADMSG, "%s: perf.data with %s", input_name(in), what);
}

/* Appends a section of the file to b. Returns -EBADMSG if it is missing or larger than max. */
static int load_section(struct input *in, struct section s, size_t max, struct buf *b,
			struct err *err)
{
	if (s.size > max)
		return err_set(err, EBADMSG, "a section of %llu bytes", (unsigned long long)s.size);
	buf_reserve(b, s.size + 1); /* never NULL */
	long got = input_read_at(in, s.offset, b->data + b->len, s.size, err);
	if (got < 0)
		return got;
	if ((size_t)got < s.size)
		return err_set(err, EBADMSG, "a section after the end");
	b->len += got;
	return 0;
}

/* Loads one attribute and its section of ids. */
static int load_attr(struct pd_reader *r, struct input *in, struct wire entry, struct err *err)
{
	struct wire attr = wire_part(&entry, wire_left(&entry) - sizeof(struct section));
	struct section at = read_section(&entry);
	struct buf ids = { 0 };
	size_t max = (PD_MAX_EVENT_IDS - r->events.ids) * 8;
	int rc = pd_events_add(&r->events, attr)
			 ? load_section(in, at, max, &ids, err)
			 : err_set(err, EBADMSG, "an event that cannot be read");
	if (rc == 0)
		pd_events_add_ids(&r->events, wire_of(ids.data, ids.len, r->big));
	buf_done(&ids);
	return rc;
}

static int load_attrs(struct pd_reader *r, struct input *in, struct section at, uint64_t entry_size,
		      struct err *err)
{
	struct buf b = { 0 };
	if (entry_size < sizeof(struct section) || entry_size > ATTR_ENTRY_MAX ||
	    at.size < entry_size)
		return bad_file(in, err, "no events");
	int rc = load_section(in, at, PD_MAX_EVENTS * entry_size, &b, err);
	struct wire w = wire_of(b.data, b.len, r->big);
	while (rc == 0 && wire_left(&w) >= entry_size)
		rc = load_attr(r, in, wire_part(&w, entry_size), err);
	buf_done(&b);
	if (rc == -EBADMSG)
		err_prefix(err, "%s: perf.data", input_name(in));
	return rc;
}

/* Loads the sections after the data: one {offset, size} for each bit. A killed recording has none.
 * They are optional: unreadable ones are counted. */
static void load_features(struct pd_reader *r, struct input *in, uint64_t offset, struct wire bits)
{
	struct buf table = { 0 }, data = { 0 };
	bool has[PD_FEATURES];
	uint64_t n = 0, word = 0;
	for (unsigned i = 0; i < PD_FEATURES; i++) {
		word = i % 64 ? word : wire_u64(&bits);
		has[i] = word >> i % 64 & 1;
		n += has[i];
	}
	struct section all = { offset, n * sizeof(struct section) };
	r->skipped += load_section(in, all, all.size, &table, NULL) != 0;
	struct wire w = wire_of(table.data, table.len, r->big);
	for (unsigned i = 0; i < PD_FEATURES && wire_left(&w); i++) {
		struct section at = has[i] ? read_section(&w) : (struct section){ 0 };
		if (!has[i] || !pd_info_wants(i))
			continue;
		buf_clear(&data);
		if (load_section(in, at, PD_MAX_FEATURE_BYTES, &data, NULL) == 0)
			pd_info_feature(&r->info, &r->events, i,
					wire_of(data.data, data.len, r->big));
		else
			r->skipped++;
	}
	buf_done(&table);
	buf_done(&data);
}

static int read_file(struct stream *s, struct err *err)
{
	struct pd_reader *r = s->reader;
	char header[HEADER_BYTES];
	s->left = UINT64_MAX;
	int rc = stream_read(s, header, sizeof header, err);
	if (rc != 1)
		return rc < 0 ? rc : bad_file(s->in, err, "a header that is cut");
	struct wire w = wire_of(header, sizeof header, r->big);
	wire_skip_u64(&w, 2); /* magic, size of the header */
	uint64_t entry_size = wire_u64(&w), data_end;
	struct section attrs = read_section(&w), data = read_section(&w);
	read_section(&w); /* event types: used by perf before 3.0 */
	if (data.offset < HEADER_BYTES || __builtin_add_overflow(data.offset, data.size, &data_end))
		return bad_file(s->in, err, "no data section");
	rc = load_attrs(r, s->in, attrs, entry_size, err);
	if (rc)
		return rc;
	if (data.size) /* 0: perf was killed before it wrote the size */
		load_features(r, s->in, data_end, w);
	rc = stream_skip(s, data.offset - HEADER_BYTES, err);
	if (rc < 0)
		return rc;
	s->left = data.size ? data.size : UINT64_MAX;
	return read_records(s, err);
}

static int read_pipe(struct stream *s, struct err *err)
{
	char header[PIPE_HEADER_BYTES];
	s->left = UINT64_MAX;
	int rc = stream_read(s, header, sizeof header, err);
	if (rc != 1)
		return rc < 0 ? rc : bad_file(s->in, err, "a header that is cut");
	return read_records(s, err);
}

static int read_stream(struct input *in, struct sink *sink, const struct format_here *here,
		       bool big, bool is_pipe, struct err *err)
{
	struct pd_reader *r = xcalloc(1, sizeof *r);
	struct stream *s = xcalloc(1, sizeof *s);
	pd_reader_init(r, sink, here, big);
	s->reader = r;
	s->in = in;
	int rc = is_pipe ? read_pipe(s, err) : read_file(s, err);
	unpack_free(s->zstd);
	buf_done(&s->plain);
	free(s);
	pd_reader_done(r);
	free(r);
	return rc;
}

/* Loads a file whose end cannot be read first into memory. It is a copy, or compressed. */
static int read_whole(struct input *in, struct sink *sink, const struct format_here *here, bool big,
		      struct err *err)
{
	struct format_here copy = here ? *here : (struct format_here){ 0 };
	struct buf b = { 0 };
	struct input *whole;
	int rc = input_all(in, PERF_DATA_MAX_PACKED, &b, err);
	if (rc == 0)
		rc = input_open_memory(b.data, b.len, &whole, err);
	if (rc == 0) {
		copy.created_ns = 0;
		rc = read_stream(whole, sink, here ? &copy : NULL, big, false, err);
		input_close(whole);
	}
	buf_done(&b);
	return rc;
}

int perf_data_read_here(struct input *in, struct sink *sink, const struct format_here *here,
			struct err *err)
{
	const char *head;
	size_t len;
	int rc = input_peek(in, &head, &len, err);
	if (rc)
		return rc;
	if (!perf_data_detect(head, len))
		return bad_file(in, err, "another magic number");
	bool big = memcmp(head, magic_big, MAGIC_BYTES) == 0;
	struct wire w = wire_of(head, len, big);
	wire_u64(&w);
	bool is_pipe = wire_u64(&w) == PIPE_HEADER_BYTES;
	if (!is_pipe && !input_has_offsets(in))
		return read_whole(in, sink, here, big, err);
	return read_stream(in, sink, here, big, is_pipe, err);
}

int perf_data_read(struct input *in, struct sink *sink, struct err *err)
{
	return perf_data_read_here(in, sink, NULL, err);
}

bool perf_data_detect(const char *head, size_t len)
{
	return len >= PIPE_HEADER_BYTES && (memcmp(head, magic_little, MAGIC_BYTES) == 0 ||
					    memcmp(head, magic_big, MAGIC_BYTES) == 0);
}

const struct format format_perf_data = {
	.name = "perf-data",
	.summary = "perf.data of perf record",
	.detect = perf_data_detect,
	.read = perf_data_read,
	.read_here = perf_data_read_here,
};
