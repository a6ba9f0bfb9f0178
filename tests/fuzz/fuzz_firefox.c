/* Any bytes as a profile of the Firefox Profiler. What was read is written and read again: nothing of it is skipped, and what was
 * counted keeps its sum. */
#include "format/firefox.h"

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
	int rc = firefox_read(in, profile_sink(p), NULL);
	input_close(in);
	if (rc == 0)
		return p;
	profile_free(p);
	return NULL;
}

static void write_text(struct profile *p, struct buf *b)
{
	struct format_write_opts opts = { 0 };
	struct out out = { .fd = memfd_create("fuzz", MFD_CLOEXEC) };
	must(firefox_write(p, &opts, &out, NULL) == 0 && out_flush(&out, NULL) == 0);
	must(lseek(out.fd, 0, SEEK_SET) == 0 && fs_read_fd(out.fd, 1 << 30, b, NULL) == 0);
	close(out.fd);
	out_abort(&out);
}

/* Sums of doubles are exact below this. */
static bool is_exact(const struct profile *p)
{
	for (size_t i = 0; i < p->samples.n; i++)
		if (llabs(p->samples.value[i]) > 1ll << 40)
			return false;
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	firefox_detect((const char *)data, size);
	struct profile *p = read_text(data, size);
	if (!p)
		return 0;
	struct buf text = { 0 };
	write_text(p, &text);
	struct profile *again = read_text(text.data, text.len);
	must(again && again->meta.loss[LOSS_INPUT_SKIPPED] == 0);
	if (is_exact(p))
		must(profile_total(again, 0) == profile_total(p, profile_pick_type(p, NULL)));
	profile_free(again);
	buf_done(&text);
	profile_free(p);
	return 0;
}
