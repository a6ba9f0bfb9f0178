/* The table of target processes in the kernel. */
#include "collect/kernel/sampler_state.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "collect/kernel/sampler.h"
#include "collect/kernel/target.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Passes the targets to the kernel side before sampling starts. */

static bool task_exists(enum target_kind kind, uint32_t id)
{
	char path[64], line[256];

	if (kind == TARGET_TID)
		return syscall(SYS_tkill, (pid_t)id, 0) == 0 || errno == EPERM;
	/* kill() also accepts a thread's id: /proc shows whether it is a process. */
	snprintf(path, sizeof path, "/proc/%u/status", id);
	struct buf b = { 0 };
	if (fs_read_at(AT_FDCWD, path, 64 * 1024, &b, NULL)) {
		buf_done(&b);
		return false;
	}
	snprintf(line, sizeof line, "\nTgid:\t%u\n", id);
	bool ok = strstr(buf_cstr(&b), line) && !strstr(b.data, "\nState:\tZ") &&
		  !strstr(b.data, "\nState:\tX");
	buf_done(&b);
	return ok;
}

static int no_target(const struct sampler *s, uint32_t id, struct err *err)
{
	bool thread = s->opts.target == TARGET_TID;

	err_set(err, ESRCH, "no %s with id %u", thread ? "thread" : "process", id);
	return err_hint(
		err, thread ? "list threads with:  ps -eLo tid,pid,comm"
			    : "list processes with:  ps -eo pid,comm   (for a thread use --tid)");
}

/* The exit program is already attached, so a target that ends right after the check is removed. */
static int add_ids(struct sampler *s, struct err *err)
{
	struct target t = { .wait_exec = s->opts.wait_exec };

	for (size_t i = 0; i < s->opts.n_ids; i++) {
		uint32_t id = s->opts.ids[i];

		if (bpf_map__update_elem(s->bpf->maps.targets, &id, sizeof id, &t, sizeof t,
					 BPF_ANY))
			return err_set(err, E2BIG, "more than %u targets", s->opts.max_targets);
		if (!task_exists(s->opts.target, id)) {
			bpf_map__delete_elem(s->bpf->maps.targets, &id, sizeof id, 0);
			return no_target(s, id, err);
		}
	}
	return 0;
}

static int add_comm(struct sampler *s, struct err *err)
{
	struct glob_program *g = xmalloc(sizeof *g);
	uint32_t zero = 0;
	int rc = target_compile_glob(s->opts.comm, g, err);

	if (!rc &&
	    bpf_map__update_elem(s->bpf->maps.comm_glob, &zero, sizeof zero, g, sizeof *g, BPF_ANY))
		rc = err_set(err, errno, "cannot set the thread name to watch: %s",
			     strerror(errno));
	free(g);
	return rc;
}

static int add_cgroup(struct sampler *s, struct err *err)
{
	uint32_t zero = 0;
	int fd = target_open_cgroup(s->opts.cgroup, err), rc = 0;

	if (fd < 0)
		return fd;
	if (bpf_map__update_elem(s->bpf->maps.cgroup, &zero, sizeof zero, &fd, sizeof fd, BPF_ANY))
		rc = err_set(err, errno, "cannot watch cgroup '%s': %s", s->opts.cgroup,
			     strerror(errno));
	close(fd);
	return rc;
}

int sampler_add_targets(struct sampler *s, struct err *err)
{
	static int (*const add[])(struct sampler *, struct err *) = {
		[TARGET_PID] = add_ids,
		[TARGET_TID] = add_ids,
		[TARGET_COMM] = add_comm,
		[TARGET_CGROUP] = add_cgroup,
	};

	return add[s->opts.target] ? add[s->opts.target](s, err) : 0;
}

bool sampler_is_target(struct sampler *s, uint32_t pid)
{
	struct target t;

	return bpf_map__lookup_elem(s->bpf->maps.targets, &pid, sizeof pid, &t, sizeof t, 0) == 0;
}

bool sampler_targets_gone(struct sampler *s)
{
	uint32_t id;

	if (s->opts.target != TARGET_PID && s->opts.target != TARGET_TID)
		return false;
	return bpf_map__get_next_key(s->bpf->maps.targets, NULL, &id, sizeof id) == -ENOENT;
}
