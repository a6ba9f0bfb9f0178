/* Loads the BPF object on first use, and attaches its programs to each GPU library file once. */
#include "collect/gpu/gpu_probes.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/gpu/gpu_files.h"
#include "collect/kernel/gpu_stats.h"
#include "collect/kernel/kernel_features.h"
#include "collect/kernel/load.h"
#include "collect/kernel/refusal.h"
#include "collect/kernel/sampler.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/proc/proc_owner.h"
#include "collect/process/user_shares.h"
#include "collect/worker/probe_placer.h"
#include "gpu.skel.h"
#include "gpu/code/probes.h"
#include "symbol/elf/elf_file.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOWS_PER_SECOND = 10 }; /* GPU_WINDOW_NS */

/* If a probe is not placed after this time, that is a problem. */
#define LATE_NS 3000000000ull

/* Two names of a file: one is enough to recognize it. */
struct file_ids {
	uint64_t place;   /* device and inode; 0: not a file */
	uint64_t content; /* seen on another device, by a container */
};
struct probed_file {
	struct file_ids ids;
	uint32_t serial; /* of the request to place its probes; 0: it was answered, or has none */
	uint32_t n_probes, user; /* user: of the first process */
	char name[64];
};
struct gpu_probes {
	struct sampler *sampler;
	struct sampler_opts opts;
	uint32_t wanted;     /* bits of enum gpu_what */
	struct gpu_bpf *bpf; /* NULL: not loaded yet */
	struct bpf_link *exit_link;
	struct probe_placer *placer;
	bool is_multi, is_detached;
	bool are_lost; /* all probes, and that was not returned yet */
	char refused_why[200],
		refused_program
			[32]; /* why it could not be loaded; "": it was not tried, or could */
	uint32_t n_rows;
	struct user_shares rows_of;
	VEC(struct probed_file) files;
	VEC(uint64_t) refused; /* contents of files that are not tried again */
	struct gpu_probes_stats stats;
};

/* --- wanted calls ----------------------------------------------------------------------------- */

/* Allocations need frees, and both need to know which device a thread uses. */
static uint32_t wanted_calls(uint32_t events)
{
	uint32_t wanted = 0;

	if (events & COLLECT_GPU_LAUNCH)
		wanted |= GPU_LAUNCH;
	if (events & (COLLECT_GPU_STACK | COLLECT_GPU_INSIDE))
		wanted |= GPU_STACK;
	if (events & (COLLECT_GPU_WAIT | COLLECT_WALL))
		wanted |= GPU_WAIT;
	if (events & COLLECT_GPU_COPY)
		wanted |= GPU_COPY;
	if (events & COLLECT_NCCL)
		wanted |= GPU_NCCL;
	if (events & (COLLECT_HBM_ALLOC | COLLECT_HBM_INUSE))
		wanted |= GPU_ALLOC | GPU_FREE | GPU_RESET | GPU_USE | GPU_MAP | GPU_UNMAP |
			  GPU_RETAIN;
	if (events & COLLECT_HEAP)
		wanted |= GPU_HEAP | GPU_JAVA_CHECK | GPU_JAVA_SAMPLE;
	return wanted;
}

struct gpu_probes *gpu_probes_new(struct sampler *s, const struct sampler_opts *opts,
				  struct helper *helper)
{
	struct gpu_probes *g = xcalloc(1, sizeof *g);

	g->sampler = s;
	g->opts = *opts;
	g->wanted = wanted_calls(opts->events);
	g->placer = probe_placer_new(helper);
	return g;
}

static void note_problem(struct gpu_probes *g, const char *what, int rc)
{
	if (!g->stats.problem[0])
		snprintf(g->stats.problem, sizeof g->stats.problem, "%s: %s", what, strerror(-rc));
}

/* --- loading ---------------------------------------------------------------------------------- */

