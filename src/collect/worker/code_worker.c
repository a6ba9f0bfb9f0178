/* The worker process for perf maps and jitdumps, and the messages in both directions. */
#include "collect/worker/code_worker.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/cpu_budget.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/stream.h"
#include "base/vec.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/proc_stat.h"
#include "profile/identity_generated.h"
#include "symbol/name_cache.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_OPEN = 512, /* processes whose files are open */
	/* limit: bytes kept of all perf maps and jitdumps; the last used stay */
	MAX_MEMORY_BYTES = 16 << 20,
	/* limit: 1 / SHARE of a CPU to read them, half of it each; saved up to 2 s */
	SHARE = 100,
	MAX_ANSWER_NS = 300000000, /* for one message */
	SAVED_NS = 2000000000,     /* may be used immediately */
	/* Stamps of files are those of the last tick, and so are starts of processes. */
	LATE_STAMP_NS = 20000000,
};

struct code_file {
	int fd; /* -1: none */
	dev_t dev;
	ino_t ino;
	struct code_log *log;
};
struct code_process {
	uint32_t id, pid;
	struct code_process_head head;
	char *dump_path;
	/* Its root directory, and who it was when it was last seen; a map may be written right
	 * before the end. */
	int root_fd; /* -1: unknown */
	uint32_t ns_pid, uid;
	bool is_late; /* it had ended; then they are the parent's, if that is there */
	struct code_file map, dump;
	struct allowance allowance;
	uint64_t used_ns;      /* last request */
	int64_t begun_wall_ns; /* 0: unknown */
	size_t memory_bytes;
};
struct code_worker {
	struct stream stream;
	VEC(struct code_process *) all;
	struct allowance allowance;
	bool is_over;
};

/* --- time ------------------------------------------------------------------------------------- */

/* A process that has used little may continue even when all together have used too much. */
static bool may_read(struct code_worker *w, struct code_process *p)
{
	uint64_t now_ns = clock_mono_ns();
	int64_t all_ns = allowance_left(&w->allowance, now_ns);
	int64_t own_ns = allowance_left(&p->allowance, now_ns);

	return own_ns > 0 && (all_ns > 0 || own_ns > SAVED_NS / 2);
}

static void spend(struct code_worker *w, struct code_process *p, uint64_t ns)
{
	allowance_spend(&w->allowance, ns);
	allowance_spend(&p->allowance, ns);
}

/* The wall clock's time of a moment, as the clocks are now. */
static int64_t wall_of(uint64_t mono_ns)
{
	return (int64_t)clock_wall_ns() - (int64_t)clock_mono_ns() + (int64_t)mono_ns;
}

/* --- files ------------------------------------------------------------------------------------ */

static void close_file(struct code_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	code_log_free(f->log);
	*f = (struct code_file){ .fd = -1 };
}

/* Takes over fd, unless it is the same file. */
static void keep_file(struct code_file *f, int fd, const struct stat *st, enum code_log_kind kind)
{
	if (fd < 0)
		return;
	if (f->fd >= 0 && f->dev == st->st_dev && f->ino == st->st_ino) {
		close(fd);
		return;
	}
	close_file(f);
	*f = (struct code_file){ fd, st->st_dev, st->st_ino, code_log_new(kind) };
}

/* Anybody can write to /tmp: only a file of the process's own user is trusted, or one of root that
 * all may read: in a private namespace, a process has any file there. The owner of /proc/PID is not
 * always the user: a process can make it root. */
static bool owner_is_right(const struct code_process *p, const struct stat *file)
{
	bool is_public = file->st_uid == 0 && file->st_mode & S_IROTH;

	return is_public || p->uid == file->st_uid;
}

/* Notes where process `at` looks for files, while it is there. */
static bool look_at(struct code_process *p, uint32_t at)
{
	uint32_t ns_pid = proc_ns_pid(at), uid;
	int root_fd = process_root_dir(at);

	if (!ns_pid || root_fd < 0 || proc_uid(at, &uid)) {
		if (root_fd >= 0)
			close(root_fd);
		return false;
	}
	if (p->root_fd >= 0)
		close(p->root_fd);
	p->root_fd = root_fd;
	p->ns_pid = ns_pid;
	p->uid = uid;
	return true;
}

