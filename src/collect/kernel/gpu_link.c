/* Attaches a program to several offsets of a file, by uprobe_multi if the kernel has it. */
#include "collect/kernel/gpu_link.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
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

/* A kernel that knows uprobe_multi checks the path first, and returns EBADF for a directory. */
bool gpu_link_has_multi(void)
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

int gpu_link_multi(int program, int file, const struct gpu_link_places *places, bool at_return)
{
	char path[32];
	struct multi_attr attr = {
		.program = program,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = address_of(path),
		.offsets = address_of(places->offsets),
		.cookies = address_of(places->cookies),
		.counters = address_of(places->counters),
		.n = places->n,
		.at_return = at_return ? AT_RETURN : 0,
	};

	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	return create(&attr);
}

struct bpf_link *gpu_link_one(struct bpf_program *program, int file,
			      const struct gpu_link_places *places, uint32_t i, bool at_return)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = places->cookies[i],
		    .ref_ctr_offset = places->counters[i], .retprobe = at_return);
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	return bpf_program__attach_uprobe_opts(program, -1, path, places->offsets[i], &opts);
}
