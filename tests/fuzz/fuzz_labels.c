// tier: test
/* Any bytes as what labels of processes are made from; the first byte says which file they are. */
#include "collect/proc/container_names.h"
#include "collect/proc/process_context.h"
#include "collect/proc/user_names.h"
#include "memory_file.h"

#include <stdlib.h>
#include <string.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void check_names(const struct container_names *n)
{
	if (strnlen(n->container, sizeof n->container) == sizeof n->container ||
	    strnlen(n->pod, sizeof n->pod) == sizeof n->pod ||
	    strnlen(n->name_space, sizeof n->name_space) == sizeof n->name_space)
		abort();
}

static void read_link(const char *text, size_t size)
{
	struct container_names n = { 0 };

	if (container_link_parse(text, size, ID, &n) && memchr(n.pod, '_', strlen(n.pod)))
		abort();
	check_names(&n);
	pod_directory_parse(text, size, "6b1f1f1c-1111-2222-3333-444444444444", &n);
	check_names(&n);
}

static void read_config(const char *text, size_t size)
{
	struct container_names outside = { 0 }, in_pod = { 0 };

	container_config_parse(text, size, false, &outside);
	container_config_parse(text, size, true, &in_pod);
	check_names(&outside);
	check_names(&in_pod);
	if (*outside.pod || *outside.name_space)
		abort();
}

static void read_list(const char *text, size_t size)
{
	struct container_names n = { 0 };

	container_list_parse(text, size, ID, &n);
	check_names(&n);
}

static void read_users(const char *text, size_t size)
{
	struct user_names u = { 0 };
	char digits[16];

	user_names_add(&u, text, size);
	u.looked_ns = 1;
	for (uint32_t uid = 0; uid < 4; uid++)
		if (!*user_name(&u, -1, uid, 2, digits))
			abort();
	user_names_done(&u);
}

static void read_context(const char *text, size_t size)
{
	struct process_context s;

	if (!process_context_parse(text, size, &s) && (*s.name || *s.version))
		abort();
	if (strnlen(s.name, sizeof s.name) == sizeof s.name)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const readers[])(const char *, size_t) = { read_link, read_config, read_list,
								 read_users, read_context };
	enum { N = sizeof readers / sizeof *readers };

	if (size)
		readers[data[0] % N]((const char *)data + 1, size - 1);
	return 0;
}