/* Maps that each object has for itself, to build stacks in. */
static bool is_own_map(const char *name)
{
	static const char *const own[] = { "scratches",   "known",         "python_walks",
					   "open_python", "hotspot_walks", "v8_walks",
					   "php_walks",   "functions_sent" };

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (strcmp(name, own[i]) == 0)
			return true;
	return strchr(name, '.') != NULL; /* variables */
}

/* The times of threads are retained in one of two kinds of map, or not at all. */
static bool is_map_of_times(const struct gpu_probes *g, const struct bpf_map *map)
{
	return map == g->bpf->maps.times_storage || map == g->bpf->maps.times_hash;
}

static void use_times(struct gpu_probes *g, struct bpf_map *map, bool is_there)
{
	struct gpu_bpf__rodata *k = g->bpf->rodata;

	if (is_there) {
		k->gpu_has_times = 1;
		k->use_task_storage = map == g->bpf->maps.times_storage;
	} else {
		bpf_map__set_autocreate(map, false);
	}
}

static int share_maps(struct gpu_probes *g)
{
	struct bpf_object *sampler = sampler_object(g->sampler);
	struct bpf_map *map;

	bpf_map__set_autocreate(g->bpf->maps.sample_ring, false); /* the sampler's alone */
	bpf_object__for_each_map(map, g->bpf->obj)
	{
		if (!bpf_map__autocreate(map))
			continue;
		const char *name = bpf_map__name(map);
		int fd = is_own_map(name) ? -1 : bpf_object__find_map_fd_by_name(sampler, name);
		int rc = fd >= 0 ? bpf_map__reuse_fd(map, fd) : 0;

		if (is_map_of_times(g, map))
			use_times(g, map, fd >= 0);
		if (rc)
			return rc;
	}
	return 0;
}

static void set_knobs(struct gpu_probes *g)
{
	struct gpu_bpf__rodata *k = g->bpf->rodata;
	struct sampler_knobs s = sampler_get_knobs(g->sampler);
	uint32_t has = sampler_kernel(g->sampler)->has;

	k->filter = s.filter;
	k->filter_cgroup_id = s.filter_cgroup_id;
	k->max_user = s.max_user;
	k->want_user = s.want_user;
	k->use_tables = s.use_tables;
	k->wake_bytes = s.wake_bytes;
	k->has_current_task_btf = (has & FEATURE_CURRENT_TASK) != 0;
	k->has_task_pt_regs = (has & FEATURE_TASK_REGS) != 0;
	k->use_runtimes = s.use_runtimes;
	k->gpu_want_waits = (g->opts.events & COLLECT_GPU_WAIT) != 0;
	k->gpu_min_wait_ns = g->opts.waits.min_block_ns;
	if (g->opts.waits.max_rate)
		k->gpu_window_stacks = g->opts.waits.max_rate / WINDOWS_PER_SECOND
					       ? g->opts.waits.max_rate / WINDOWS_PER_SECOND
					       : 1;
	g->bpf->data->seen_epoch = s.epoch;
}

/* If tables cannot grow, those of this object can hold fewer entries, as the sampler's do. */
static void fix_tables(struct gpu_probes *g)
{
	enum { MOST = 8192 };
	struct bpf_map *map;

	bpf_object__for_each_map(map, g->bpf->obj)
	{
		if (bpf_map__type(map) != BPF_MAP_TYPE_HASH || bpf_map__fd(map) >= 0)
			continue;
		bpf_map__set_map_flags(map, bpf_map__map_flags(map) & ~BPF_F_NO_PREALLOC);
		if (bpf_map__max_entries(map) > MOST)
			bpf_map__set_max_entries(map, MOST);
	}
}

/* Opens the object for loading. */
static int prepare(struct gpu_probes *g)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = g->opts.kernel.btf_file);
	const enum bpf_attach_type type = (enum bpf_attach_type)ATTACH_UPROBE_MULTI;

	g->bpf = gpu_bpf__open_opts(&opts);
	if (!g->bpf)
		return -errno;
	set_knobs(g);
	int rc = share_maps(g);
	g->is_multi = sampler_kernel(g->sampler)->has & FEATURE_UPROBE_MULTI;
	if (!rc && g->is_multi) {
		bpf_program__set_expected_attach_type(g->bpf->progs.gpu_enter, type);
		bpf_program__set_expected_attach_type(g->bpf->progs.gpu_return, type);
	}
	if (!rc && !(sampler_kernel(g->sampler)->has & FEATURE_GROWING_TABLES))
		fix_tables(g);
	return rc;
}

