/* Memory of another process by process_vm_readv(2), and the vDSO of this process. */
#include "collect/proc/process_memory.h"

#include <errno.h>
#include <sys/uio.h>

int process_memory_read(uint32_t pid, uint64_t addr, void *out, size_t len)
{
	struct iovec to = { out, len }, from = { (void *)(uintptr_t)addr, len };
	ssize_t n = process_vm_readv(pid, &to, 1, &from, 1, 0);

	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EFAULT;
}
