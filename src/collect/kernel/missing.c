/* Words for each missing feature, its reason and its remedy. */
#include "collect/kernel/missing.h"

#include "base/err.h"

#include <errno.h>

const struct collect_feature collect_features[COLLECT_GROUPS] = {
	[GROUP_WALKER] = { "whole stacks", "stacks of code without frame pointers are short" },
	[GROUP_RUNTIMES] = { "Python", "no frames of Python and Java are recorded" },
	[GROUP_WAITS] = { "waits", "no waits are recorded" },
	[GROUP_WAKERS] = { "wakers", "wakers and locks are not recorded" },
	[GROUP_GPU] = { "GPU calls", "no calls of GPU libraries are recorded" },
	[GROUP_FAULTS] = { "page faults", "no page faults and no resident memory are recorded" },
	[GROUP_PYTHONS] = { "some Python", "a Python or Java has native frames only" },
};

void collect_missing_words(const struct collect_missing *m, struct err *err)
{
	err_set(err, EOPNOTSUPP, "%s: %s", collect_features[m->group].lost, m->why);
	err_hint(err, m->group == GROUP_PYTHONS
			      ? "all else is recorded; cresset doctor PID says more"
			      : "all else is recorded; cresset doctor -v says more");
}
