/* Compares names with patterns of the kernel and of JIT compilers. */
#include "collect/process/object_name.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

bool object_name_is_anonymous(const char *name)
{
	static const char *const whole[] = { "", "//anon", "[heap]", "/anon_hugepage" };
	static const char *const starts[] = { "[stack",
					      "[anon:", "[anon_shmem:", "/anon_hugepage " };

	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		if (strcmp(name, whole[i]) == 0)
			return true;
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (str_starts(name, starts[i]))
			return true;
	return false;
}

bool object_name_is_nameless_file(const char *name)
{
	return str_starts(name, "memfd:") || str_starts(name, "/SYSV") ||
	       strcmp(name, "/dev/zero") == 0;
}

char *object_name_clean(const char *name)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(name);

	if (str_ends(name, deleted))
		len -= sizeof deleted - 1;
	if (str_starts(name, "/memfd:"))
		name++, len--;
	return xstrndup(name, len);
}

bool object_name_is_jitdump(const char *name)
{
	const char *slash = strrchr(name, '/');

	return slash && str_starts(slash, "/jit-") && str_ends(slash, ".dump");
}
