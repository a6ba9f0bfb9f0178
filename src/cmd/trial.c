#include "cmd/trial.h"

#include "profile/profile.h"

#include <errno.h>

void trial_run(struct trial *t)
{
	struct profile *p = profile_new();
	struct collect_opts opts = { .freq_hz = 99 };
	struct collector *c = NULL;
	*t = (struct trial){ 0 };
	t->rc = collect_open(&opts, profile_sink(p), &c, &t->err);
	if (t->rc == 0) {
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
