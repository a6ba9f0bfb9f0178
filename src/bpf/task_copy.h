/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/task_copy.h: copies memory of a task that does not run, without waiting for its process.
 *
 * bpf_copy_from_user_task takes the lock of the process's mappings and reads pages in. So it waits
 * for the holder of that lock, for the handler of a userfaultfd, and for the file system of a
 * mapped file. bpf_find_vma never waits: it only tries the lock. Memory is copied if the lock is
 * free and the mapping is ordinary memory or a regular file of this machine. A process can still
 * take the lock between the two calls, in nanoseconds unless this program is preempted there. A
 * page that is not in memory is read from the disk or from swap, as for any program. */
#ifndef CRESSET_BPF_TASK_COPY_H
#define CRESSET_BPF_TASK_COPY_H

#include "bpf/kernel.h"

/* s_magic of file systems, as in linux/magic.h; that of ZFS is in its own source */
enum {
	MAGIC_FUSE = 0x65735546,
	MAGIC_TMPFS = 0x01021994,
	MAGIC_RAMFS = 0x858458f6,
	MAGIC_HUGETLBFS = 0x958458f6,
	MAGIC_BTRFS = 0x9123683e,
	MAGIC_OVERLAYFS = 0x794c7630,
	MAGIC_ZFS = 0x2fc12fc1,
};

enum { MODE_TYPE = 0170000, MODE_REGULAR = 0100000 }; /* of i_mode: S_IFMT, S_IFREG */

/* Whether a mapped file is on a disk of this machine, or in memory. A device file has the file
 * system of its directory, but its driver decides how long a read takes. Block devices of FUSE
 * ("fuseblk") are read by a process. */
static __always_inline int is_file_prompt(struct file *file)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	__u32 magic = BPF_CORE_READ(inode, i_sb, s_magic);

	if ((BPF_CORE_READ(inode, i_mode) & MODE_TYPE) != MODE_REGULAR)
		return 0;
	switch (magic) {
	case MAGIC_FUSE:
		return 0;
	case MAGIC_TMPFS:
	case MAGIC_RAMFS:
	case MAGIC_HUGETLBFS:
	case MAGIC_BTRFS:
	case MAGIC_OVERLAYFS:
	case MAGIC_ZFS:
		return 1;
	}
	return BPF_CORE_READ(inode, i_sb, s_bdev) != NULL;
}

struct prompt_range {
	__u64 end;
	__u64 is_prompt;
};

static long look_at_mapping(struct task_struct *task, struct vm_area_struct *vma,
			    struct prompt_range *range)
{
	struct file *file = BPF_CORE_READ(vma, vm_file);
	int is_anonymous = !file || !BPF_CORE_READ(vma, vm_ops); /* of /dev/zero, too */

	if (range->end > BPF_CORE_READ(vma, vm_end))
		return 0;
	if (bpf_core_field_exists(vma->vm_userfaultfd_ctx.ctx) &&
	    BPF_CORE_READ(vma, vm_userfaultfd_ctx.ctx))
		return 0;
	range->is_prompt = is_anonymous || is_file_prompt(file);
	return 0;
}

/* For sleepable programs. Returns 0, or -1 if nothing was copied: the memory is not there, extends
 * over two mappings, or is not read without a wait. */
static __noinline int task_copy(struct task_struct *task, void *to, __u32 size, __u64 from)
{
	struct prompt_range range = { .end = from + size };

	if (bpf_find_vma(task, from, look_at_mapping, &range, 0) || !range.is_prompt)
		return -1;
	return bpf_copy_from_user_task(to, size, (const void *)from, task, 0) ? -1 : 0;
}

#endif