static void close_object(struct gpu_probes *g)
{
	gpu_bpf__destroy(g->bpf);
	g->bpf = NULL;
}

static void explain(struct gpu_probes *g, int rc)
{
	struct refusal r = { REFUSED_MAP, rc, NULL, NULL, g->opts.kernel.btf_file };
	char *log = NULL;

	close_object(g);
	if (g->refused_program[0]) {
		r.step = REFUSED_PROGRAM;
		r.name = g->refused_program;
		if (!prepare(g))
			load_alone(g->bpf->obj, r.name, &log);
		close_object(g);
		r.log = log;
		if (log && g->opts.kernel.on_refused)
			g->opts.kernel.on_refused(g->opts.kernel.on_refused_ctx, r.name, log);
	}
	refusal_why(&r, g->refused_why, sizeof g->refused_why);
	free(log);
}

static int load(struct gpu_probes *g)
{
	int rc = prepare(g);

	if (!rc)
		rc = load_object(g->bpf->obj, g->bpf->skeleton, g->refused_program,
				 sizeof g->refused_program);
	mem_trim();
	if (rc)
		return rc;
	g->exit_link = bpf_program__attach(g->bpf->progs.gpu_exit);
	return g->exit_link ? 0 : -errno;
}

static bool is_loaded(struct gpu_probes *g)
{
	const char *why_not = sampler_kernel(g->sampler)->why_not[GROUP_GPU];

	if (g->bpf || g->refused_why[0])
		return !g->refused_why[0];
	int rc = why_not[0] ? -ENOTSUP : load(g);
	if (!rc)
		return true;
	if (why_not[0])
		snprintf(g->refused_why, sizeof g->refused_why, "%s", why_not);
	else
		explain(g, rc);
	snprintf(g->stats.problem, sizeof g->stats.problem, "cannot load the probes: %.130s",
		 g->refused_why);
	return false;
}

const char *gpu_probes_refused(const struct gpu_probes *g)
{
	return g->refused_why[0] ? g->refused_why : NULL;
}

/* --- files ------------------------------------------------------------------------------------ */

bool gpu_probes_want(const char *path)
{
	return gpu_library_of(path) != NULL;
}

/* Containers see the files of a layer on different devices, with the same inode, and maybe with
 * another owner. On a private file system other users can choose all but the last time, which the
 * kernel sets; and the name of any file they can read: it belongs to another library then. */
static struct file_ids ids_of(int fd, const char *library)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return (struct file_ids){ 0 };
	uint64_t times = hash_mix(hash_mix(st.st_mtim.tv_sec, st.st_mtim.tv_nsec),
				  hash_mix(st.st_ctim.tv_sec, st.st_ctim.tv_nsec));
	uint64_t of = hash_bytes(library, strlen(library));
	return (struct file_ids){ hash_mix(hash_mix(st.st_dev, st.st_ino), of),
				  hash_mix(hash_mix(st.st_ino, st.st_size), hash_mix(times, of)) };
}

/* A file that does not fit into the share of one user may fit into that of another. */
static uint64_t identity_for(uint64_t identity, uint32_t user)
{
	return hash_mix(identity, user);
}

/* Returns 0 if it has its probes, -EAGAIN if they are requested, -ENOTSUP if it needs none. */
static int probes_of(const struct probed_file *file)
{
	return file->serial ? -EAGAIN : file->n_probes ? 0 : -ENOTSUP;
}

