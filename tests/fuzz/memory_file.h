/* tests/fuzz/memory_file.h: the fuzzer's bytes as an open file. */
#ifndef CRESSET_FUZZ_MEMORY_FILE_H
#define CRESSET_FUZZ_MEMORY_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline int memory_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

#endif
