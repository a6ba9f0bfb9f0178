/* Writes mappings of processes to the kernel's maps, and removes them at exit. */
#include "collect/walker/space.h"

#include "base/clock.h"
#include "base/cpu_budget.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "bpf/hotspot.h"
#include "bpf/php.h"
#include "bpf/space.h"
#include "bpf/v8.h"
#include "collect/kernel/side_band.h"
#include "collect/kernel/walker_maps.h"
#include "collect/process/image.h"
#include "collect/process/object.h"
#include "collect/process/proc_scan.h"
#include "collect/process/process.h"
#include "collect/walker/interpreted.h"
#include "collect/walker/space_files.h"
#include "collect/walker/stack_copy.h"
#include "collect/walker/table_store.h"
#include "collect/worker/proc_reader.h"

#include <bpf/bpf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SWEEP_EVERY_NS 5000000000ull
#define LOOK_FIRST_NS  5000000ull
#define LOOK_LAST_NS   1000000000ull

enum {
	SCAN_SHARE = 50, /* of a CPU, for reading processes in /proc */
	SCAN_SAVED_NS = 1000000000,
};

/* An image that the kernel knows. */
struct sent_image {
	uint32_t refs; /* processes */
	uint32_t n_blocks;
	uint32_t n_maps;
};
/* A process whose runtime has not started yet. */
struct waiting {
	uint32_t pid;
	uint64_t look_ns, wait_ns; /* time of the next look; time since the last one */
};
struct space {
	struct space_maps maps;
	struct object_table *objects;
	struct interpreted *interpreted;
	void (*on_runtime)(void *ctx, uint32_t pid); /* NULL: unused */
	void *runtime_ctx;
	VEC(struct waiting) waiting;
	struct process_table live; /* as of now */
	struct table_store *tables;
	VEC(uint32_t) changed; /* pids */
	struct map images;     /* id of an image → index in sent */
	VEC(struct sent_image) sent;
	VEC(uint32_t) free_sent;
	struct space_files files;
	uint64_t swept_ns, sweep_every_ns;
	struct allowance scans;  /* CPU time for reading /proc */
	struct map without_room; /* pids of processes without space */
	struct map passed;       /* … that have ended lately, unseen (space_passed) */
	uint64_t refused;        /* processes added to it so far */
};

/* --- life ------------------------------------------------------------------------------------- */

struct space *space_new(const struct space_maps *maps, struct object_table *objects,
			struct interpreted *interpreted, const char *cache_root)
{
	struct space *s = xcalloc(1, sizeof *s);
	struct table_store_opts store = {
		.tables_fd = maps->tables,
		.segments_fd = maps->segments,
		.max_segments = maps->max_segments,
		.cache_root = cache_root,
	};

	s->maps = *maps;
	s->objects = objects;
	s->interpreted = interpreted;
	s->sweep_every_ns = SWEEP_EVERY_NS;
	s->scans = (struct allowance){ .share = SCAN_SHARE, .most_ns = SCAN_SAVED_NS };
	s->tables = table_store_new(&store);
	if (!s->tables) {
		free(s);
		return NULL;
	}
	space_files_init(&s->files, objects, s->tables);
	process_table_init(&s->live, objects);
	return s;
}

void space_on_runtime(struct space *s, void (*fn)(void *ctx, uint32_t pid), void *ctx)
{
	s->on_runtime = fn;
	s->runtime_ctx = ctx;
}

void space_sweep_every(struct space *s, uint64_t every_ns)
{
	s->sweep_every_ns = every_ns;
}

void space_free(struct space *s)
{
	if (!s)
		return;
	table_store_free(s->tables);
	process_table_done(&s->live);
	vec_done(&s->changed);
	vec_done(&s->waiting);
	map_done(&s->images);
	vec_done(&s->sent);
	vec_done(&s->free_sent);
	map_done(&s->without_room);
	map_done(&s->passed);
	space_files_done(&s->files);
	free(s);
}

/* --- objects ---------------------------------------------------------------------------------- */

struct object *space_object(struct space *s, uint64_t frame)
{
	return space_files_object(&s->files, frame >> FRAME_OFFSET_BITS);
}

/* --- images ----------------------------------------------------------------------------------- */

static bool fits_frame(const struct image_map *m)
{
	return m->pgoff + (m->end - m->start) <= 1ull << FRAME_OFFSET_BITS;
}

