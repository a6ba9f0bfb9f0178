/* Names frames of generated code of this machine, for profiles that were read from files. */
#include "collect/resolve/local.h"

#include "base/hash.h"
#include "base/vec.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/proc_stat.h"
#include "symbol/symbol.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

static struct local_code_file open_map(uint32_t pid)
{
	struct local_code_file f = { 0 };
	struct stat st;
	char path[48];

	snprintf(path, sizeof path, "/tmp/perf-%" PRIu32 ".map", pid);
	int fd = plain_file_open(path, &st);
	if (fd < 0)
		return f;
	bool is_ours = st.st_uid == 0 || st.st_uid == geteuid();
	if (!is_ours || symbol_open_perf_map(fd, &f.names, NULL) < 0)
		f.names = NULL;
	f.times.written_ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;
	f.times.begun_ns = proc_start_wall_ns(pid);
	close(fd);
	return f;
}

static const struct local_code_file *file_of(struct local_code *c, uint32_t pid)
{
	const uint32_t *known = map_get(&c->by_pid, pid);
	struct local_code_file f = { 0 };

	if (known)
		return &c->all.v[*known];
	if (c->files < LOCAL_CODE_MAX_FILES)
		f = open_map(pid);
	c->files += f.names != NULL;
	map_put(&c->by_pid, pid, c->all.n);
	vec_push(&c->all, f);
	return &c->all.v[c->all.n - 1];
}

bool local_code_times(void *code, uint32_t pid, struct format_code_times *out)
{
	const struct local_code_file *f = file_of(code, pid);

	*out = f->times;
	return f->names != NULL;
}

const char *local_code_name(void *code, uint32_t pid, uint64_t addr)
{
	const struct local_code_file *f = file_of(code, pid);
	struct symbol sym;

	return f->names && symbol_lookup(f->names, addr, &sym) ? sym.name : NULL;
}

void local_code_done(struct local_code *c)
{
	for (size_t i = 0; i < c->all.n; i++)
		symbol_close(c->all.v[i].names);
	vec_done(&c->all);
	map_done(&c->by_pid);
}