/* The same; -ENOENT: it is unknown; -EIO: its probes were refused. */
static int known(const struct gpu_probes *g, const struct file_ids *ids, uint32_t user)
{
	for (size_t i = 0; i < g->files.n; i++) {
		const struct file_ids *other = &g->files.v[i].ids;

		if (other->place == ids->place || other->content == ids->content)
			return probes_of(&g->files.v[i]);
	}
	for (size_t i = 0; i < g->refused.n; i++)
		if (g->refused.v[i] == ids->content ||
		    g->refused.v[i] == identity_for(ids->content, user))
			return -EIO;
	return -ENOENT;
}

/* Whether the user's share has n more rows. Root gets the rest of all rows. */
static bool rows_fit(const struct gpu_probes *g, uint32_t user, size_t n)
{
	return !user || user_shares_fits(user, user_shares_used(&g->rows_of, user) + n - 1,
					 g->n_rows + n - 1, GPU_MAX_ROWS);
}

/* Adds rows before the probes: a hit without a row is ignored. Returns how many there was space
 * for. */
static uint32_t put_rows(struct gpu_probes *g, const struct gpu_places *places, uint32_t user,
			 uint64_t *first_cookie)
{
	uint32_t n = 0, fd = bpf_map__fd(g->bpf->maps.gpu_rows);

	*first_cookie = g->n_rows;
	while (n < places->all.n && g->n_rows < GPU_MAX_ROWS) {
		if (bpf_map_update_elem(fd, &g->n_rows, &places->all.v[n].row, BPF_ANY))
			break;
		user_shares_change(&g->rows_of, user, 0, 1);
		g->n_rows++;
		n++;
	}
	return n;
}

/* Returns all places, or with at_return those that are also probed at their return. Both are at the
 * same instruction, before which the return address is still the caller's. */
static struct probe_place *select_places(const struct gpu_places *places, uint32_t n,
					 uint64_t first_cookie, bool at_return, uint32_t *selected)
{
	struct probe_place *out = xcalloc(n + 1, sizeof *out);

	*selected = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct gpu_place *p = &places->all.v[i];

		if (!at_return || p->row.what & GPU_AT_RETURN)
			out[(*selected)++] =
				(struct probe_place){ p->offset, first_cookie + i, p->counter };
	}
	return out;
}

static int ask(struct gpu_probes *g, int fd, const struct gpu_library *library,
	       const struct gpu_places *places, struct probed_file *file)
{
	struct probe_wish wish = {
		.file = fd,
		.entry_program = bpf_program__fd(g->bpf->progs.gpu_enter),
		.return_program = bpf_program__fd(g->bpf->progs.gpu_return),
		.is_multi = g->is_multi,
	};
	uint64_t first_cookie;
	uint32_t n = put_rows(g, places, file->user, &first_cookie);

	if (!g->is_multi && n > library->important)
		n = library->important;
	struct probe_place *entries =
		select_places(places, n, first_cookie, false, &wish.n_entries);
	struct probe_place *returns = select_places(places, n, first_cookie, true, &wish.n_returns);
	wish.entries = entries;
	wish.returns = returns;
	file->n_probes = wish.n_entries + wish.n_returns;
	int rc = file->n_probes ? probe_placer_place(g->placer, &wish, &file->serial) : 0;
	free(entries);
	free(returns);
	return rc;
}

static int find_places(struct gpu_probes *g, const struct gpu_library *library, int fd,
		       struct gpu_places *places)
{
	struct elf_file f;
	struct err err = { 0 };
	int rc = elf_file_open(&f, fd, &err);

	if (rc)
		return rc;
	rc = gpu_places_find(&f, library, g->wanted, places, &err);
	elf_file_close(&f);
	g->stats.refused_launches += places->refused;
	return rc;
}

static int probe_file(struct gpu_probes *g, const struct gpu_library *library, int fd,
		      struct probed_file *file)
{
	struct gpu_places places = { 0 };
	uint64_t begin_ns = clock_mono_ns();
	int rc = find_places(g, library, fd, &places);