/* Describes a mapping for the walker. Anonymous code, and files that can no longer be opened, have
 * frame pointers or nothing. */
static struct space_mapping describe(struct space *s, uint32_t pid, const struct image_map *m)
{
	struct space_mapping out = { .start = m->start, .end = m->end, .pgoff = m->pgoff };
	struct object_place place = { pid, m->start, m->end, m->pgoff };
	struct object *o = object_use(s->objects, m->object, &place);

	if (o->kind != OBJECT_FILE || !fits_frame(m))
		return out;
	space_files_number(&s->files, o);
	space_files_want(&s->files, o);
	out.object = o->number;
	out.table = o->table;
	return out;
}

/* Returns false if the map is full, or the kernel has no memory for more. */
static bool put_block(struct space *s, uint64_t image, uint64_t number,
		      const struct space_block *block)
{
	struct space_block_key key = { image, number };

	return bpf_map_update_elem(s->maps.blocks, &key, block, BPF_ANY) == 0;
}

static void drop_blocks(struct space *s, uint64_t image, uint32_t n_blocks)
{
	struct space_block_key key = { image, SPACE_INDEX };

	if (n_blocks > 1)
		bpf_map_delete_elem(s->maps.blocks, &key);
	for (key.block = 0; key.block < n_blocks; key.block++)
		bpf_map_delete_elem(s->maps.blocks, &key);
}

/* Returns whether all of its blocks are there now. */
static bool send_blocks(struct space *s, uint32_t pid, const struct image *image,
			struct sent_image *out)
{
	struct space_block index, block;
	struct sent_image sent = { 0 };
	bool has_room = true;

	memset(&index, 0xff, sizeof index);
	while (has_room && sent.n_maps < image->maps.n && sent.n_maps < SPACE_MAX_MAPS) {
		memset(&block, 0xff, sizeof block);
		for (uint32_t i = 0; i < SPACE_BLOCK_MAPS && sent.n_maps < image->maps.n; i++)
			block.maps[i] = describe(s, pid, &image->maps.v[sent.n_maps++]);
		index.starts[sent.n_blocks] = block.maps[0].start;
		has_room = put_block(s, image->id, sent.n_blocks++, &block);
	}
	if (has_room && sent.n_blocks > 1)
		has_room = put_block(s, image->id, SPACE_INDEX, &index);
	*out = sent;
	return has_room;
}

/* Sends all of its blocks, or none and returns false. */
static bool send_image(struct space *s, uint32_t pid, const struct image *image,
		       struct sent_image *out)
{
	bool is_sent = send_blocks(s, pid, image, out);

	if (!is_sent)
		drop_blocks(s, image->id, out->n_blocks);
	return is_sent;
}

static void forget_image(struct space *s, uint64_t id)
{
	const uint32_t *at = map_get(&s->images, id);

	if (!at || --s->sent.v[*at].refs)
		return;
	drop_blocks(s, id, s->sent.v[*at].n_blocks);
	vec_push(&s->free_sent, *at);
	map_del(&s->images, id);
}

/* Returns NULL if it is full. */
static const struct sent_image *use_image(struct space *s, uint32_t pid, const struct image *image)
{
	const uint32_t *at = map_get(&s->images, image->id);
	uint32_t i = at ? *at : s->sent.n;
	struct sent_image sent;

	if (!at) {
		if (!send_image(s, pid, image, &sent))
			return NULL;
		if (s->free_sent.n)
			i = s->free_sent.v[--s->free_sent.n];
		else
			vec_push(&s->sent, sent);
		s->sent.v[i] = sent;
		map_put(&s->images, image->id, i);
	}
	s->sent.v[i].refs++;
	return &s->sent.v[i];
}

/* --- processes -------------------------------------------------------------------------------- */

/* The process is walked by frame pointers from here on, and tried again when there may be space. */
static void note_no_room(struct space *s, uint32_t pid)
{
	if (map_get(&s->without_room, pid))
		return;
	map_put(&s->without_room, pid, 1);
	s->refused++;
}

static void note_room(struct space *s, uint32_t pid)
{
	if (s->without_room.n)
		map_del(&s->without_room, pid);
}

uint64_t space_refused(const struct space *s)
{
	return s->refused + s->files.without_table;
}

