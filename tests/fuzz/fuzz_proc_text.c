// tier: test
/* Any bytes as what /proc and /sys tell of a process and of the kernel; the first byte says which
 * file it is. */
#include "collect/proc/cgroup_path.h"
#include "collect/proc/proc_stat.h"
#include "collect/walker/kernel_space.h"
#include "memory_file.h"
#include "profile/profile.h"

#include <string.h>

static void read_stat(const char *text, size_t size)
{
	struct proc_stat st;

	if (proc_stat_parse(text, size, &st) == 0 && !memchr(st.name, '\0', sizeof st.name))
		abort();
}

static void read_uid(const char *text, size_t size)
{
	uint32_t uid;

	proc_uid_parse(text, size, &uid);
}

static void read_container(const char *text, size_t size)
{
	struct cgroup_place place;
	size_t id;

	cgroup_place_parse(text, size, &place);
	read_uid(text, size);
	id = strlen(place.container_id);
	if ((id && id != CONTAINER_ID_LEN) || strlen(place.unit) >= sizeof place.unit ||
	    strlen(place.container) >= sizeof place.container ||
	    strlen(place.user_unit) >= sizeof place.user_unit)
		abort();
}

static void read_notes(const char *text, size_t size)
{
	uint8_t id[BUILD_ID_MAX];

	if (kernel_notes_build_id(text, size, id, sizeof id) > sizeof id)
		abort();
}

static void read_modules(const char *text, size_t size)
{
	struct profile *p = profile_new();
	struct kernel_space k = { .sink = profile_sink(p) };

	(void)size;
	kernel_space_add_modules(&k, text);
	for (size_t i = 1; i < k.modules.n; i++)
		if (k.modules.v[i - 1].start >= k.modules.v[i].start)
			abort();
	kernel_space_done(&k);
	profile_free(p);
}

static void read_addresses(const char *text, size_t size)
{
	int fd = memory_file((const uint8_t *)text, size);

	kernel_text_start(fd);
	kernel_text_size(text);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(const char *, size_t) = { read_stat, read_container,
								 read_notes, read_modules,
								 read_addresses };
	enum { N = sizeof readers / sizeof *readers };

	if (!size)
		return 0;
	char *text = malloc(size); /* without the first byte, with a NUL behind */
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	readers[data[0] % N](text, size - 1);
	free(text);
	return 0;
}