	if (!rc && places.all.n && !rows_fit(g, file->user, places.all.n))
		rc = -E2BIG;
	else if (!rc && places.all.n)
		rc = is_loaded(g) ? ask(g, fd, library, &places, file) : -ENOTSUP;
	gpu_places_done(&places);
	g->stats.attach_ns += rc ? 0 : clock_mono_ns() - begin_ns;
	return rc;
}

static void refuse(struct gpu_probes *g, const struct probed_file *file, int rc)
{
	note_problem(g, file->name, rc);
	g->stats.refused_files++;
	if (rc == -EPIPE || rc == -ENOMEM) /* of the worker, not of the file */
		return;
	if (g->refused.n < GPU_MAX_FILES)
		vec_push(&g->refused, rc == -E2BIG ? identity_for(file->ids.content, file->user)
						   : file->ids.content);
}

static bool has_room(const struct gpu_probes *g, uint32_t user)
{
	uint32_t used = 0;

	for (size_t i = 0; i < g->files.n; i++)
		used += g->files.v[i].user == user;
	return user_shares_fits(user, used, g->files.n, GPU_MAX_FILES);
}

/* Returns 0 if it has its probes; -EAGAIN: soon; else they are refused. */
static int add_file(struct gpu_probes *g, const struct gpu_library *library, uint32_t pid,
		    const char *path, int fd)
{
	struct probed_file file = { 0 };

	if (library && !g->is_detached)
		file.ids = ids_of(fd, library->name);
	if (!file.ids.place)
		return -EINVAL;
	if (!pid || proc_owner(pid, &file.user))
		file.user = 0;
	int rc = known(g, &file.ids, file.user);
	if (rc != -ENOENT)
		return rc;
	snprintf(file.name, sizeof file.name, "%s", path);
	rc = has_room(g, file.user) ? probe_file(g, library, fd, &file) : -E2BIG;
	if (rc)
		refuse(g, &file, rc);
	else
		vec_push(&g->files, file);
	return rc ? rc : probes_of(&file);
}

void gpu_probes_add(struct gpu_probes *g, uint32_t pid, const char *path, int fd)
{
	add_file(g, gpu_library_of(path), pid, path, fd);
}

int gpu_probes_add_java(struct gpu_probes *g, uint32_t pid, const char *path, int fd)
{
	return add_file(g, &java_library, pid, path, fd);
}

int gpu_probes_put_java(struct gpu_probes *g, uint32_t pid, const struct java_heap *heap)
{
	if (!g->bpf)
		return -ENODEV;
	return bpf_map_update_elem(bpf_map__fd(g->bpf->maps.java_heaps), &pid, heap, BPF_ANY);
}

