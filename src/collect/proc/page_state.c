/* Reads the state page by page: chosen pages are far from each other. */
#include "collect/proc/page_state.h"

#include "base/buf.h"
#include "bpf/fault_event.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* --- from Linux 6.7 on ------------------------------------------------------------------------ */

/* PAGE_IS_FILE … and struct pm_scan_arg of linux/fs.h, which may be older here */
enum { IS_FILE = 1 << 2, IS_PRESENT = 1 << 3, IS_ZERO = 1 << 5, IS_HUGE = 1 << 6 };
struct scan_region {
	uint64_t start, end, categories;
};
struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t inverted, mask, any_of, returned;
};
#define SCAN _IOWR('f', 16, struct scan_arg)

/* Returns false if this kernel does not have it. */
static bool scan_page(int fd, uint64_t address, uint8_t *state)
{
	struct scan_region r = { 0 };
	struct scan_arg a = {
		.size = sizeof a,
		.start = address & ~(uint64_t)(FAULT_PAGE_BYTES - 1),
		.vec = (uintptr_t)&r,
		.vec_len = 1,
		.mask = IS_PRESENT,
		.returned = IS_PRESENT | IS_FILE | IS_ZERO | IS_HUGE,
	};

	a.end = a.start + FAULT_PAGE_BYTES;
	int n = ioctl(fd, SCAN, &a);
	if (n < 0 && (errno == ENOTTY || errno == EINVAL))
		return false;
	*state = PAGE_GONE;
	if (n == 1 && !(r.categories & (IS_FILE | IS_ZERO)))
		*state = PAGE_RESIDENT | (r.categories & IS_HUGE ? PAGE_HUGE : 0);
	return true;
}

/* --- before ----------------------------------------------------------------------------------- */

/* Documentation/admin-guide/mm/pagemap.rst. Returns -ESRCH if the process has no memory now. */
static int read_page(int fd, uint64_t address, uint8_t *state)
{
	const uint64_t present = 1ull << 63, file = 1ull << 61;
	uint64_t entry = 0;

	if (pread(fd, &entry, sizeof entry, (off_t)(address / FAULT_PAGE_BYTES * sizeof entry)) !=
	    sizeof entry)
		return -ESRCH;
	*state = entry & present && !(entry & file) ? PAGE_RESIDENT : PAGE_GONE;
	return 0;
}

static int read_pages(int fd, const uint64_t *addresses, size_t n, uint8_t *states)
{
	bool scans = true;
	uint8_t state;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		scans = scans && scan_page(fd, addresses[i], &states[i]);
		if (!scans)
			rc = read_page(fd, addresses[i], &states[i]);
	}
	return rc || !n ? rc : read_page(fd, addresses[0], &state); /* it may have ended */
}

int page_states_read(uint32_t pid, const uint64_t *addresses, size_t n, uint8_t *states)
{
	char path[40];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/pagemap", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	int rc = read_pages(fd, addresses, n, states);
	close(fd);
	return rc;
}

/* --- as a text -------------------------------------------------------------------------------- */

/* Page numbers, each as the distance from the one before. */
void page_addresses_put(struct buf *b, const uint64_t *addresses, size_t n)
{
	uint64_t before = 0;

	for (size_t i = 0; i < n && i < PAGE_STATES_MAX; i++) {
		uint64_t page = addresses[i] / FAULT_PAGE_BYTES;

		buf_addf(b, "%" PRIx64 ",", page - before);
		before = page;
	}
}

size_t page_addresses_parse(const char *text, uint64_t *addresses)
{
	uint64_t page = 0;
	size_t n = 0;

	while (*text && n < PAGE_STATES_MAX) {
		char *end;

		page += strtoull(text, &end, 16);
		if (end == text || *end != ',')
			break;
		addresses[n++] = page * FAULT_PAGE_BYTES;
		text = end + 1;
	}
	return n;
}
