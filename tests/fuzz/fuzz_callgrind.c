/* Any bytes as a callgrind file. What was read is written and read again: the total of the first
 * type stays, and nothing is skipped. */
#include "format/callgrind.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		abort();
}

static struct profile *read_text(const void *data, size_t len)
{
	struct input *in;
	struct profile *p = profile_new();
	must(input_open_memory(data, len, &in, NULL) == 0);
	int rc = callgrind_read(in, profile_sink(p), NULL);
	input_close(in);
	if (rc == 0)
		return p;
	profile_free(p);
	return NULL;
}

static void write_text(struct profile *p, struct buf *b)
{
	struct format_write_opts opts = { .annotate = ANNOTATE_ALL };
	struct out out = { .fd = memfd_create("fuzz", MFD_CLOEXEC) };
	must(callgrind_write(p, &opts, &out, NULL) == 0 && out_flush(&out, NULL) == 0);
	must(lseek(out.fd, 0, SEEK_SET) == 0 && fs_read_fd(out.fd, 1 << 30, b, NULL) == 0);
	close(out.fd);
	out_abort(&out);
}

/* Sums stop at the ends of int64_t, where their order matters. */
static bool is_small(const struct profile *p)
{
	for (size_t i = 0; i < p->samples.n; i++)
		if (p->samples.value[i] > 1ll << 40 || p->samples.value[i] < -(1ll << 40))
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	callgrind_detect((const char *)data, size);
	struct profile *p = read_text(data, size);
	if (!p)
		return 0;
	struct buf text = { 0 };
	write_text(p, &text);
	must(callgrind_detect(text.data, text.len));
	struct profile *again = read_text(text.data, text.len);
	uint32_t type = profile_pick_type(p, NULL);
	if (again && is_small(p)) {
		must(again->meta.loss[LOSS_INPUT_SKIPPED] == 0);
		must(profile_total(again, 0) == profile_total(p, type));
	} else if (!again) {
		must(profile_total(p, type) == 0 || !is_small(p));
	}
	profile_free(again);
	buf_done(&text);
	profile_free(p);
	return 0;
}
