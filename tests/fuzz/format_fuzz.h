/* tests/fuzz/format_fuzz.h: what the targets of file formats share: bytes to a profile, and a profile to bytes. */
#ifndef CRESSET_TESTS_FORMAT_FUZZ_H
#define CRESSET_TESTS_FORMAT_FUZZ_H

#include "base/buf.h"
#include "base/fs.h"
#include "base/input.h"
#include "format/common/format.h"
#include "profile/profile.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void must(bool truth)
{
	if (!truth)
		abort();
}

/* NULL when the reader refuses it. */
static inline struct profile *fuzz_read(const struct format *f, const void *data, size_t len)
{
	struct input *in;
	struct profile *p = profile_new();
	must(input_open_memory(data, len, &in, NULL) == 0);
	int rc = f->read(in, profile_sink(p), NULL);
	input_close(in);
	if (rc == 0)
		return p;
	profile_free(p);
	return NULL;
}

/* Every profile that was read can be written. */
static inline struct buf fuzz_write(const struct format *f, struct profile *p,
				    const struct format_write_opts *opts)
{
	struct buf b = { 0 };
	struct out out = { .fd = memfd_create("fuzz", MFD_CLOEXEC) };
	must(f->write(p, opts, &out, NULL) == 0 && out_flush(&out, NULL) == 0);
	must(lseek(out.fd, 0, SEEK_SET) == 0 && fs_read_fd(out.fd, 1 << 30, &b, NULL) == 0);
	close(out.fd);
	out_abort(&out);
	return b;
}

#endif
