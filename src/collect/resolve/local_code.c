/* Names frames of generated code of this machine, for profiles that were read from files. */
#include "collect/resolve/local.h"

#include "base/hash.h"
#include "base/vec.h"
#include "collect/proc/mapped_file.h"
#include "symbol/symbol.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static struct symbol_source *open_map(uint32_t pid)
{
	struct symbol_source *source = NULL;
	struct stat st;
	char path[48];

	snprintf(path, sizeof path, "/tmp/perf-%" PRIu32 ".map", pid);
	int fd = plain_file_open(path, &st);
	if (fd < 0)
		return NULL;
	bool is_ours = st.st_uid == 0 || st.st_uid == geteuid();
	if (!is_ours || symbol_open_perf_map(fd, &source, NULL) < 0)
		source = NULL;
	close(fd);
	return source;
}

static struct symbol_source *source_of(struct local_code *c, uint32_t pid)
{
	const uint32_t *known = map_get(&c->by_pid, pid);
	struct symbol_source *source;

	if (known)
		return c->sources.v[*known];
	source = c->files < LOCAL_CODE_MAX_FILES ? open_map(pid) : NULL;
	c->files += source != NULL;
	map_put(&c->by_pid, pid, c->sources.n);
	vec_push(&c->sources, source);
	return source;
}

const char *local_code_name(void *code, uint32_t pid, uint64_t addr)
{
	struct symbol_source *source = source_of(code, pid);
	struct symbol sym;

	return source && symbol_lookup(source, addr, &sym) ? sym.name : NULL;
}

void local_code_done(struct local_code *c)
{
	for (size_t i = 0; i < c->sources.n; i++)
		symbol_close(c->sources.v[i]);
	vec_done(&c->sources);
	map_done(&c->by_pid);
}
