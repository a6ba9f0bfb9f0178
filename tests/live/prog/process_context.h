/* tests/live/prog/process_context.h: publishes what process this is, as OpenTelemetry's process context has it (OTEP 4719). */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

struct header {
	char signature[8];
	uint32_t version, bytes;
	uint64_t published_ns;
	const void *message;
};

/* A ProcessContext, which has to stay. A reader finds it by the name of the mapping, or, where the kernel gives none, by that of the file. */
static void publish(const void *message, uint32_t bytes, bool is_named)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct header *h;

	if (fd < 0 || ftruncate(fd, sizeof *h))
		exit(1);
	h = mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	if (h == MAP_FAILED)
		exit(1);
	close(fd);
	madvise(h, sizeof *h, MADV_DONTFORK);
	h->version = 2;
	h->bytes = bytes;
	h->message = message;
	h->published_ns = 1;
	atomic_thread_fence(memory_order_seq_cst);
	memcpy(h->signature, "OTEL_CTX", 8);
	if (is_named)
		prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, h, sizeof *h, "OTEL_CTX");
}