/* A child has the user, the root directory and the pid namespace of its parent, with few
 * exceptions; these get no names, as their file has another owner or name. The parent must be older
 * than the child, or its pid is another process's by now. The file must be younger. */
static void look_at_parent(struct code_process *p)
{
	uint32_t parent = p->head.parent;
	int64_t start_ns = parent ? proc_start_wall_ns(parent) : 0;

	if (!start_ns || !p->head.begun_ns || start_ns > p->begun_wall_ns + LATE_STAMP_NS ||
	    proc_ns_pid(parent) != parent || !look_at(p, parent))
		return;
	p->ns_pid = p->pid;
}

static void look_at_process(struct code_process *p)
{
	if (look_at(p, p->pid) || p->root_fd >= 0)
		return;
	p->is_late = true;
	look_at_parent(p);
}

static void look_for_map(struct code_process *p)
{
	struct stat st;
	char path[48];

	if (p->root_fd < 0)
		return;
	snprintf(path, sizeof path, "/tmp/perf-%" PRIu32 ".map", p->ns_pid);
	int fd = root_file_open(p->root_fd, path, &st);
	if (fd >= 0 && !owner_is_right(p, &st)) {
		close(fd);
		return;
	}
	keep_file(&p->map, fd, &st, CODE_LOG_MAP);
}

static int open_dump(const struct code_process *p, struct stat *st)
{
	const struct code_process_head *h = &p->head;
	const struct mapped_file f = {
		.pid = p->pid,
		.start = h->start,
		.end = h->end,
		.pgoff = h->pgoff,
		.path = p->dump_path,
		.maj = h->maj,
		.min = h->min,
		.ino = h->ino,
	};

	return h->has_dump ? mapped_file_open(&f, st) : -ENOENT;
}

/* Looks at the current files: a compiler may have started another one. */
static void look_for_files(struct code_process *p)
{
	struct stat st;

	look_at_process(p);
	look_for_map(p);
	int fd = p->dump.fd < 0 ? open_dump(p, &st) : -1;
	keep_file(&p->dump, fd, &st, CODE_LOG_DUMP);
}

/* --- processes -------------------------------------------------------------------------------- */

static void forget_files(struct code_process *p)
{
	close_file(&p->map);
	close_file(&p->dump);
	if (p->root_fd >= 0)
		close(p->root_fd);
	p->root_fd = -1;
	p->memory_bytes = 0;
}

static void process_free(struct code_process *p)
{
	forget_files(p);
	free(p->dump_path);
	free(p);
}

static struct code_process *find(const struct code_worker *w, uint32_t id)
{
	for (size_t i = 0; i < w->all.n; i++)
		if (w->all.v[i]->id == id)
			return w->all.v[i];
	return NULL;
}

static size_t log_bytes(const struct code_file *f)
{
	struct code_log_stats stats = { 0 };

	if (f->log)
		code_log_get_stats(f->log, &stats);
	return stats.memory_bytes;
}

static bool is_open(const struct code_process *p)
{
	return p->map.fd >= 0 || p->dump.fd >= 0 || p->root_fd >= 0;
}

/* Closes the files of the least recently requested processes, and forgets their contents. */
static void make_room(struct code_worker *w, const struct code_process *now)
{
	for (;;) {
		struct code_process *oldest = NULL;
		size_t bytes = 0, n = 0;

		for (size_t i = 0; i < w->all.n; i++) {
			struct code_process *p = w->all.v[i];

			bytes += p->memory_bytes;
			n += is_open(p);
			if (p != now && is_open(p) && (!oldest || p->used_ns < oldest->used_ns))
				oldest = p;
		}
		if (!oldest || (bytes <= MAX_MEMORY_BYTES && n <= MAX_OPEN))
			return;
		forget_files(oldest);
	}
}

