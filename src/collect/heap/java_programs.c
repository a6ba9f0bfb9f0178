/* Programs of Java: allocations that HotSpot's own sampler chooses. */
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "collect/heap/collect_heap.h"
#include "collect/proc/mapped_file.h"
#include "collect/worker/proc_reader.h"
#include "runtime/hotspot_sampler.h"
#include "runtime/runtime.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OPEN_WITHIN_NS 10000000000ull
#define OPEN_AGAIN_NS  20000000ull
#define ASK_AGAIN_NS   10000000000ull /* always on: a program that was not selected */
#define LOOK_FIRST_NS  20000000ull    /* after the request */
#define LOOK_EACH_NS   1000000000ull
#define LOOK_RARELY_NS 10000000000ull
#define PROBES_WAIT_NS 5000000000ull
enum { PAUSE_NS = 5000000, ON_WITHIN_LOOKS = 100 };

struct java_program {
	uint32_t pid, looks; /* looks: since the request to switch */
	uint64_t mapped_ns, next_ns;
	uint64_t until_ns;        /* to be opened until then; 0: was not tried */
	struct mapped_file place; /* of libjvm; its path is path */
	char *path;
	int fd;            /* of libjvm; -1: not open */
	uint64_t dev, ino; /* of its program */
	struct stat file;  /* of libjvm */
	struct hotspot_sampler sampler;
	uint64_t bias;
	struct java_heap heap; /* as the probe has it */
	bool is_open, is_asked, is_on, has_sampled;
};

/* --- life ------------------------------------------------------------------------------------- */

static void note(struct collect_heap *h, uint32_t pid, const char *text)
{
	if (!h->stats.problem[0])
		snprintf(h->stats.problem, sizeof h->stats.problem,
			 "process %" PRIu32 ": Java's heap: %.110s", pid, text);
}

static struct java_program *program_of(const struct collect_heap *h, uint32_t pid)
{
	for (size_t i = 0; i < h->java.n; i++)
		if (h->java.v[i]->pid == pid)
			return h->java.v[i];
	return NULL;
}

static void drop(struct collect_heap *h, struct java_program *p)
{
	size_t i = 0;

	while (h->java.v[i] != p)
		i++;
	h->java.v[i] = h->java.v[--h->java.n];
	gpu_probes_drop_java(h->probes, p->pid);
	if (p->fd >= 0)
		close(p->fd);
	free(p->path);
	free(p);
}

void java_programs_done(struct collect_heap *h)
{
	while (h->java.n)
		drop(h, h->java.v[h->java.n - 1]);
	vec_done(&h->java);
}

/* --- finding ---------------------------------------------------------------------------------- */

static bool is_hotspot(const char *path)
{
	static const char name[] = "libjvm.so";
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash && strcmp(slash + 1, name) == 0;
}

static bool is_wanted(const struct collect_heap *h)
{
	return h->is_memory && h->probes && h->asked->events & COLLECT_ALLOC &&
	       (h->opts->switches_all || h->opts->switches.apply);
}

static void add(struct collect_heap *h, const struct mapped_file *f, uint64_t now_ns)
{
	bool is_target = h->asked->target != TARGET_PID || sampler_is_target(h->sampler, f->pid);

	if (program_of(h, f->pid) || !is_target)
		return;
	if (h->java.n >= JAVA_HEAPS_MAX) {
		note(h, f->pid, "there are too many programs");
		return;
	}
	struct java_program *p = xcalloc(1, sizeof *p);
	p->pid = f->pid;
	p->place = *f;
	p->place.path = p->path = xstrdup(f->path);
	p->place.build_id = NULL;
	p->place.build_id_len = 0;
	p->fd = -1;
	p->mapped_ns = p->next_ns = now_ns;
	vec_push(&h->java, p);
}

static void found(void *ctx, const struct mapped_file *f, int fd)
{
	(void)fd;
	add(ctx, f, clock_mono_ns());
}

void java_programs_scanned(struct collect_heap *h)
{
	if (is_wanted(h))
		resolve_find_files(h->resolver, is_hotspot, found, h);
}

bool java_programs_seen(struct collect_heap *h, const struct side_record *r)
{
	if (r->kind != SIDE_MMAP || !is_hotspot(r->name) || !is_wanted(h))
		return false;
	const struct mapped_file f = { .pid = r->pid,
				       .start = r->start,
				       .end = r->start + r->len,
				       .pgoff = r->pgoff,
				       .path = r->name,
				       .maj = r->maj,
				       .min = r->min,
				       .ino = r->ino };
	add(h, &f, r->time_ns);
	return true;
}

