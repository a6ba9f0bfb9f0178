// tier: test
/* Any bytes as what /proc says of a process that one wants to attach to, and as the words that it writes for us. */
#include "attach/attach_code.h"
#include "attach/attach_refuse.h"
#include "attach/attach_status.h"
#include "gpu/ring/time_space.h"
#include "memory_file.h"
#ifdef __x86_64__
#include "attach/attach_call.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_words(const uint8_t *data, size_t size)
{
#ifdef __x86_64__
	struct attach_words w;
	char *page = calloc(1, ATTACH_WORDS + size);

	memcpy(page + ATTACH_WORDS, data, size);
	int fd = memory_file((const uint8_t *)page, ATTACH_WORDS + size);
	if (attach_words_read(fd, &w) == 0 &&
	    (strlen(w.name) >= sizeof w.name || strlen(w.path) >= sizeof w.path ||
	     strlen(w.error) >= sizeof w.error))
		abort();
	close(fd);
	free(page);
#else
	(void)data;
	(void)size;
#endif
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct attach_status status;
	struct attach_syscall call;
	uint64_t ticks;
	int64_t ahead_ns;
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	if (attach_status_parse(text, size, &status) && !status.tgid)
		abort();
	if (attach_syscall_parse(text, &call) && call.nr < -1)
		abort();
	attach_start_parse(text, size, &ticks);
	if (time_space_parse(text, size, &ahead_ns) &&
	    (ahead_ns < -(1ll << 30) * 1000000000 || ahead_ns > ((1ll << 30) + 1) * 1000000000))
		abort();
	if (attach_is_library(text, "libx.so") && !strstr(text, "libx.so"))
		abort();
	read_words(data, size);
	free(text);
	return 0;
}
