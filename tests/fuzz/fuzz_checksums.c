// tier: test
/* Any bytes as the SHA256SUMS of a directory that has one file besides, which is empty. */
#include "base/err.h"
#include "cmd/doctor/checksums.h"
#include "memory_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[] = "/tmp/fuzz_checksums.XXXXXX", list[64], file[64];

static void clean_up(void)
{
	unlink(list);
	unlink(file);
	rmdir(dir);
}

/* The list is a link to a file in memory. Returns its descriptor. */
static int make_dir(void)
{
	int fd = memory_file(NULL, 0);
	char target[32];

	if (!mkdtemp(dir))
		abort();
	atexit(clean_up);
	snprintf(list, sizeof list, "%s/" CHECKSUMS_NAME, dir);
	snprintf(file, sizeof file, "%s/a", dir);
	snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
	close(open(file, O_WRONLY | O_CREAT, 0600));
	if (symlink(target, list) < 0)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd;
	struct checksums c;
	struct err err = { 0 };
	size_t wrong = 0;

	if (!fd)
		fd = make_dir();
	if (ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		abort();
	if (checksums_verify(dir, 1, &c, &err) < 0)
		abort();
	for (size_t i = 0; i < c.files.n; i++) {
		const struct checksum_file *f = &c.files.v[i];
		bool leads_out = *f->name == '/' || strncmp(f->name, "../../", 6) == 0;
		if (!*f->name || strlen(f->name) > size)
			abort();
		if (f->state == CHECKSUM_SAME && !memchr(f->name, 'a', strlen(f->name)))
			abort();
		if (leads_out && f->state != CHECKSUM_OUTSIDE)
			abort();
		wrong += f->state != CHECKSUM_SAME;
	}
	if (wrong != c.wrong || (c.bad_lines > 0) != (c.first_bad > 0) || c.has_program)
		abort();
	checksums_done(&c);
	return 0;
}
