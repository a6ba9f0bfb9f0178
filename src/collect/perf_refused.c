#include "collect/perf_refused.h"

#include "base/buf.h"
#include "base/fs.h"

#include <fcntl.h>
#include <stdlib.h>

int perf_paranoid(void)
{
	struct buf b = { 0 };
	int paranoid = 2;

	if (!fs_read_at(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", 64, &b, NULL))
		paranoid = (int)strtol(buf_cstr(&b), NULL, 10);
	buf_done(&b);
	return paranoid;
}

const char *perf_refused_remedy(int paranoid)
{
	if (paranoid > 2)
		return "kernel.perf_event_paranoid is above 2: kernels of Debian and Ubuntu want "
		       "CAP_SYS_ADMIN then\n"
		       "with 2, CAP_PERFMON is enough:  sudo sysctl kernel.perf_event_paranoid=2";
	return "needs CAP_PERFMON, or kernel.perf_event_paranoid ≤ 0";
}
