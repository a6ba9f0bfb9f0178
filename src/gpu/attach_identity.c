#include "gpu/attach_identity.h"

#include "gpu/attach_status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int program_of(uint32_t pid, struct stat *st)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/exe", pid);
	return stat(path, st);
}

int attach_identity_open(struct attach_identity *id, uint32_t pid)
{
	char path[32];
	struct stat st;

	*id = (struct attach_identity){ .start = attach_start_of(pid), .memory = -1 };
	if (!id->start || program_of(pid, &st) < 0)
		return -ESRCH;
	id->dev = st.st_dev;
	id->ino = st.st_ino;
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/mem", pid);
	id->memory = open(path, O_RDONLY | O_CLOEXEC);
	return 0;
}

bool attach_identity_holds(const struct attach_identity *id, uint32_t pid, uint64_t addr)
{
	struct stat st;
	char byte;

	return attach_start_of(pid) == id->start && program_of(pid, &st) == 0 &&
	       st.st_dev == id->dev && st.st_ino == id->ino &&
	       (id->memory < 0 || pread(id->memory, &byte, 1, addr) == 1);
}

void attach_identity_close(struct attach_identity *id)
{
	if (id->memory >= 0)
		close(id->memory);
	id->memory = -1;
}
