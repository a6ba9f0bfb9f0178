/* tests/unit/program_copy.h: many small programs that differ only in their build id. */
#ifndef CRESSET_TESTS_PROGRAM_COPY_H
#define CRESSET_TESTS_PROGRAM_COPY_H

#include "shell.h"
#include "symbol/symbol.h"

#include <sys/stat.h>

/* Copies /bin/true to path; its build id begins with n. */
static inline void program_copy(const char *path, uint16_t n)
{
	uint8_t id[64];
	struct stat st;

	shell_do("cp \"$(readlink -f /bin/true)\" %s", path);
	int fd = open(path, O_RDWR | O_CLOEXEC), len = elf_build_id(fd, id, sizeof id);
	ck_assert_int_gt(len, 2);
	ck_assert_int_eq(fstat(fd, &st), 0);
	char *data = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *at = memmem(data, st.st_size, id, len);
	ck_assert_ptr_nonnull(at);
	memcpy(at, &n, sizeof n);
	munmap(data, st.st_size);
	close(fd);
}

#endif