static void take_process(struct code_worker *w, const struct stream_message *m)
{
	struct code_process_head h;

	if (m->len < sizeof h)
		return;
	memcpy(&h, m->payload, sizeof h);
	struct code_process *p = find(w, h.id);
	if (!p) {
		p = xcalloc(1, sizeof *p);
		p->map.fd = p->dump.fd = p->root_fd = -1;
		p->allowance = (struct allowance){ .share = 2 * SHARE, .most_ns = SAVED_NS };
		vec_push(&w->all, p);
	}
	p->id = h.id;
	p->pid = h.pid;
	p->head = h;
	p->used_ns = clock_mono_ns();
	free(p->dump_path);
	p->begun_wall_ns = h.begun_ns ? wall_of(h.begun_ns) : proc_start_wall_ns(p->pid);
	p->dump_path = xstrndup((const char *)m->payload + sizeof h, m->len - sizeof h);
	look_for_files(p);
	make_room(w, p);
}

static void take_close(struct code_worker *w, const struct stream_message *m)
{
	uint32_t id;

	if (m->len != sizeof id)
		return;
	memcpy(&id, m->payload, sizeof id);
	for (size_t i = 0; i < w->all.n; i++) {
		if (w->all.v[i]->id != id)
			continue;
		process_free(w->all.v[i]);
		w->all.v[i] = w->all.v[--w->all.n];
		return;
	}
}

/* --- responses -------------------------------------------------------------------------------- */

struct name_queue {
	const struct code_ask *asks;
	uint32_t n;
	uint32_t *numbers; /* 0: no name yet */
	struct code_answer *answers;
	struct map known; /* hash of a name as in its file → number */
	struct buf names;
	uint32_t n_names;
	bool given_up, has_files, is_raw;
};

static void add_name(struct name_queue *g, uint32_t i)
{
	const struct code_answer *a = &g->answers[i];
	struct name_cache made = { 0 };
	uint64_t key = hash_bytes(a->name, a->len);
	const uint32_t *known = map_get(&g->known, key);

	if (known) {
		g->numbers[i] = *known;
		return;
	}
	char *linkage = xstrndup(a->name, a->len);
	const char *name = name_cache_make(&made, linkage, "").name;
	size_t len = strnlen(name, CODE_LOG_MAX_NAME * 4 - 1);
	if (g->is_raw || !identity_code(name, len, &g->names))
		buf_add(&g->names, name, len);
	buf_addc(&g->names, '\0');
	g->numbers[i] = ++g->n_names;
	map_put(&g->known, key, g->n_names);
	name_cache_done(&made);
	free(linkage);
}

/* Adds names of addresses that lack one yet; notes when the file gave up. */
static void name_from(struct name_queue *g, struct code_file *f, bool is_last)
{
	if (f->fd < 0)
		return;
	g->given_up |= code_log_read(f->log, f->fd, is_last, NULL) != 0;
	g->given_up |= !code_log_ask(f->log, f->fd, g->asks, g->n, MAX_ANSWER_NS, g->answers);
	for (uint32_t i = 0; i < g->n; i++)
		if (!g->numbers[i] && g->answers[i].len)
			add_name(g, i);
}

static uint64_t skipped_in(const struct code_file *f)
{
	struct code_log_stats stats = { 0 };

	if (f->log)
		code_log_get_stats(f->log, &stats);
	return stats.skipped;
}

/* Whether the perf map was last written while the process ran the program that is queried about.
 * exec_ns: of the next one; 0: none. */
static bool is_map_of_program(const struct code_process *p, uint64_t exec_ns)
{
	struct stat st;

	if (p->map.fd < 0 || fstat(p->map.fd, &st) < 0)
		return false;
	int64_t mtime_ns = st.st_mtim.tv_sec * 1000000000ll + st.st_mtim.tv_nsec;
	return mtime_ns + LATE_STAMP_NS >= p->begun_wall_ns &&
	       (!exec_ns || mtime_ns <= wall_of(exec_ns));
}

static void make_names(struct code_worker *w, struct code_process *p, const struct code_ask_head *h,
		       struct name_queue *g)
{
	bool is_last = h->is_last;
	uint64_t begin_ns = clock_thread_ns();

	if (!may_read(w, p)) {
		g->given_up = true;
		return;
	}
	if (!is_last)
		look_for_files(p);
	else if (p->map.fd < 0)
		look_for_map(p);
	name_from(g, &p->dump, is_last);
	bool has_map = is_map_of_program(p, h->exec_ns);
	if (has_map)
		name_from(g, &p->map, is_last);
	else
		g->given_up |= p->map.fd >= 0;
	g->has_files = has_map || p->dump.fd >= 0;
	g->given_up |= p->is_late && !g->has_files;
	p->memory_bytes = log_bytes(&p->map) + log_bytes(&p->dump);
	make_room(w, p);
	spend(w, p, clock_thread_ns() - begin_ns);
}

