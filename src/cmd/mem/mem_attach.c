/* cresset mem attach PID, cresset mem detach PID. */
#include "base/clock.h"
#include "base/err.h"
#include "cmd/mem/mem.h"
#include "mem/live/live_read.h"

#include <errno.h>
#include <inttypes.h>
#include <time.h>

/* The library makes its memory some ms after it was loaded. */
static int wait_for_memory(uint32_t pid, struct live_now *now, struct err *err)
{
	uint64_t until_ns = clock_mono_ns() + LIVE_ANSWER_NS;
	int rc;

	while ((rc = live_peek((pid_t)pid, now, err)) == -ENOENT && clock_mono_ns() < until_ns)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	return rc;
}

static int take(uint32_t pid, const struct gpu_attach_report *r, bool *is_back, struct err *err)
{
	struct live_now now;
	int rc = wait_for_memory(pid, &now, err);
	const char *refused = rc ? NULL : live_refusal_text(now.refused);

	(void)r;
	if (rc == -ENOENT)
		return err_set(err, EAGAIN,
			       "process %" PRIu32 " has its parent's memory of the library until "
			       "an allocation of it is sampled",
			       pid);
	if (refused)
		return err_set(err, EOPNOTSUPP,
			       "process %" PRIu32 ": the library cannot sample: %s", pid, refused);
	*is_back = !rc && now.by_hand == LIVE_DETACHED;
	rc = rc ? rc : live_decide((pid_t)pid, LIVE_ATTACHED, err);
	if (rc == -EALREADY) {
		*err = (struct err){ 0 };
		rc = 0;
	}
	return rc;
}

int mem_attach_run(const struct cmd_line *line, const void *opts)
{
	static const struct attach_kind kind = {
		&mem_attach_library, take, "agents may read it",
		"while cresset up or agent, with --events alloc,inuse, or a recording reads them"
	};
	const struct mem_opts *o = opts;

	return attach_cmd_run(line, &o->attach, &kind);
}

static int detach_failed(uint32_t pid, int rc, struct err *err)
{
	int status = rc == -ENOENT ? attach_cmd_check(pid) : CMD_OK;

	if (status)
		return status;
	if (rc == -ENOENT) {
		err_set(err, ENOENT, "process %" PRIu32 " does not have the library", pid);
		err_hint(err, "or is still loading it, or has its parent's; see cresset mem "
			      "status");
	}
	return cmd_fail(attach_cmd_status(rc), err);
}

int mem_detach_run(const struct cmd_line *line, const void *opts)
{
	struct err err = { 0 };
	uint32_t pid;
	int status = cmd_pid(line, line->args.v[1], &pid);

	(void)opts;
	if (status)
		return status;
	int rc = live_decide((pid_t)pid, LIVE_DETACHED, &err);
	if (rc && rc != -EALREADY)
		return detach_failed(pid, rc, &err);
	return attach_cmd_detached(line, "mem", pid, rc != 0);
}
