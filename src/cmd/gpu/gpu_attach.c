/* cresset gpu attach PID. */
#include "base/err.h"
#include "cmd/gpu/gpu.h"
#include "gpu/ring/ring_look.h"

#include <errno.h>

/* Reattaches a library that is loaded but detached. One that is still loading has no ring. */
static int bring_back(uint32_t pid, const struct gpu_attach_report *r, bool *is_back,
		      struct err *err)
{
	struct err why = { 0 };
	int rc = r->already ? ring_reattach((pid_t)pid, &why) : -EALREADY;

	*is_back = rc == 0;
	if (rc != -ETIMEDOUT && rc != -ENOMEM)
		return 0;
	*err = why;
	return rc;
}

int gpu_attach_run(const struct cmd_line *line, const void *opts)
{
	static const struct attach_kind kind = { &cuda_attach_library, bring_back,
						 "nothing was done", NULL };
	const struct gpu_opts *o = opts;

	return attach_cmd_run(line, &o->attach, &kind);
}
