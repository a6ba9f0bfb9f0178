/* Finds the reason of a wait by kernel functions and the system call. */
#include "collect/resolve/wait_reason.h"

#include "base/input.h"
#include "base/search.h"
#include "bpf/event.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

/* Functions that a blocked thread is in, whatever they call: the first rule of this table that
 * matches any function of a stack decides, so more specific rules are first. A name that ends in
 * '*' is a prefix. */
static const struct {
	const char *name;
	enum wait_reason reason;
} rules[] = {
	{ "do_signal_stop", WAIT_STOPPED },
	{ "ptrace_stop", WAIT_STOPPED },
	{ "handle_userfault", WAIT_PAGE_FAULT },
	{ "asm_exc_page_fault", WAIT_PAGE_FAULT },
	{ "exc_page_fault", WAIT_PAGE_FAULT },
	{ "do_user_addr_fault", WAIT_PAGE_FAULT },
	{ "kernel_clone", WAIT_CHILD },
	{ "do_wait", WAIT_CHILD },
	{ "__do_wait", WAIT_CHILD },
	{ "kernel_wait4", WAIT_CHILD },
	{ "kernel_waitid", WAIT_CHILD },
	{ "ep_poll", WAIT_POLL },
	{ "do_epoll_wait", WAIT_POLL },
	{ "do_sys_poll", WAIT_POLL },
	{ "do_poll*", WAIT_POLL },
	{ "do_select*", WAIT_POLL },
	{ "core_sys_select", WAIT_POLL },
	{ "hrtimer_nanosleep", WAIT_SLEEP },
	{ "do_nanosleep", WAIT_SLEEP },
	{ "common_nsleep*", WAIT_SLEEP },
	{ "do_sigtimedwait*", WAIT_SLEEP },
	{ "io_schedule", WAIT_DISK },
	{ "io_schedule_timeout", WAIT_DISK },
	{ "folio_wait_bit*", WAIT_DISK },
	{ "wait_on_page_bit*", WAIT_DISK },
	{ "submit_bio_wait", WAIT_DISK },
	{ "blk_mq_*", WAIT_DISK },
	{ "blkdev_issue_flush", WAIT_DISK },
	{ "rq_qos_wait", WAIT_DISK },
	{ "jbd2_*", WAIT_DISK },
	{ "__iomap_dio_rw", WAIT_DISK },
	{ "file_write_and_wait_range", WAIT_DISK },
	{ "balance_dirty_pages*", WAIT_DISK },
	{ "sync_inodes_sb", WAIT_DISK },
	{ "futex_wait*", WAIT_FUTEX },
	{ "__futex_wait*", WAIT_FUTEX },
	{ "futex_lock_pi", WAIT_FUTEX },
	{ "do_futex", WAIT_FUTEX },
	{ "pipe_read", WAIT_READ },
	{ "anon_pipe_read", WAIT_READ },
	{ "fifo_open", WAIT_READ },
	{ "eventfd_read", WAIT_READ },
	{ "pipe_write", WAIT_WRITE },
	{ "anon_pipe_write", WAIT_WRITE },
	{ "wait_for_partner", WAIT_READ },
	{ "unix_stream_read_generic", WAIT_READ },
	{ "__skb_wait_for_more_packets", WAIT_READ },
	{ "__skb_recv_datagram", WAIT_READ },
	{ "sk_wait_data", WAIT_READ },
	{ "sock_recvmsg", WAIT_READ },
	{ "inet_csk_accept", WAIT_READ },
	{ "unix_accept", WAIT_READ },
	{ "do_accept", WAIT_READ },
	{ "sock_alloc_send_pskb", WAIT_WRITE },
	{ "sk_stream_wait_memory", WAIT_WRITE },
	{ "unix_wait_for_peer", WAIT_WRITE },
	{ "sk_stream_wait_connect", WAIT_WRITE },
	{ "inet_stream_connect", WAIT_WRITE },
	{ "__inet_stream_connect", WAIT_WRITE },
	{ "__sock_sendmsg", WAIT_WRITE },
	/* The kernel's own locks. */
	{ "__mutex_lock*", WAIT_FUTEX },
	{ "rwsem_down_*", WAIT_FUTEX },
	{ "down_read*", WAIT_FUTEX },
	{ "down_write*", WAIT_FUTEX },
	{ "__rt_mutex_slowlock*", WAIT_FUTEX },
};
enum { RULES = sizeof rules / sizeof *rules };

