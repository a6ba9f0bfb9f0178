/* Sets the bounds of the arguments with prctl(PR_SET_MM_MAP), which needs no right. */
#include "base/own_args.h"

#include "base/buf.h"
#include "base/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Fields of /proc/PID/stat (proc_pid_stat(5)); the first after the name is the third. */
enum { FIRST = 3, START_CODE = 26, START_DATA = 45, FIELDS = 52, STAT_MAX_BYTES = 4096 };

static int read_fields(uint64_t *v)
{
	struct buf b = { 0 };
	int rc = fs_read_at(AT_FDCWD, "/proc/self/stat", STAT_MAX_BYTES, &b, NULL);
	char *at = rc ? NULL : strrchr(buf_cstr(&b), ')');

	at = at ? strchr(at + 1, ' ') : NULL;
	at = at ? strchr(at + 1, ' ') : NULL; /* after the state, a letter */
	for (int i = FIRST + 1; at && i < FIELDS; i++)
		v[i] = strtoull(at, &at, 10);
	buf_done(&b);
	return at ? 0 : rc ? rc : -EINVAL;
}

int own_args_hide(void)
{
	uint64_t v[FIELDS] = { 0 };
	int rc = read_fields(v);

	if (rc)
		return rc;
	const uint64_t *data = &v[START_DATA], *code = &v[START_CODE];
	struct prctl_mm_map map = {
		.start_code = code[0],
		.end_code = code[1],
		.start_stack = code[2],
		.start_data = data[0],
		.end_data = data[1],
		.start_brk = data[2],
		.brk = (uintptr_t)sbrk(0),
		.arg_start = data[3],
		.arg_end = data[3],
		.env_start = data[5],
		.env_end = data[6],
		.exe_fd = (uint32_t)-1,
	};
	return prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0) ? -errno : 0;
}
