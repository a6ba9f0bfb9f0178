#include "collect/worker/probe_link.h"

#include "base/fs.h"
#include "base/mem.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The part of union bpf_attr that BPF_LINK_CREATE reads for uprobe_multi (include/uapi/linux/bpf.h
 * of 6.6). */
struct multi_attr {
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, counters, cookies;
	uint32_t n, at_return, pid, reserved;
};
enum { AT_RETURN = 1 };

static int create(struct multi_attr *attr)
{
	int fd = syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof *attr);

	return fd < 0 ? -errno : fd;
}

static uint64_t address_of(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

/* A kernel that knows uprobe_multi checks the path first, and answers EBADF for a directory. */
bool probe_link_has_multi(void)
{
	const struct bpf_insn nothing[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)ATTACH_UPROBE_MULTI);
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", nothing, 2, &opts);
	uint64_t offset = 0;
	struct multi_attr attr = {
		.program = program,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = address_of("/"),
		.offsets = address_of(&offset),
		.n = 1,
	};

	if (program < 0)
		return false;
	int rc = create(&attr);
	close(program);
	if (rc >= 0)
		close(rc);
	return rc == -EBADF;
}

static void split(const struct probe_place *places, uint32_t n, uint64_t *offsets,
		  uint64_t *cookies, uint64_t *counters)
{
	for (uint32_t i = 0; i < n; i++) {
		offsets[i] = places[i].offset;
		cookies[i] = places[i].cookie;
		counters[i] = places[i].counter;
	}
}

int probe_link_multi(int program, int file, const struct probe_place *places, uint32_t n,
		     bool at_return)
{
	uint64_t *lists = xcalloc(3 * (size_t)n + 1, sizeof *lists);
	char path[32];
	struct multi_attr attr = {
		.program = program,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = address_of(path),
		.offsets = address_of(lists),
		.cookies = address_of(lists + n),
		.counters = address_of(lists + 2 * (size_t)n),
		.n = n,
		.at_return = at_return ? AT_RETURN : 0,
	};

	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	split(places, n, lists, lists + n, lists + 2 * (size_t)n);
	int rc = create(&attr);
	free(lists);
	return rc;
}

/* --- one by one ------------------------------------------------------------------------------- */

#define PMU "/sys/bus/event_source/devices/uprobe/"
enum { COUNTER_SHIFT = 32 }; /* of the reference counter's offset, in config */

/* Returns -errno where the kernel has no such events. */
static int read_number(const char *path, const char *form, uint32_t *out)
{
	char text[32];
	int rc = fs_read_line(path, text, sizeof text);

	if (rc)
		return rc;
	return sscanf(text, form, out) == 1 ? 0 : -ENOTSUP;
}

static int open_event(int file, const struct probe_place *place, bool at_return)
{
	struct perf_event_attr attr = { .size = sizeof attr };
	char path[32];
	uint32_t bit;
	int rc = read_number(PMU "type", "%" SCNu32, &attr.type);

	if (!rc)
		rc = read_number(PMU "format/retprobe", "config:%" SCNu32, &bit);
	if (rc)
		return rc;
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	attr.config = (at_return ? 1ull << bit : 0) | place->counter << COUNTER_SHIFT;
	attr.uprobe_path = address_of(path);
	attr.probe_offset = place->offset;
	int fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int probe_link_one(int program, int file, const struct probe_place *place, bool at_return)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .perf_event.bpf_cookie = place->cookie);
	int event = open_event(file, place, at_return);

	if (event < 0)
		return event;
	int link = bpf_link_create(program, event, BPF_PERF_EVENT, &opts);
	if (link >= 0 && ioctl(event, PERF_EVENT_IOC_ENABLE, 0)) {
		int error = errno;

		close(link);
		link = -error;
	}
	close(event); /* the link keeps it */
	return link;
}
