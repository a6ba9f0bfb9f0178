/* Programs of Java: allocations that HotSpot's own sampler chooses. */
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "collect/heap/collect_heap.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/proc_owner.h"
#include "collect/process/user_shares.h"
#include "collect/worker/proc_reader.h"
#include "runtime/hotspot_sampler.h"
#include "runtime/runtime.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define OPEN_WITHIN_NS 10000000000ull
#define OPEN_AGAIN_NS  20000000ull
#define TRY_RARELY_NS  10000000000ull /* always on: one not selected, or that does not respond */
#define LOOK_FIRST_NS  20000000ull    /* after the request */
#define LOOK_EACH_NS   1000000000ull
#define LOOK_ALWAYS_NS 2000000000ull
#define RUN_WITHIN_NS  30000000ull /* other programs are read later */
#define START_NS       2000000000ull
#define SELECT_NS      1000000000ull /* always on: its name may not be known yet */
enum {
	PAUSE_NS = 5000000,
	ON_WITHIN_LOOKS = 100,
	LOOKS_ASKED = 5,     /* for each request */
	NOT_TAKEN_MAX = 256, /* limit: Java programs that are not selected */
	/* Samples of a program per second, above which fewer are sent, and below which more are. */
	RATE_MOST = 1000,
	RATE_LEAST = 250,
	THINNED_MOST = 16,
};

struct java_program {
	uint32_t pid, user;
	uint32_t looks; /* since it was seen on */
	uint64_t mapped_ns, next_ns;
	uint64_t pause_ns;        /* until the next try */
	uint64_t until_ns;        /* to be opened until then; 0: was not tried */
	struct mapped_file place; /* of libjvm; its path is path */
	char *path;
	int fd;            /* of libjvm; -1: not open */
	uint64_t dev, ino; /* of its program */
	struct stat file;  /* of libjvm */
	struct hotspot_sampler sampler;
	uint64_t bias;
	struct java_heap heap;                 /* as the probe has it */
	uint64_t samples, counted, counted_ns; /* of its rate */
	uint64_t gone_ns;                      /* since when; 0: it is there */
	bool is_taken;                         /* it was selected */
	bool is_open, is_probed, is_on, is_refused;
	bool was_asked, has_sampled;
	/* It was seen to map another one, maybe after an exec that is handled later. */
	struct mapped_file again;
	char *again_path;
	uint64_t again_ns;
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
	free(p->again_path);
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

/* Nothing is written into programs that were not selected. */
static bool is_wanted(const struct collect_heap *h)
{
	return h->is_memory && h->probes && h->asked->events & COLLECT_ALLOC &&
	       (h->asked->is_always ? h->opts->switches.apply != NULL
				    : h->opts->switches_all && h->asked->target == TARGET_PID);
}

static bool is_gone(uint32_t pid)
{
	return kill((pid_t)pid, 0) && errno == ESRCH;
}

/* Whether one more program of this user may be taken, or be there without that. */
static bool has_room(const struct collect_heap *h, uint32_t user, bool is_taken)
{
	size_t n = 0;
	uint32_t used = 0;

	for (size_t i = 0; i < h->java.n; i++) {
		n += h->java.v[i]->is_taken == is_taken;
		used += h->java.v[i]->is_taken == is_taken && h->java.v[i]->user == user;
	}
	return user_shares_fits(user, used, n, is_taken ? JAVA_HEAPS_MAX : NOT_TAKEN_MAX);
}

static struct mapped_file copy_of(const struct mapped_file *f, char **path)
{
	struct mapped_file copy = *f;