/* wait_ns: how long to wait for its runtime to start, if it has not. Returns false if there is no
 * room. */
static bool put_process(struct space *s, struct process *p, uint32_t n_maps, uint64_t wait_ns)
{
	bool waits = false;
	struct space_process out = {
		.image = p->image->id,
		.n_maps = n_maps,
		.sent_ns = clock_mono_ns(),
		.runtimes = s->interpreted ? interpreted_look(s->interpreted, p, &waits) : 0,
	};

	if ((out.runtimes || waits) && s->on_runtime)
		s->on_runtime(s->runtime_ctx, p->pid);
	if (bpf_map_update_elem(s->maps.processes, &p->pid, &out, BPF_ANY)) {
		if (s->maps.processes_full)
			*s->maps.processes_full = 1;
		return false;
	}
	p->sent_ns = out.sent_ns;
	if (waits)
		vec_push(&s->waiting, (struct waiting){ p->pid, out.sent_ns + wait_ns, wait_ns });
	return true;
}

/* A process that has ended takes no more samples. */
static void send_process(struct space *s, struct process *p)
{
	uint64_t before = p->sent_image;

	if (!p->image || p->leader_gone || p->sent_image == p->image->id)
		return;
	const struct sent_image *sent = use_image(s, p->pid, p->image);
	bool is_told = put_process(s, p, sent ? sent->n_maps : SPACE_NO_ROOM, LOOK_FIRST_NS);
	if (sent && !is_told) /* unused */
		forget_image(s, p->image->id);
	p->sent_image = sent && is_told ? p->image->id : 0;
	if (p->sent_image)
		note_room(s, p->pid);
	else
		note_no_room(s, p->pid);
	if (before)
		forget_image(s, before);
}

/* Retries processes without space, some at a time: others may have ended. */
static void try_again(struct space *s)
{
	enum { AT_ONCE = 256 };
	VEC(uint32_t) pids = { 0 };

	if (s->maps.processes_full)
		*s->maps.processes_full = 0;
	map_each (&s->without_room, slot)
		if (pids.n < AT_ONCE)
			vec_push(&pids, (uint32_t)slot->key);
	for (size_t i = 0; i < pids.n; i++) {
		struct process *p = process_find(&s->live, pids.v[i]);

		map_del(&s->without_room, pids.v[i]);
		if (!p)
			continue;
		uint64_t refused = s->refused;
		send_process(s, p);
		s->refused = refused; /* already counted */
	}
	vec_done(&pids);
}

static bool has_any(const struct space *s, const struct image *image, const struct map *objects)
{
	for (size_t i = 0; i < image->maps.n; i++) {
		const struct object *o = s->objects->all.v[image->maps.v[i].object];

		if (map_get(objects, o->same_as != OBJECT_NONE ? o->same_as : o->id))
			return true;
	}
	return false;
}

/* Sends images with these objects again, now with their tables. */
static void send_again(struct space *s, const struct map *objects)
{
	struct map seen = { 0 }; /* ids of images */
	struct sent_image sent;

	for (size_t i = 0; i < s->live.all.n; i++) {
		const struct process *p = s->live.all.v[i];

		if (!p || !p->image || p->sent_image != p->image->id ||
		    map_get(&seen, p->image->id))
			continue;
		map_put(&seen, p->image->id, 1);
		if (has_any(s, p->image, objects))
			send_blocks(s, p->pid, p->image, &sent);
	}
	map_done(&seen);
}

static void give_free_slots(struct space *s)
{
	struct map given = { 0 };

	space_files_give_slots(&s->files, &given);
	if (given.n)
		send_again(s, &given);
	map_done(&given);
}

/* Frames of copies that were one object with a file have the number of that file until then. */
static void send_parted(struct space *s)
{
	struct map parted = s->objects->parted;

	s->objects->parted = (struct map){ 0 };
	if (parted.n)
		send_again(s, &parted);
	map_done(&parted);
}

static void look_again(struct space *s, const struct waiting *w)
{
	struct process *p = process_find(&s->live, w->pid);
	const uint32_t *at = p ? map_get(&s->images, p->sent_image) : NULL;
	uint64_t wait_ns = 2 * w->wait_ns;

	if (at && p->image && p->sent_image == p->image->id && !p->leader_gone)
		put_process(s, p, s->sent.v[*at].n_maps,
			    wait_ns < LOOK_LAST_NS ? wait_ns : LOOK_LAST_NS);
}