void gpu_probes_drop_java(struct gpu_probes *g, uint32_t pid)
{
	if (g->bpf)
		bpf_map_delete_elem(bpf_map__fd(g->bpf->maps.java_heaps), &pid);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void take_done(struct gpu_probes *g, const struct probe_done *done)
{
	for (size_t i = 0; i < g->files.n; i++) {
		struct probed_file *file = &g->files.v[i];

		if (file->serial != done->serial)
			continue;
		file->serial = 0;
		if (done->rc) {
			refuse(g, file, done->rc);
			*file = g->files.v[--g->files.n];
			return;
		}
		g->stats.files++;
		g->stats.probes += file->n_probes;
		g->stats.attach_ns += done->took_ns;
		return;
	}
}

static void forget_files(struct gpu_probes *g)
{
	g->files.n = g->n_rows = 0;
	user_shares_done(&g->rows_of);
	g->stats.files = g->stats.probes = 0;
}

static void take_answers(struct gpu_probes *g)
{
	struct probe_done done;

	while (probe_placer_take(g->placer, &done))
		take_done(g, &done);
	g->stats.is_late = probe_placer_waits_ns(g->placer) > LATE_NS;
	if (!probe_placer_take_lost(g->placer))
		return;
	forget_files(g);
	g->are_lost = true;
}

bool gpu_probes_run(struct gpu_probes *g)
{
	take_answers(g);
	bool are_lost = g->are_lost;
	g->are_lost = false;
	return are_lost && !g->is_detached;
}

void gpu_probes_wait(struct gpu_probes *g, uint64_t max_ns)
{
	probe_placer_wait(g->placer, max_ns);
	take_answers(g);
}

/* --- files that are not mapped yet ------------------------------------------------------------ */

static void add_expected(void *ctx, const char *name, int fd)
{
	gpu_probes_add(ctx, 0, name, fd);
}

void gpu_probes_expect(struct gpu_probes *g)
{
	gpu_files_expected(add_expected, g);
}

/* --- reading ---------------------------------------------------------------------------------- */

void gpu_probes_rest(struct gpu_probes *g,
		     void (*fn)(void *ctx, uint32_t tid, const struct gpu_thread *t), void *ctx)
{
	int fd = g->bpf ? bpf_map__fd(g->bpf->maps.gpu_threads) : -1;
	uint32_t tid, next;
	bool more = fd >= 0 && !bpf_map_get_next_key(fd, NULL, &next);

	while (more) {
		struct gpu_thread t;

		tid = next;
		if (!bpf_map_lookup_elem(fd, &tid, &t) && t.rates[GPU_RATE_LAUNCH].skipped) {
			fn(ctx, tid, &t);
			t.rates[GPU_RATE_LAUNCH].skipped = 0;
			bpf_map_update_elem(fd, &tid, &t, BPF_EXIST);
		}
		more = !bpf_map_get_next_key(fd, &tid, &next);
	}
}

bool gpu_probes_has_block(struct gpu_probes *g, const struct gpu_block_key *key,
			  struct gpu_block *out)
{
	return g->bpf && !bpf_map_lookup_elem(bpf_map__fd(g->bpf->maps.gpu_blocks), key, out);
}

void gpu_probes_drop_block(struct gpu_probes *g, const struct gpu_block_key *key)
{
	struct gpu_block_key map = { 0, key->tgid, GPU_ADDRESS_MAPPED };
	struct gpu_block block;

	if (!gpu_probes_has_block(g, key, &block))
		return;
	map.address = block.mapped_at;
	if (map.address)
		bpf_map_delete_elem(bpf_map__fd(g->bpf->maps.gpu_blocks), &map);
	bpf_map_delete_elem(bpf_map__fd(g->bpf->maps.gpu_blocks), key);
}

void gpu_probes_new_epoch(struct gpu_probes *g)
{
	if (g->bpf)
		g->bpf->data->seen_epoch++;
}

static void sum_counters(struct gpu_probes *g, uint64_t *out)
{
	int n = libbpf_num_possible_cpus(), fd = bpf_map__fd(g->bpf->maps.gpu_counters);
	uint64_t *values = xcalloc(n > 0 ? n : 1, sizeof *values);

	for (uint32_t c = 0; n > 0 && c < GPU_COUNTERS; c++) {
		if (bpf_map_lookup_elem(fd, &c, values))
			continue;
		for (int i = 0; i < n; i++)
			out[c] += values[i];
	}
	free(values);
}

void gpu_probes_get_stats(struct gpu_probes *g, struct gpu_probes_stats *out)
{
	*out = g->stats;
	if (!g->bpf)
		return;
	out->how = g->is_multi ? "uprobe.multi" : "uprobes";
	sum_counters(g, out->counters);
}

/* --- life ------------------------------------------------------------------------------------- */

void gpu_probes_detach(struct gpu_probes *g, uint64_t max_ns)
{
	uint64_t begin_ns = clock_mono_ns();

	if (g->is_detached)
		return;
	g->is_detached = true;
	probe_placer_detach(g->placer, max_ns);
	gpu_probes_run(g);
	g->stats.detach_ns = clock_mono_ns() - begin_ns;
}

void gpu_probes_free(struct gpu_probes *g)
{
	if (!g)
		return;
	probe_placer_free(g->placer);
	bpf_link__destroy(g->exit_link);
	gpu_bpf__destroy(g->bpf);
	vec_done(&g->files);
	user_shares_done(&g->rows_of);
	vec_done(&g->refused);
	free(g);
}