	copy.build_id = NULL;
	copy.build_id_len = 0;
	copy.path = *path = xstrdup(f->path);
	return copy;
}

static void add(struct collect_heap *h, const struct mapped_file *f, uint64_t now_ns)
{
	uint32_t user = 0;

	if ((!h->asked->is_always && !sampler_is_target(h->sampler, f->pid)) || is_gone(f->pid))
		return;
	if (proc_owner(f->pid, &user))
		user = 0;
	if (!has_room(h, user, false)) {
		note(h, f->pid, "it is not recorded: there are too many programs");
		return;
	}
	struct java_program *p = xcalloc(1, sizeof *p);
	p->pid = f->pid;
	p->user = user;
	p->place = copy_of(f, &p->path);
	p->fd = -1;
	p->mapped_ns = now_ns;
	p->pause_ns = SELECT_NS;
	p->next_ns = h->asked->is_always ? clock_mono_ns() + SELECT_NS : now_ns;
	vec_push(&h->java, p);
}

static void add_again(struct java_program *p, const struct mapped_file *f, uint64_t time_ns)
{
	free(p->again_path);
	p->again = copy_of(f, &p->again_path);
	p->again_ns = time_ns;
}

static void found(void *ctx, const struct mapped_file *f, int fd)
{
	(void)fd;
	if (!program_of(ctx, f->pid))
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
	const struct mapped_file f = side_file(r);
	struct java_program *p = program_of(h, r->pid);
	if (!p)
		add(h, &f, r->time_ns);
	else if (r->time_ns > p->mapped_ns)
		add_again(p, &f, r->time_ns);
	return true;
}

void java_programs_ended(struct collect_heap *h, uint32_t pid, uint64_t time_ns)
{
	struct java_program *p = program_of(h, pid);

	if (!p || time_ns < p->mapped_ns)
		return;
	struct mapped_file again = p->again;
	char *path = p->again_path;
	uint64_t again_ns = p->again_ns;
	p->again_path = NULL;
	drop(h, p);
	if (again_ns > time_ns)
		add(h, &again, again_ns);
	free(path);
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
	p->is_open = true;
	p->pause_ns = OPEN_AGAIN_NS;
	return 0;
}

/* It stays, so that it is not opened again. */
static void refuse(struct collect_heap *h, struct java_program *p, const char *why)
{
	note(h, p->pid, why);
	p->is_refused = true;
}

static void try_open(struct collect_heap *h, struct java_program *p, uint64_t now_ns)
{
	struct err err = { 0 };
	int rc = open_program(h, p, &err);

	if (!p->until_ns)
		p->until_ns = now_ns + OPEN_WITHIN_NS;
	if (rc == 0)
		return;
	bool is_late = rc == -EAGAIN || rc == -EBUSY || rc == -EFAULT;
	if (is_late && (now_ns < p->until_ns || h->asked->is_always))
		p->next_ns = now_ns + (now_ns < p->until_ns ? OPEN_AGAIN_NS : TRY_RARELY_NS);
	else
		refuse(h, p, *err.text ? err.text : "its libjvm cannot be read");
}

/* --- sampling --------------------------------------------------------------------------------- */

static bool is_selected(const struct collect_heap *h, const struct java_program *p)
{
	if (h->byte_switch.fd < 0)
		return false;
	return !h->asked->is_always ||
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

/* Returns whether its samples can be sent. All probes may have been lost. */
static bool has_probe(struct collect_heap *h, struct java_program *p, uint64_t now_ns)
{
	int rc = gpu_probes_add_java(h->probes, p->pid, p->path, p->fd);

	if (rc == -EAGAIN) {
		p->pause_ns = p->pause_ns * 2 < LOOK_EACH_NS ? p->pause_ns * 2 : LOOK_EACH_NS;
		p->next_ns = now_ns + p->pause_ns;
		return p->is_probed;
	}
	p->pause_ns = OPEN_AGAIN_NS;
	if (rc == 0 && !p->is_probed)
		rc = gpu_probes_put_java(h->probes, p->pid, &p->heap);
	if (rc == -EPIPE || rc == -ENOMEM) { /* its worker could not be started */
		p->next_ns = now_ns + TRY_RARELY_NS;
		return false;
	}
	p->is_probed = rc == 0;
	if (rc)
		refuse(h, p, "its sampler cannot be probed");
	return p->is_probed;
}

/* So many samples that they cost more than they are worth: fewer are sent. */
static void choose_rate(struct java_program *p, uint64_t now_ns)
{
	double s = (double)(now_ns - p->counted_ns) / 1e9;
	double rate = (double)(p->samples - p->counted) / s;

	if (p->counted_ns && s < 0.5)
		return;
	if (p->counted_ns && rate > RATE_MOST && p->heap.thinned < THINNED_MOST)
		p->heap.thinned++;
	else if (p->counted_ns && rate < RATE_LEAST && p->heap.thinned)
		p->heap.thinned--;
	p->counted = p->samples;
	p->counted_ns = now_ns;
}

/* An agent in the program may have turned it on, with another interval; HotSpot turns it off when
 * the events of its agents change. */
static void look(struct collect_heap *h, struct java_program *p, uint64_t now_ns)
{
	struct memory m = { h->reader, p->pid };
	const struct java_heap before = p->heap;
	uint8_t is_on = 0;

	p->next_ns = now_ns + (h->asked->is_always ? LOOK_ALWAYS_NS : LOOK_EACH_NS);
	if (!has_probe(h, p, now_ns) ||
	    read_memory(&m, p->sampler.is_on + p->bias, &is_on, sizeof is_on) ||
	    read_interval(h, p, &p->heap.interval))
		return;
	choose_rate(p, now_ns);
	if (memcmp(&before, &p->heap, sizeof before) != 0)
		gpu_probes_put_java(h->probes, p->pid, &p->heap);
	p->is_on = is_on == 1;
	if (p->is_on) {
		p->looks = 0;
		return;
	}
	if (p->looks % LOOKS_ASKED == 0 && ask(h, p, false) == 0)
		p->was_asked = true;
	if (++p->looks < ON_WITHIN_LOOKS)
		p->next_ns = now_ns + LOOK_FIRST_NS;
	else if (p->looks == ON_WITHIN_LOOKS)
		note(h, p->pid, "its sampler could not be turned on");
}

static void run(struct collect_heap *h, struct java_program *p, uint64_t now_ns)
{
	if (is_gone(p->pid)) { /* its end will be handled soon, or was not seen */
		p->next_ns = now_ns + TRY_RARELY_NS;
		if (p->gone_ns && now_ns > p->gone_ns + TRY_RARELY_NS / 2)
			drop(h, p);
		else
			p->gone_ns = now_ns;
		return;
	}
	p->next_ns = now_ns + TRY_RARELY_NS;
	if (p->is_refused)
		return;
	if (!p->is_taken) {
		bool is_wished = is_selected(h, p);
		p->is_taken = is_wished && has_room(h, p->user, true);
		if (is_wished && !p->is_taken)
			note(h, p->pid, "it is not recorded: there are too many programs");
		p->next_ns = now_ns + p->pause_ns;
		p->pause_ns = p->pause_ns * 2 < TRY_RARELY_NS ? p->pause_ns * 2 : TRY_RARELY_NS;
	}
	if (p->is_taken && !p->is_open)
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
	for (size_t i = h->java.n; i-- > 0;) {
		if (now_ns < h->java.v[i]->next_ns)
			continue;
		run(h, h->java.v[i], now_ns);
		if (clock_mono_ns() > now_ns + RUN_WITHIN_NS)
			break;
	}
}

static bool all_sample(const struct collect_heap *h)
{
	for (size_t i = 0; i < h->java.n; i++)
		if (!h->java.v[i]->is_on && !h->java.v[i]->is_refused &&
		    h->java.v[i]->looks < ON_WITHIN_LOOKS)
			return false;
	return true;
}

void java_programs_start(struct collect_heap *h)
{
	uint64_t now_ns = clock_mono_ns(), until_ns = now_ns + START_NS;

	for (; !all_sample(h) && now_ns < until_ns; now_ns = clock_mono_ns()) {
		gpu_probes_wait(h->probes, PAUSE_NS);
		java_programs_run(h, now_ns);
		nanosleep(&(struct timespec){ .tv_nsec = PAUSE_NS }, NULL);
	}
}

void java_programs_renew_switch(struct collect_heap *h)
{
	for (size_t i = 0; i < h->java.n; i++)
		if (h->java.v[i]->was_asked)
			ask(h, h->java.v[i], true);
}

/* --- samples ---------------------------------------------------------------------------------- */

double java_programs_weight(void *heap, uint32_t pid, const struct gpu_info *g)
{
	struct collect_heap *h = heap;
	struct java_program *p = program_of(h, pid);
	double weight = 0;

	if (!p || !p->is_open || !g->value || !g->context)
		return 0;
	h->stats.java_programs += !p->has_sampled;
	h->stats.java_samples++;
	p->samples++;
	p->has_sampled = true;
	if (g->weight)
		weight = go_heap_weight(g->weight, g->context);
	if (g->address) /* these bytes, not the object's */
		weight += go_heap_weight(g->address, g->context) * (double)g->address /
			  (double)g->value;
	weight = ldexp(weight, (int)(g->how & 31));
	return weight > 1 ? weight : 1;
}
