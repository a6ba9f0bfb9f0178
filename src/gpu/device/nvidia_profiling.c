/* The parameter NVreg_RestrictProfilingToAdminUsers of NVIDIA's kernel module, which it shows as
 * RmProfilingAdminOnly. */
#include "gpu/device/nvidia.h"

#include "base/buf.h"
#include "base/fs.h"

#include <fcntl.h>
#include <string.h>

enum { TEXT_MAX = 64 << 10 };

enum gpu_profiling nvidia_profiling_parse(const char *text, size_t len)
{
	static const char key[] = "RmProfilingAdminOnly:";
	struct cur c = cur_of(text, len);
	const char *line;
	size_t n;

	while (cur_line(&c, &line, &n)) {
		size_t at = sizeof key - 1;

		if (n < at || memcmp(line, key, at))
			continue;
		while (at < n && line[at] == ' ')
			at++;
		if (at + 1 != n)
			return GPU_PROFILING_UNKNOWN;
		return line[at] == '0'   ? GPU_PROFILING_ALL
		       : line[at] == '1' ? GPU_PROFILING_ADMIN
					 : GPU_PROFILING_UNKNOWN;
	}
	return GPU_PROFILING_UNKNOWN;
}

enum gpu_profiling nvidia_profiling(void)
{
	struct buf b = { 0 };
	enum gpu_profiling who = GPU_PROFILING_UNKNOWN;

	if (fs_read_at(AT_FDCWD, "/proc/driver/nvidia/params", TEXT_MAX, &b, NULL) == 0)
		who = nvidia_profiling_parse(b.data, b.len);
	buf_done(&b);
	return who;
}
