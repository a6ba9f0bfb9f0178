/* collect/proc/page_state.h: whether pages of a process are in memory, by /proc/PID/pagemap. The
 * kernel takes the mmap_lock of the process for it. */
#ifndef CRESSET_COLLECT_PROC_PAGE_STATE_H
#define CRESSET_COLLECT_PROC_PAGE_STATE_H

#include <stddef.h>
#include <stdint.h>

/* PAGE_RESIDENT: anonymous memory that counts as RssAnon. PAGE_HUGE: part of a huge page; before
 * Linux 6.7 such a page is just PAGE_RESIDENT. */
enum page_state { PAGE_GONE = 0, PAGE_RESIDENT = 1, PAGE_HUGE = 2 };

enum { PAGE_STATES_MAX = 200 }; /* limit: pages of a process in one request */

/* Returns 0, or -errno if nothing is known of the process. */
int page_states_read(uint32_t pid, const uint64_t *addresses, size_t n, uint8_t *states);

struct buf;
/* At most PAGE_STATES_MAX addresses in a text of at most 17 bytes each, and back. */
void page_addresses_put(struct buf *b, const uint64_t *addresses, size_t n);
size_t page_addresses_parse(const char *text, uint64_t *addresses);

#endif
