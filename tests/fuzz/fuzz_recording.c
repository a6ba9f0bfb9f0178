// tier: test
/* Any bytes as a recording of the first form; and as chunks {u8 type, u16 length, payload} that are given right heads
 * and checksums, so that what is inside them is reached. What was read is written and read again:
 * as many samples, nothing left out. Its times may be anything: what shows them over time takes them. */
#include "format_fuzz.h"

#include "format/picture/svg.h"
#include "format/recording/cresset.h"
#include "profile/chunk.h"
#include "profile/tree/heatmap.h"

#include <string.h>

static void put_le(struct buf *b, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_addc(b, v >> (8 * i));
}

static void put_chunk(struct buf *b, uint32_t type, uint32_t flags, const void *data, size_t len)
{
	put_le(b, type, 4);
	put_le(b, flags, 4);
	put_le(b, len, 8);
	put_le(b, chunk_checksum(type, flags, data, len), 8);
	buf_add(b, data, len);
}

static void put_chunks(struct buf *b, struct cur c)
{
	buf_add(b, PLAIN_RECORDING_MAGIC, sizeof PLAIN_RECORDING_MAGIC);
	put_le(b, PLAIN_RECORDING_VERSION, 4);
	put_le(b, 16, 4);
	while (cur_left(&c)) {
		uint8_t type = cur_u8(&c);
		size_t len = cur_u16(&c);
		len = len < cur_left(&c) ? len : cur_left(&c);
		const void *payload = cur_take(&c, len);
		put_chunk(b, type & 15, type >> 4 & 1, payload ? payload : "", payload ? len : 0);
	}
	put_chunk(b, CHUNK_COMMIT, 0, "\0", 1);
}

static void draw_over_time(struct profile *p)
{
	static const int64_t from_ns[] = { 0, 1500000000, INT64_MAX / 2 };
	struct out out = { .fd = memfd_create("fuzz", MFD_CLOEXEC) };
	for (uint32_t i = 0; i < 3 && p->series.types.n; i++) {
		struct format_write_opts opts = { .palette = i % 2 ? "wall" : "kind" };
		struct heatmap h;
		opts.tree.type = i % p->series.types.n;
		opts.tree.time_from_ns = from_ns[i];
		must(heatmap_build(p, &opts.tree, 40, &h, NULL) == 0);
		must(heatmap_svg_write(p, &h, &out, NULL) == 0);
		must(chart_svg_write(p, &opts, &out, NULL) == 0);
		heatmap_done(&h);
	}
	close(out.fd);
	out_abort(&out);
}

static void read_write_read(const void *data, size_t len)
{
	struct profile *p = fuzz_read(&format_cresset, data, len);
	if (!p)
		return;
	struct buf b = fuzz_write(&format_cresset, p, &(struct format_write_opts){ 0 });
	struct profile *again = fuzz_read(&format_cresset, b.data, b.len);
	must(again && again->samples.n == p->samples.n);
	must(again->meta.loss[LOSS_INPUT_SKIPPED] == p->meta.loss[LOSS_INPUT_SKIPPED]);
	draw_over_time(p);
	must(again->stacks.stacks.n == p->stacks.stacks.n);
	must(again->frames.frames.n == p->frames.frames.n);
	buf_done(&b);
	profile_free(again);
	profile_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf b = { 0 };
	read_write_read(data, size);
	put_chunks(&b, cur_of(data, size));
	read_write_read(b.data, b.len);
	buf_done(&b);
	return 0;
}
