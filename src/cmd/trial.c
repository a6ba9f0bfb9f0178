#include "cmd/trial.h"

#include "profile/profile.h"

#include <errno.h>

static void take_missing(struct trial *t, struct collector *c)
{
	const struct collect_missing *missing;
	size_t n = collect_get_missing(c, &missing);
	t->n_missing = n < COLLECT_GROUPS ? n : COLLECT_GROUPS;
	for (size_t i = 0; i < t->n_missing; i++)
		t->missing[i] = missing[i];
}

const struct collect_missing *trial_missing(const struct trial *t, enum collect_group group)
{
	for (size_t i = 0; i < t->n_missing; i++)
		if (t->missing[i].group == group)
			return &t->missing[i];
	return NULL;
}

bool trial_is_whole(const struct trial *t)
{
	return t->rc == 0 && !trial_missing(t, GROUP_WAITS);
}

void trial_run(const struct collect_opts *kernel, struct trial *t)
{
	struct profile *p = profile_new();
	struct collect_opts opts = *kernel;
	struct collector *c = NULL;
	opts.freq_hz = 99;
	opts.events = COLLECT_CPU | COLLECT_OFF_CPU;
	*t = (struct trial){ 0 };
	t->rc = collect_open(&opts, profile_sink(p), &c, &t->err);
	if (t->rc == 0) {
		take_missing(t, c);
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