/* Looks at processes whose runtime had not started when they mapped it. */
static void look_at_waiting(struct space *s)
{
	uint64_t now_ns = s->waiting.n ? clock_mono_ns() : 0;

	for (size_t i = 0; i < s->waiting.n;) {
		struct waiting w = s->waiting.v[i];

		if (now_ns < w.look_ns) {
			i++;
			continue;
		}
		s->waiting.v[i] = s->waiting.v[--s->waiting.n];
		look_again(s, &w);
	}
}

uint64_t space_look_ns(const struct space *s)
{
	uint64_t first_ns = UINT64_MAX;

	for (size_t i = 0; i < s->waiting.n; i++)
		if (s->waiting.v[i].look_ns < first_ns)
			first_ns = s->waiting.v[i].look_ns;
	return first_ns;
}

static void remove_process(struct space *s, struct process *p)
{
	if (map_get(&s->without_room, p->pid))
		bpf_map_delete_elem(s->maps.processes, &p->pid);
	note_room(s, p->pid);
	if (p->sent_image) {
		bpf_map_delete_elem(s->maps.processes, &p->pid);
		forget_image(s, p->sent_image);
	}
	if (s->interpreted)
		interpreted_forget(s->interpreted, p->pid);
	process_remove(&s->live, p);
}

static void on_fork(struct space *s, const struct side_record *r)
{
	const struct process *parent = process_find(&s->live, r->ppid);
	struct process *old = process_find(&s->live, r->pid), *p;

	if (r->pid == r->ppid)
		return;
	map_del(&s->passed, r->pid);
	if (!parent)
		return;
	bool is_recorded = parent->is_recorded || (parent->scanned_ns && parent->image);
	if (old)
		remove_process(s, old);
	p = process_fork(&s->live, r->ppid, r->pid);
	if (!p)
		return;
	p->is_recorded = is_recorded;
	vec_push(&s->changed, r->pid);
}

bool space_has_all_processes(const struct space *s)
{
	return s->maps.all_processes;
}

static void on_exec(struct space *s, const struct side_record *r)
{
	struct process *p = process_find(&s->live, r->pid);

	if (!r->exec)
		return;
	if (!p && s->maps.all_processes)
		p = process_add(&s->live, r->pid);
	if (!p)
		return;
	process_exec(&s->live, p);
	if (s->interpreted)
		interpreted_forget(s->interpreted, p->pid);
	p->scanned_ns = p->next_scan_ns = 0;
	p->is_recorded = true;
	vec_push(&s->changed, r->pid);
}

static void on_mmap(struct space *s, const struct side_record *r)
{
	struct process *p = process_find(&s->live, r->pid);
	uint32_t object = !p          ? OBJECT_NONE
			  : r->object ? r->object - 1
				      : object_of_record(s->objects, r);
	struct image_map m = { r->start, r->start + r->len, r->pgoff, object };

	if (object == OBJECT_NONE)
		return;
	process_map(&s->live, p, &m);
	vec_push(&s->changed, r->pid);
}

/* A sample will meet a missing mapping. */
static void on_lost(struct space *s)
{
	map_clear(&s->passed);
	for (size_t i = 0; i < s->live.all.n; i++) {
		struct process *p = s->live.all.v[i];

		if (!p)
			continue;
		p->scanned_ns = p->next_scan_ns = 0;
		p->is_recorded = false;
	}
}

void space_passed(struct space *s, const struct side_record *r)
{
	if (r->kind == SIDE_FORK && r->pid != r->ppid)
		map_put(&s->passed, r->pid, 1);
}

void space_seen(struct space *s, const struct side_record *r)
{
	switch (r->kind) {
	case SIDE_MMAP:
		on_mmap(s, r);
		break;
	case SIDE_COMM:
		on_exec(s, r);
		break;
	case SIDE_FORK:
		on_fork(s, r);
		break;
	case SIDE_EXIT:
		process_exit(&s->live, r->pid, r->tid, r->time_ns);
		break;
	case SIDE_LOST:
		on_lost(s);
		break;
	}
}

