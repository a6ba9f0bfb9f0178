/* Reads /proc/PID/maps and status of all processes at start. */
#include "collect/process/proc_scan.h"

#include "base/clock.h"
#include "base/cpu_budget.h"
#include "base/parse.h"
#include "collect/proc/proc_maps.h"
#include "collect/proc/proc_stat.h"
#include "collect/proc/process_context.h"
#include "collect/process/image.h"
#include "collect/process/object.h"
#include "collect/process/process.h"
#include "collect/worker/proc_reader.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

struct scan {
	struct process_table *table;
	struct image *image;
	uint32_t pid;
	uint64_t context_addr;
	uint32_t mappings;
	bool is_cut; /* the process has more executable ones */
};

static bool add_mapping(void *ctx, const struct proc_map *m)
{
	struct scan *s = ctx;
	struct object_table *objects = s->table->objects;

	s->mappings += strcmp(m->name, "[vsyscall]") != 0; /* the kernel's */
	if (!m->executable) {
		if (process_context_is_mapping(m->name))
			s->context_addr = m->start;
		return true;
	}
	s->is_cut = s->image->maps.n >= PROCESS_MAX_MAPS;
	if (s->is_cut)
		return false;
	struct image_map map = { m->start, m->end, m->pgoff, object_of_map(objects, s->pid, m) };
	if (map.object != OBJECT_NONE)
		image_replace(s->image, &map, objects);
	return true;
}

/* An ending process no longer has mappings, but earlier samples of it may be pending. */
static int scan_mappings(struct process_table *t, struct process *p)
{
	struct scan s = { .table = t, .image = process_new_image(t), .pid = p->pid };
	int rc = proc_reader_maps(t->objects->reader, p->pid, add_mapping, &s, &s.mappings);
	bool was_there = p->image && p->image->maps.n;

	p->context_addr = s.context_addr ? s.context_addr : p->context_addr;
	p->search.mappings = s.mappings;
	t->refused += s.is_cut || rc > 0; /* once for all that were left out */
	if (rc < 0 || (!s.image->maps.n && was_there))
		image_unref(s.image, t->objects);
	else
		process_set_image(t, p, s.image);
	return rc;
}

void proc_scan(struct process_table *t, struct process *p, uint64_t now_ns)
{
	struct proc_stat st;

	p->scanned_ns = now_ns;
	p->next_scan_ns = now_ns + SCAN_AGAIN_NS;
	p->is_scan_late = false;
	if (p->pid == 0) {
		p->is_kernel_thread = true;
		return;
	}
	if (proc_stat_read(p->pid, &st)) {
		process_exit(t, p->pid, p->pid, now_ns);
		return;
	}
	process_set_name(p, st.name);
	p->is_kernel_thread = st.is_kernel_thread;
	if (!st.is_kernel_thread && st.state != 'Z' && st.state != 'X')
		p->is_scan_late = scan_mappings(t, p) == -EAGAIN;
	if (p->is_scan_late)
		p->next_scan_ns = now_ns + SCAN_LATE_NS;
}

void proc_scan_within(struct process_table *t, struct process *p, struct allowance *time,
		      uint64_t now_ns)
{
	const struct proc_reader *reader = t->objects->reader;

	if (allowance_left(time, clock_mono_ns()) <= 0)
		return;
	uint64_t begin_ns = proc_reader_clock_ns(reader);
	proc_scan(t, p, now_ns);
	allowance_spend(time, proc_reader_clock_ns(reader) - begin_ns);
}

static bool parse_pid(const char *name, uint32_t *pid)
{
	uint64_t v;

	if (parse_u64(name, &v) || v > INT32_MAX)
		return false;
	*pid = v;
	return true;
}

static void end_missing(struct process_table *t, uint64_t now_ns)
{
	for (size_t i = 0; i < t->all.n; i++) {
		struct process *p = t->all.v[i];

		if (p && p->pid && p->scanned_ns != now_ns && !p->leader_gone)
			process_exit(t, p->pid, p->pid, now_ns);
	}
}

void proc_scan_all(struct process_table *t, uint64_t now_ns, void (*between)(void *ctx), void *ctx)
{
	DIR *dir = opendir("/proc");
	uint32_t pid;

	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));) {
		if (!parse_pid(e->d_name, &pid))
			continue;
		struct process *p = process_find(t, pid);
		if (!p)
			p = process_add(t, pid);
		if (p)
			proc_scan(t, p, now_ns);
		if (between)
			between(ctx);
	}
	closedir(dir);
	end_missing(t, now_ns);
}