void java_programs_ended(struct collect_heap *h, uint32_t pid, uint64_t time_ns)
{
	struct java_program *p = program_of(h, pid);

	if (p && time_ns >= p->mapped_ns)
		drop(h, p);
}

/* --- opening ---------------------------------------------------------------------------------- */

struct memory {
	struct proc_reader *reader;
	uint32_t pid;
};

static int read_memory(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct memory *m = ctx;

	return proc_reader_memory(m->reader, m->pid, addr, out, len);
}

/* Another program may run the same file: searching its symbols takes 20 ms. */
static bool find_known(const struct collect_heap *h, struct java_program *p)
{
	for (size_t i = 0; i < h->java.n; i++) {
		const struct java_program *o = h->java.v[i];

		if (!o->is_open || o->file.st_dev != p->file.st_dev ||
		    o->file.st_ino != p->file.st_ino || o->file.st_size != p->file.st_size ||
		    o->file.st_mtime != p->file.st_mtime)
			continue;
		p->sampler = o->sampler;
		return true;
	}
	return false;
}

/* Sets the bias. */
static int place(struct java_program *p, const struct elf_file *f, struct err *err)
{
	enum { PAGE = 4096 }; /* whole pages are mapped */
	struct elf_layout layout = { 0 };
	int rc = elf_layout_read(&layout, f, err);

	rc = rc ? rc : -ENOTSUP;
	for (size_t i = 0; i < layout.segments.n; i++) {
		const struct elf_segment *s = &layout.segments.v[i];

		if (!s->executable || p->place.pgoff + PAGE <= s->offset ||
		    p->place.pgoff >= s->offset + s->size)
			continue;
		p->bias = p->place.start - p->place.pgoff - (s->vaddr - s->offset);
		rc = 0;
	}
	elf_layout_done(&layout);
	return rc;
}

static int read_file(struct collect_heap *h, struct java_program *p, struct err *err)
{
	struct elf_file f;
	int rc = elf_file_open(&f, p->fd, err);

	if (rc)
		return rc;
	rc = place(p, &f, err);
	if (rc == 0 && !find_known(h, p))
		rc = hotspot_sampler_find(&f, &p->sampler, err);
	elf_file_close(&f);
	return rc;
}

static int open_files(struct collect_heap *h, struct java_program *p, struct err *err)
{
	struct stat program;
	int fd = proc_reader_open_program(h->reader, p->pid, &program);

	if (fd < 0)
		return fd;
	close(fd);
	p->dev = program.st_dev;
	p->ino = program.st_ino;
	fd = proc_reader_open(h->reader, &p->place, &p->file);
	if (fd < 0)
		return fd;
	p->fd = fd;
	int rc = read_file(h, p, err);
	if (rc) {
		close(p->fd);
		p->fd = -1;
	}
	return rc;
}

static int read_interval(struct collect_heap *h, const struct java_program *p, uint32_t *out)
{
	struct memory m = { h->reader, p->pid };
	int32_t bytes;
	int rc = read_memory(&m, p->sampler.interval + p->bias, &bytes, sizeof bytes);

	if (rc == 0)
		*out = bytes > 0 ? (uint32_t)bytes : 0;
	return rc;
}

/* Returns -EAGAIN, or -EBUSY, if the process has not responded in time, or the VM has not
 * started. */
static int open_program(struct collect_heap *h, struct java_program *p, struct err *err)
{
	struct memory m = { h->reader, p->pid };
	const struct runtime_memory memory = { read_memory, &m };
	int rc = p->fd < 0 ? open_files(h, p, err) : 0;

	rc = rc ? rc : hotspot_sampler_read(&p->sampler, p->bias, &memory, &p->heap, err);
	rc = rc ? rc : read_interval(h, p, &p->heap.interval);
	if (rc)
		return rc;
	gpu_probes_add_java(h->probes, p->pid, p->path, p->fd);
	rc = gpu_probes_put_java(h->probes, p->pid, &p->heap);
	if (rc)
		return err_set(err, ENOTSUP, "its probe could not be placed");
	p->is_open = true;
	return 0;
}

static void try_open(struct collect_heap *h, struct java_program *p, uint64_t now_ns)
{
	struct err err = { 0 };
	int rc = open_program(h, p, &err);

	if (!p->until_ns)
		p->until_ns = now_ns + OPEN_WITHIN_NS;
	if (rc == 0)
		return;
	if ((rc == -EAGAIN || rc == -EBUSY || rc == -EFAULT) && now_ns < p->until_ns) {
		p->next_ns = now_ns + OPEN_AGAIN_NS;
		return;
	}
	if (rc != -ESRCH && rc != -ENOENT)
		note(h, p->pid, *err.text ? err.text : "its libjvm cannot be read");
	/* It stays, so that it is not opened again. */
	p->next_ns = UINT64_MAX;
}

