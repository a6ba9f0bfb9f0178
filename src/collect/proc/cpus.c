/* Parses lists of CPUs such as 0-3,8. */
#include "collect/proc/cpus.h"

#include "base/buf.h"
#include "base/fs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

static bool parse_id(const char **p, uint32_t *id)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	unsigned long v = strtoul(*p, &end, 10);
	*p = end;
	*id = v;
	return v < CPUS_MAX;
}

int cpu_list_parse(const char *text, struct cpu_list *out)
{
	struct cpu_list got = { 0 };

	for (const char *p = text; *p && *p != '\n';) {
		uint32_t first, last;

		if (!parse_id(&p, &first))
			goto bad;
		last = first;
		if (*p == '-' && (p++, !parse_id(&p, &last)))
			goto bad;
		for (uint32_t id = first; id <= last; id++)
			vec_push(&got.ids, id);
		if (*p == ',')
			p++;
		else if (*p && *p != '\n')
			goto bad;
	}
	cpu_list_done(out);
	*out = got;
	return 0;
bad:
	cpu_list_done(&got);
	return -EINVAL;
}

int cpu_list_online(const char *path, struct cpu_list *out)
{
	struct buf b = { 0 };
	int rc = fs_read_at(AT_FDCWD, path ? path : "/sys/devices/system/cpu/online", 64 * 1024, &b,
			    NULL);

	if (!rc)
		rc = cpu_list_parse(buf_cstr(&b), out);
	buf_done(&b);
	return rc;
}

bool cpu_list_has(const struct cpu_list *l, uint32_t cpu)
{
	for (size_t i = 0; i < l->ids.n; i++)
		if (l->ids.v[i] == cpu)
			return true;
	return false;
}

void cpu_list_done(struct cpu_list *l)
{
	vec_done(&l->ids);
}
