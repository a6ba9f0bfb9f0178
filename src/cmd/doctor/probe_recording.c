/* Records for a moment with the default events, to see whether recording works. */
#include "cmd/doctor/doctor.h"

#include "collect/kernel/sampler_opts.h"
#include "profile/profile.h"

#include <errno.h>

const struct collect_missing *probe_recording_missing(const struct probe_recording *t,
						      enum collect_group group)
{
	for (size_t i = 0; i < t->n_missing; i++)
		if (t->missing[i].group == group)
			return &t->missing[i];
	return NULL;
}

bool probe_recording_is_whole(const struct probe_recording *t)
{
	return t->rc == 0 && !probe_recording_missing(t, GROUP_WAITS);
}

void probe_recording_run(const struct kernel_opts *kernel, struct probe_recording *t)
{
	struct profile *p = profile_new();
	struct collect_opts opts = { .sampler = { .kernel = *kernel,
						  .events = COLLECT_CPU | COLLECT_OFF_CPU |
							    COLLECT_PAGE_FAULT,
						  .waits.min_block_ns = WAIT_MIN_BLOCK_NS } };
	struct collector *c = NULL;
	*t = (struct probe_recording){ 0 };
	t->rc = collect_open(&opts, profile_sink(p), &c, &t->err);
	if (t->rc == 0) {
		const struct collect_missing *missing;
		size_t n = collect_get_missing(c, &missing);
		t->n_missing = n < COLLECT_GROUPS ? n : COLLECT_GROUPS;
		for (size_t i = 0; i < t->n_missing; i++)
			t->missing[i] = missing[i];
		t->rc = collect_start(c, &t->err);
		collect_get_stats(c, &t->stats);
		collect_stop(c, NULL);
		collect_free(c);
	}
	profile_free(p);
}

enum cmd_status collect_status(int rc)
{
	switch (-rc) {
	case EPERM:
	case EACCES:
		return CMD_PERMISSION;
	case EOPNOTSUPP:
	case ENOSYS:
		return CMD_UNSUPPORTED;
	case ESRCH:
	case ENOENT:
		return CMD_NO_TARGET;
	case EINVAL:
		return CMD_USAGE;
	default:
		return CMD_FAILED;
	}
}
