/* Any bytes as text of perf script. What was read is written and read again: the default type's sum stays, and nothing
 * is skipped. */
#include "format/perf_script.h"

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
	int rc = perf_script_read(in, profile_sink(p), NULL);
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
	must(perf_script_write(p, &opts, &out, NULL) == 0 && out_flush(&out, NULL) == 0);
	must(lseek(out.fd, 0, SEEK_SET) == 0 && fs_read_fd(out.fd, 1 << 30, b, NULL) == 0);
	close(out.fd);
	out_abort(&out);
}

/* In the unit of the period where there is one. */
static int64_t total_of(const struct profile *p)
{
	int64_t period = p->series.series.v[p->samples.series[0]].period;
	int64_t total = profile_total(p, 0);
	return period > 0 && total < INT64_MAX / period ? total * period : total;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	perf_script_detect((const char *)data, size);
	struct profile *p = read_text(data, size);
	if (!p)
		return 0;
	struct buf text = { 0 };
	write_text(p, &text);
	struct profile *again = read_text(text.data, text.len);
	if (again) {
		must(again->meta.loss[LOSS_INPUT_SKIPPED] == 0);
		must(again->series.types.n == 1);
		must(total_of(again) == total_of(p));
		profile_free(again);
	} else {
		must(profile_total(p, 0) == 0);
	}
	buf_done(&text);
	profile_free(p);
	return 0;
}