/* --- sampling --------------------------------------------------------------------------------- */

static bool may_switch(const struct collect_heap *h, const struct java_program *p)
{
	if (h->byte_switch.fd < 0)
		return false;
	return h->opts->switches_all ||
	       (resolve_ask_labels(h->resolver, p->pid, COLLECT_HEAP, &h->opts->switches) &&
		proc_reader_agent_fits(h->reader, p->pid) == 1);
}

static int ask(struct collect_heap *h, const struct java_program *p, bool is_on)
{
	const struct byte_switch_request r = {
		.pid = p->pid,
		.variable = SWITCH_JAVA_HEAP,
		.is_on = is_on,
		.dev = p->dev,
		.ino = p->ino,
		.addr = p->sampler.is_on + p->bias,
	};

	return byte_switch_on(&h->byte_switch, &r);
}

/* An agent in the program may have turned it on, with another interval. */
static void look(struct collect_heap *h, struct java_program *p, uint64_t now_ns)
{
	struct memory m = { h->reader, p->pid };
	uint8_t is_on = 0;
	uint32_t interval = p->heap.interval;

	gpu_probes_add_java(h->probes, p->pid, p->path, p->fd); /* all may have been lost */
	p->next_ns = now_ns + (h->asked->is_always ? LOOK_RARELY_NS : LOOK_EACH_NS);
	if (read_memory(&m, p->sampler.is_on + p->bias, &is_on, sizeof is_on) ||
	    read_interval(h, p, &interval))
		return;
	if (interval != p->heap.interval) {
		p->heap.interval = interval;
		gpu_probes_put_java(h->probes, p->pid, &p->heap);
	}
	p->is_on = is_on == 1;
	if (p->is_on)
		return;
	if (!p->is_asked) {
		p->is_asked = ask(h, p, false) == 0;
		p->looks = 0;
	}
	if (++p->looks < ON_WITHIN_LOOKS)
		p->next_ns = now_ns + LOOK_FIRST_NS;
	else if (p->looks == ON_WITHIN_LOOKS)
		note(h, p->pid, "its sampler could not be turned on");
}

static void run(struct collect_heap *h, struct java_program *p, uint64_t now_ns)
{
	if (!p->is_open && !may_switch(h, p)) {
		p->next_ns = now_ns + ASK_AGAIN_NS;
		return;
	}
	if (!p->is_open)
		try_open(h, p, now_ns);
	if (p->is_open)
		look(h, p, now_ns);
}

uint64_t java_programs_due_ns(const struct collect_heap *h)
{
	uint64_t next_ns = UINT64_MAX;

	for (size_t i = 0; i < h->java.n; i++)
		if (h->java.v[i]->next_ns < next_ns)
			next_ns = h->java.v[i]->next_ns;
	return next_ns;
}

void java_programs_run(struct collect_heap *h, uint64_t now_ns)
{
	for (size_t i = 0; i < h->java.n; i++)
		if (now_ns >= h->java.v[i]->next_ns)
			run(h, h->java.v[i], now_ns);
}

static bool all_sample(const struct collect_heap *h)
{
	for (size_t i = 0; i < h->java.n; i++)
		if (!h->java.v[i]->is_on && h->java.v[i]->next_ns != UINT64_MAX)
			return false;
	return true;
}

void java_programs_start(struct collect_heap *h, uint64_t until_ns)
{
	uint64_t now_ns = clock_mono_ns();

	for (; !all_sample(h) && now_ns < until_ns; now_ns = clock_mono_ns()) {
		java_programs_run(h, now_ns);
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
	if (h->java.n)
		gpu_probes_wait(h->probes, PROBES_WAIT_NS);
}

void java_programs_renew_switch(struct collect_heap *h)
{
	for (size_t i = 0; i < h->java.n; i++)
		if (h->java.v[i]->is_asked)
			ask(h, h->java.v[i], true);
}

/* --- samples ---------------------------------------------------------------------------------- */

double java_programs_weight(void *heap, uint32_t pid, const struct gpu_info *g)
{
	struct collect_heap *h = heap;
	struct java_program *p = program_of(h, pid);
	double weight = 0;

	if (!p || !p->is_open || !g->value)
		return 0;
	h->stats.java_programs += !p->has_sampled;
	h->stats.java_samples++;
	p->has_sampled = true;
	if (g->weight)
		weight = go_heap_weight(g->weight, p->heap.interval);
	if (g->address) /* these bytes, not the object's */
		weight += go_heap_weight(g->address, p->heap.interval) * (double)g->address /
			  (double)g->value;
	return weight > 1 ? weight : 1;
}