void space_expect(struct space *s, uint32_t pid)
{
	uint64_t now_ns = clock_mono_ns();
	struct process *p = process_find(&s->live, pid);

	if (!p)
		p = process_add(&s->live, pid);
	if (!p || now_ns < p->next_scan_ns || allowance_left(&s->scans, now_ns) <= 0)
		return;
	uint64_t begin_ns = proc_reader_clock_ns(s->objects->reader);
	proc_scan(&s->live, p, now_ns);
	allowance_spend(&s->scans, proc_reader_clock_ns(s->objects->reader) - begin_ns);
	vec_push(&s->changed, pid);
}

/* Whether its mappings are known, or it has ended. */
static bool is_known(const struct space *s, uint32_t pid)
{
	const struct process *p = process_find(&s->live, pid);

	return p ? (p->scanned_ns || p->is_recorded) && p->image : map_get(&s->passed, pid) != NULL;
}

/* Whether /proc may have more mappings than the records: only if the kernel misses one although all
 * were sent before the sample. */
static bool has_more(const struct space *s, uint32_t pid, uint64_t sampled_ns)
{
	const struct process *p = process_find(&s->live, pid);
	bool was_sent = p && p->sent_image && p->sent_ns < sampled_ns;

	return !is_known(s, pid) || (p && (!p->is_recorded || was_sent));
}

void space_waited(struct space *s, uint32_t pid)
{
	if (!is_known(s, pid))
		space_expect(s, pid);
}

void space_missed(struct space *s, const struct event_raw *raw)
{
	if (raw->table == RAW_NOT_WALKED) {
		space_waited(s, raw->ev.sample.tgid);
	} else if (raw->table) {
		space_files_want_table(&s->files, raw->table);
		table_store_wait(s->tables, raw->table);
	} else if (has_more(s, raw->ev.sample.tgid, raw->ev.sample.time_ns)) {
		space_expect(s, raw->ev.sample.tgid);
	}
}

static void sweep(struct space *s)
{
	uint64_t now_ns = clock_mono_ns();

	for (struct process *p; (p = process_next_ended(&s->live, now_ns));)
		remove_process(s, p);
	if (now_ns < s->swept_ns + s->sweep_every_ns)
		return;
	s->swept_ns = now_ns;
	map_clear(&s->passed);
	space_files_sweep(&s->files);
	give_free_slots(s);
	send_parted(s);
	if (s->without_room.n)
		try_again(s);
}

void space_send(struct space *s, uint64_t until_ns)
{
	size_t i = 0;

	for (; i < s->changed.n && clock_mono_ns() < until_ns; i++) {
		struct process *p = process_find(&s->live, s->changed.v[i]);

		if (p)
			send_process(s, p);
	}
	s->changed.n -= i;
	if (s->changed.n)
		memmove(s->changed.v, s->changed.v + i, s->changed.n * sizeof *s->changed.v);
}

void space_sync(struct space *s)
{
	space_send(s, UINT64_MAX);
	space_files_want_arrived(&s->files);
	look_at_waiting(s);
	table_store_poll(s->tables);
	sweep(s);
}

int space_fd(const struct space *s)
{
	return table_store_fd(s->tables);
}

bool space_is_busy(struct space *s)
{
	return table_store_is_busy(s->tables);
}

/* --- the walk in user space ------------------------------------------------------------------- */

struct raw_walk {
	struct space *space;
	const struct image *image;
	uint32_t pid;
	struct stack_copy stack;
	struct python_groups groups;
};

/* Code is unchanged as long as the process exists, and as it is in its file. */
static bool read_code(struct raw_walk *r, const struct image_map *m, void *to, size_t size,
		      uint64_t address)
{
	const struct object *o = r->space->objects->all.v[m->object];

	if (o->same_as != OBJECT_NONE)
		o = r->space->objects->all.v[o->same_as];
	if (o->kind == OBJECT_FILE && o->fd >= 0)
		return pread(o->fd, to, size, (off_t)(m->pgoff + (address - m->start))) ==
		       (ssize_t)size;
	return proc_reader_memory(r->space->objects->reader, r->pid, address, to, size) == 0;
}

/* Some steps read code. */
static bool raw_read(void *ctx, void *to, size_t size, uint64_t address)
{
	struct raw_walk *r = ctx;

	const struct image_map *m = r->image ? image_find(r->image, address) : NULL;

	if (m)
		return read_code(r, m, to, size, address);
	return stack_copy_read(&r->stack, to, size, address);
}

