/* Any bytes as a recording; and as chunks {u8 type, u16 length, payload} that are given right heads
 * and checksums, so that what is inside them is reached. What was read is written and read again:
 * as many samples, nothing left out. */
#include "format/recording.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		abort();
}

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
	put_le(b, recording_checksum(type, flags, data, len), 8);
	buf_add(b, data, len);
}

static void put_chunks(struct buf *b, struct cur c)
{
	buf_add(b, RECORDING_MAGIC, sizeof RECORDING_MAGIC);
	put_le(b, RECORDING_VERSION, 4);
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

static struct profile *read_bytes(const void *data, size_t len)
{
	struct input *in;
	struct profile *p = profile_new();
	must(input_open_memory(data, len, &in, NULL) == 0);
	int rc = recording_read(in, profile_sink(p), NULL);
	input_close(in);
	if (rc == 0)
		return p;
	profile_free(p);
	return NULL;
}

static struct buf write_bytes(struct profile *p)
{
	struct buf b = { 0 };
	struct format_write_opts opts = { 0 };
	struct out out = { .fd = memfd_create("fuzz", MFD_CLOEXEC) };
	must(recording_write(p, &opts, &out, NULL) == 0 && out_flush(&out, NULL) == 0);
	must(lseek(out.fd, 0, SEEK_SET) == 0 && fs_read_fd(out.fd, 1 << 30, &b, NULL) == 0);
	close(out.fd);
	out_abort(&out);
	return b;
}

static void read_write_read(const void *data, size_t len)
{
	struct profile *p = read_bytes(data, len);
	if (!p)
		return;
	struct buf b = write_bytes(p);
	struct profile *again = read_bytes(b.data, b.len);
	must(again && again->samples.n == p->samples.n);
	must(again->meta.loss[LOSS_INPUT_SKIPPED] == p->meta.loss[LOSS_INPUT_SKIPPED]);
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