/* Used if the kernel's functions are unknown. Numbers of x86-64 and arm64 come from the headers. */
static const struct {
	uint32_t nr;
	enum wait_reason reason;
} syscalls[] = {
	{ SYS_futex, WAIT_FUTEX },
	{ SYS_nanosleep, WAIT_SLEEP },
	{ SYS_clock_nanosleep, WAIT_SLEEP },
	{ SYS_rt_sigtimedwait, WAIT_SLEEP },
	{ SYS_epoll_pwait, WAIT_POLL },
	{ SYS_ppoll, WAIT_POLL },
	{ SYS_pselect6, WAIT_POLL },
#ifdef __x86_64__
	{ SYS_poll, WAIT_POLL },
	{ SYS_select, WAIT_POLL },
	{ SYS_epoll_wait, WAIT_POLL },
	{ SYS_vfork, WAIT_CHILD },
#endif
	{ SYS_wait4, WAIT_CHILD },
	{ SYS_waitid, WAIT_CHILD },
	{ SYS_clone, WAIT_CHILD },
	{ SYS_clone3, WAIT_CHILD },
	{ SYS_read, WAIT_READ },
	{ SYS_readv, WAIT_READ },
	{ SYS_recvfrom, WAIT_READ },
	{ SYS_recvmsg, WAIT_READ },
	{ SYS_recvmmsg, WAIT_READ },
	{ SYS_accept, WAIT_READ },
	{ SYS_accept4, WAIT_READ },
	{ SYS_write, WAIT_WRITE },
	{ SYS_writev, WAIT_WRITE },
	{ SYS_sendto, WAIT_WRITE },
	{ SYS_sendmsg, WAIT_WRITE },
	{ SYS_sendmmsg, WAIT_WRITE },
	{ SYS_connect, WAIT_WRITE },
	{ SYS_pread64, WAIT_DISK },
	{ SYS_pwrite64, WAIT_DISK },
	{ SYS_fsync, WAIT_DISK },
	{ SYS_fdatasync, WAIT_DISK },
	{ SYS_sync, WAIT_DISK },
	{ SYS_syncfs, WAIT_DISK },
	{ SYS_sync_file_range, WAIT_DISK },
	{ SYS_msync, WAIT_DISK },
};

/* --- addresses -------------------------------------------------------------------------------- */

static bool name_fits(const char *pattern, const char *name, size_t len)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return len >= n - 1 && memcmp(pattern, name, n - 1) == 0;
	return len == n && memcmp(pattern, name, n) == 0;
}

/* Compilers add suffixes such as ".isra.0" and ".cold". */
static uint32_t rule_of(const char *name, size_t len)
{
	const char *dot = memchr(name, '.', len);
	uint32_t i = 0;

	if (dot)
		len = dot - name;
	while (i < RULES && (*rules[i].name != *name || !name_fits(rules[i].name, name, len)))
		i++;
	return i;
}

static int by_start(const void *a, const void *b)
{
	const struct wait_place *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* "ffffffff81000000 T name\t[module]": a function ends where the next symbol starts. */
static void read_line(struct wait_reasons *r, struct wait_place *open, const char *line, size_t len)
{
	char *end;
	uint64_t addr = strtoull(line, &end, 16);
	const char *name = end + 3, *tab;

	if (len < 20 || end != line + 16 || !addr)
		return;
	if (open->start && addr > open->start) {
		open->end = addr;
		vec_push(&r->places, *open);
		open->start = 0;
	}
	len -= name - line;
	tab = memchr(name, '\t', len);
	uint32_t rule = rule_of(name, tab ? (size_t)(tab - name) : len);
	if (rule < RULES)
		*open = (struct wait_place){ .start = addr, .rule = rule };
}

void wait_reasons_read(struct wait_reasons *r, const char *path)
{
	struct wait_place open = { 0 };
	struct input *in;
	const char *line;
	size_t len;
	bool cut;

	if (input_open(path, &in, NULL))
		return;
	while (input_line(in, &line, &len, &cut, NULL) == 1)
		read_line(r, &open, line, len);
	input_close(in);
	if (r->places.n)
		qsort(r->places.v, r->places.n, sizeof *r->places.v, by_start);
}

void wait_reasons_done(struct wait_reasons *r)
{
	vec_done(&r->places);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static uint32_t rule_at(const struct wait_reasons *r, uint64_t addr)
{
	size_t after = vec_upper(&r->places, start, addr);

	if (!after || addr >= r->places.v[after - 1].end)
		return RULES;
	return r->places.v[after - 1].rule;
}

static enum wait_reason reason_of_syscall(uint32_t nr)
{
	for (size_t i = 0; i < sizeof syscalls / sizeof *syscalls; i++)
		if (syscalls[i].nr == nr)
			return syscalls[i].reason;
	return WAIT_OTHER;
}

enum wait_reason wait_reason_of(const struct wait_reasons *r, const struct event_stack *st)
{
	uint32_t first = RULES;

	for (uint32_t i = 0; i < st->n_kernel; i++) {
		uint32_t rule = rule_at(r, st->addr[i] - 1);

		first = rule < first ? rule : first;
	}
	if (first < RULES)
		return rules[first].reason;
	if (st->syscall)
		return reason_of_syscall(st->syscall - 1);
	return st->n_user && !r->places.n ? WAIT_PAGE_FAULT : WAIT_OTHER;
}