static void answer(struct code_worker *w, const struct code_process *p,
		   const struct code_ask_head *h, const struct name_queue *g)
{
	struct code_names_head head = { .id = h->id, .n = h->n };
	struct buf b = { 0 };

	for (uint32_t i = 0; i < h->n; i++)
		head.given_up += g->given_up && !g->numbers[i];
	if (p)
		head.skipped = skipped_in(&p->map) + skipped_in(&p->dump);
	head.has_files = g->has_files;
	buf_add(&b, &head, sizeof head);
	buf_add(&b, g->numbers, h->n * sizeof *g->numbers);
	buf_add(&b, g->names.data, g->names.len);
	stream_put(&w->stream, CODE_NAMES, b.data, b.len, -1);
	buf_done(&b);
}

static void take_ask(struct code_worker *w, const struct stream_message *m)
{
	struct code_ask_head h;

	if (m->len < sizeof h)
		return;
	memcpy(&h, m->payload, sizeof h);
	if (h.n > CODE_MAX_ASKS || m->len != sizeof h + h.n * sizeof(struct code_ask))
		return;
	struct code_process *p = find(w, h.id);
	struct name_queue g = { .n = h.n, .is_raw = p && p->head.is_raw };
	struct code_ask *asks =
		xmemdup((const char *)m->payload + sizeof h, h.n * sizeof(struct code_ask) + 1);

	g.asks = asks;
	g.numbers = xcalloc(h.n + 1, sizeof *g.numbers);
	g.answers = xcalloc(h.n + 1, sizeof *g.answers);
	if (p) {
		p->used_ns = clock_mono_ns();
		make_names(w, p, &h, &g);
	}
	answer(w, p, &h, &g);
	map_done(&g.known);
	buf_done(&g.names);
	free(g.numbers);
	free(g.answers);
	free(asks);
}

/* --- the loop --------------------------------------------------------------------------------- */

static void (*const takers[])(struct code_worker *w, const struct stream_message *m) = {
	[CODE_PROCESS] = take_process,
	[CODE_ASK] = take_ask,
	[CODE_CLOSE] = take_close,
};

static void report(struct code_worker *w, enum code_message what, uint32_t id)
{
	stream_put(&w->stream, what, &id, sizeof id, -1);
	w->is_over |= stream_flush(&w->stream) != 0;
}

/* Each message starts with the id of its process. */
static void serve(struct code_worker *w, const struct stream_message *m)
{
	uint32_t id;

	if (m->type >= sizeof takers / sizeof *takers || !takers[m->type] || m->len < sizeof id)
		return;
	memcpy(&id, m->payload, sizeof id);
	report(w, CODE_BEGIN, id);
	takers[m->type](w, m);
	if (m->type != CODE_ASK)
		report(w, CODE_DONE, id);
}

static void take(struct code_worker *w)
{
	struct stream_message m;
	int rc;

	while ((rc = stream_next(&w->stream, &m)) > 0) {
		serve(w, &m);
		w->is_over |= stream_flush(&w->stream) != 0;
	}
	w->is_over |= rc < 0;
}

void code_worker_serve(int fd)
{
	struct code_worker w = { .allowance = { .share = SHARE, .most_ns = SAVED_NS } };

	stream_open(&w.stream, fd, CODE_MAX_TO_WORKER);
	while (!w.is_over) {
		bool has_more = stream_has_more(&w.stream);
		struct pollfd p = { .fd = fd, .events = POLLIN | (has_more ? POLLOUT : 0) };

		poll(&p, 1, -1);
		int rc = stream_read(&w.stream);
		take(&w);
		w.is_over |= (rc <= 0 && rc != -EAGAIN) || stream_flush(&w.stream) != 0;
	}
	for (size_t i = 0; i < w.all.n; i++)
		process_free(w.all.v[i]);
	vec_done(&w.all);
	stream_close(&w.stream);
}