static bool raw_find(void *ctx, uint64_t address, struct space_mapping *out)
{
	struct raw_walk *r = ctx;
	const struct image_map *m = r->image ? image_find(r->image, address) : NULL;

	if (!m)
		return false;
	*out = describe(r->space, r->pid, m);
	return true;
}

static struct space_table *raw_table(void *ctx, uint32_t index)
{
	struct raw_walk *r = ctx;

	return table_store_table(r->space->tables, index);
}

static const void *raw_chunk(void *ctx, uint32_t chunk)
{
	struct raw_walk *r = ctx;

	return table_store_chunk(r->space->tables, chunk);
}

static uint64_t raw_behind(void *ctx, uint64_t pc, uint64_t sp, uint64_t cfa)
{
	return python_groups_mark(&((struct raw_walk *)ctx)->groups, pc, sp, cfa);
}

static bool raw_memory(void *ctx, void *to, size_t size, uint64_t address)
{
	struct raw_walk *r = ctx;

	return proc_reader_memory(r->space->objects->reader, r->pid, address, to, size) == 0;
}

bool space_has_code(const struct space *s, uint32_t pid)
{
	return s->interpreted && (interpreted_has(s->interpreted, pid, RUNTIME_HOTSPOT) ||
				  interpreted_has(s->interpreted, pid, RUNTIME_V8));
}

/* Reads what the walker in the kernel knows of HotSpot in the process. */
static bool find_hotspot(const struct space *s, uint32_t pid, struct hotspot_process *process,
			 struct hotspot_layout *layout)
{
	return s->interpreted && interpreted_has(s->interpreted, pid, RUNTIME_HOTSPOT) &&
	       !bpf_map_lookup_elem(s->maps.hotspot_processes, &pid, process) &&
	       !bpf_map_lookup_elem(s->maps.hotspot_layouts, &process->layout, layout);
}

static bool find_v8(const struct space *s, uint32_t pid, struct v8_process *process)
{
	return s->interpreted && interpreted_has(s->interpreted, pid, RUNTIME_V8) &&
	       !bpf_map_lookup_elem(s->maps.v8_processes, &pid, process);
}

static bool find_php(const struct space *s, uint32_t pid, struct php_process *process)
{
	return s->interpreted && interpreted_has(s->interpreted, pid, RUNTIME_PHP) &&
	       !bpf_map_lookup_elem(s->maps.php_processes, &pid, process);
}

static bool is_mapped(const struct image *image, uint64_t address)
{
	return image && image_find(image, address);
}

struct unwind_walk space_walk(struct space *s, const struct image *image,
			      const struct event_raw *raw, struct python_groups groups,
			      uint64_t *frames, uint32_t max_frames)
{
	struct raw_walk r = {
		.space = s,
		.image = image,
		.pid = raw->ev.sample.tgid,
		.stack = { .sp = raw->regs[PT_SP],
			   .fp = raw->regs[PT_FP],
			   .data = raw->stack,
			   .size_bytes = raw->stack_bytes },
		.groups = groups,
	};
	struct hotspot_process hotspot;
	struct hotspot_layout layout;
	bool has_hotspot = find_hotspot(s, r.pid, &hotspot, &layout);
	struct v8_process v8;
	bool has_v8 = find_v8(s, r.pid, &v8);
	struct php_process php;
	bool has_php = find_php(s, r.pid, &php);
	struct unwind_source source = {
		.ctx = &r,
		.read = raw_read,
		.find = raw_find,
		.table = raw_table,
		.chunk = raw_chunk,
		.behind = raw_behind,
		.call_sp = raw->call_sp,
		.hotspot = has_hotspot ? &hotspot : NULL,
		.hotspot_layout = &layout,
		.v8 = has_v8 ? &v8 : NULL,
		.php = has_php ? &php : NULL,
		.read_memory = raw_memory,
	};
	struct unwind_walk w =
		unwind_walk(&source, (const uint64_t *)raw->regs, frames, max_frames);

	table_store_trim_copies(s->tables);
	w.end = stack_copy_end(&r.stack, w.end);
	if (w.end == WALK_NO_FP && !is_mapped(image, raw->regs[PT_IP]))
		w.end = WALK_NO_MAPPING;
	return w;
}

void space_get_stats(const struct space *s, struct table_store_stats *out)
{
	table_store_get_stats(s->tables, out);
}
