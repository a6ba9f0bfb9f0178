/* Adds, opens and frees objects, and detects duplicates by their content. */
#include "collect/process/object.h"

#include "base/clock.h"
#include "base/mem.h"
#include "collect/kernel/side_band.h"
#include "collect/proc/mapped_file.h"
#include "collect/proc/proc_maps.h"
#include "collect/proc/process_memory.h"
#include "collect/process/object_name.h"
#include "collect/worker/far_device.h"
#include "collect/worker/far_files.h"
#include "collect/worker/proc_reader.h"
#include "runtime/runtime.h"
#include "symbol/symbol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Of a CPU, for looking through mounts of processes. */
enum { MOUNTS_SHARE = 100, MOUNTS_SAVED_NS = 100000000 };

/* --- descriptors ------------------------------------------------------------------------------ */

static void lru_remove(struct object_table *t, struct object *o)
{
	*(o->newer ? &o->newer->older : &t->newest) = o->older;
	*(o->older ? &o->older->newer : &t->oldest) = o->newer;
	o->newer = o->older = NULL;
}

static void lru_add(struct object_table *t, struct object *o)
{
	o->older = t->newest;
	*(t->newest ? &t->newest->newer : &t->oldest) = o;
	t->newest = o;
}

static void mark_used(struct object_table *t, struct object *o)
{
	if (o->fd < 0 || o->pinned || o == t->newest)
		return;
	lru_remove(t, o);
	lru_add(t, o);
}

static void close_fd(struct object_table *t, struct object *o)
{
	if (o->fd < 0)
		return;
	if (!o->pinned) {
		lru_remove(t, o);
		t->n_open--;
	}
	close(o->fd);
	if (o->is_copy)
		t->far_bytes -= o->size;
	o->is_copy = false;
	o->stamp = (struct file_stamp){ 0 };
	o->fd = -1;
	o->state = OBJECT_CLOSED;
}

static void keep_fd(struct object_table *t, struct object *o, int fd,
		    const struct file_stamp *stamp)
{
	struct object *oldest = t->oldest;

	if (t->n_open >= t->max_open) {
		close_fd(t, oldest);
		if (!oldest->refs)
			object_index_drop_inode(t, oldest);
	}
	o->fd = fd;
	o->stamp = *stamp;
	o->state = OBJECT_OPEN;
	lru_add(t, o);
	t->n_open++;
}

/* --- life ------------------------------------------------------------------------------------- */

static uint32_t object_add(struct object_table *t, enum object_kind kind, char *name)
{
	struct object *o = xcalloc(1, sizeof *o);
	uint32_t id = t->free_ids.n ? t->free_ids.v[--t->free_ids.n] : t->all.n;

	*o = (struct object){ .id = id,
			      .kind = kind,
			      .fd = -1,
			      .name = name,
			      .same_as = OBJECT_NONE,
			      .mapping = MAPPING_NONE };
	if (id == t->all.n)
		vec_push(&t->all, o);
	t->all.v[id] = o;
	t->n++;
	return id;
}

static void object_done(struct object *o)
{
	map_done(&o->frames);
	free(o->has_build_id_of);
	free(o->variable);
	if (o->runtime)
		o->runtime_kind->object_free(o->runtime);
	free(o->name);
	free(o);
}

static void object_free(struct object_table *t, struct object *o)
{
	if (o->awaited)
		map_del(&t->awaited, o->awaited);
	close_fd(t, o);
	object_index_drop(t, o);
	if (o->same_as != OBJECT_NONE)
		object_unref(t, o->same_as);
	user_shares_change(&t->users, o->user, 1, 0);
	t->all.v[o->id] = NULL;
	vec_push(&t->free_ids, o->id);
	t->n--;
	object_done(o);
}

static bool is_idle(const struct object *o)
{
	return !o->refs && !o->pinned && o->mapping == MAPPING_NONE;
}

void object_table_init(struct object_table *t, uint32_t max_open)
{
	*t = (struct object_table){
		.max_open = max_open ? max_open : 1,
		.mounts = { .share = MOUNTS_SHARE, .most_ns = MOUNTS_SAVED_NS },
	};
	uint32_t anon = object_add(t, OBJECT_JIT, xstrdup("[anon]"));
	t->all.v[anon]->pinned = true;
}

void object_table_done(struct object_table *t)
{
	for (size_t i = 0; i < t->all.n; i++) {
		struct object *o = t->all.v[i];

		if (!o)
			continue;
		if (o->fd >= 0)
			close(o->fd);
		object_done(o);
	}
	vec_done(&t->all);
	vec_done(&t->free_ids);
	object_index_done(t);
	map_done(&t->awaited);
	map_done(&t->parted);
	user_shares_done(&t->users);
	*t = (struct object_table){ 0 };
}

void object_ref(struct object_table *t, uint32_t id)
{
	t->all.v[id]->refs++;
	t->all.v[id]->was_idle = false;
}

/* Without a mapping or a descriptor of ours the inode may be reused for another file. */
void object_unref(struct object_table *t, uint32_t id)
{
	struct object *o = t->all.v[id];

	if (--o->refs || o->pinned || o->fd >= 0)
		return;
	object_index_drop_inode(t, o);
	if (is_idle(o))
		object_free(t, o);
}

void object_trim(struct object_table *t)
{
	for (size_t i = 0; i < t->all.n; i++) {
		struct object *o = t->all.v[i];

		if (!o || !is_idle(o))
			continue;
		if (o->was_idle)
			object_free(t, o);
		else
			o->was_idle = true;
	}
}

/* --- opening ---------------------------------------------------------------------------------- */

static void keep_stat(struct object *o, const struct stat *st)
{
	o->opened = true;
	o->dev = st->st_dev;
	o->file_ino = st->st_ino;
	o->size = st->st_size;
	o->mtime_ns = st->st_mtim.tv_sec * 1000000000ll + st->st_mtim.tv_nsec;
}

/* The other object takes over the descriptor if it lacks one. Else it stays open, and shows whether
 * the copy is written again. */
static void set_same_as(struct object_table *t, struct object *o, struct object *other)
{
	int fd = other->fd < 0 ? fcntl(o->fd, F_DUPFD_CLOEXEC, 0) : -1;
	const struct file_stamp stamp = o->stamp;

	o->same_as = other->id;
	object_ref(t, other->id);
	if (fd >= 0 || o->is_copy)
		close_fd(t, o);
	if (fd >= 0)
		keep_fd(t, other, fd, &stamp);
}

static bool may_be_one_build(const struct object *a, const struct object *b)
{
	if (!a->fingerprint || !b->fingerprint)
		return true;
	if (a->fingerprint != b->fingerprint)
		return false;
	return !a->names_fingerprint || !b->names_fingerprint ||
	       a->names_fingerprint == b->names_fingerprint;
}

/* Returns the object of the same build. A file that only has its build id loses it: names and
 * unwind tables of the other one would be wrong for it. */
static uint32_t find_same_build(struct object_table *t, struct object *o)
{
	uint32_t id = object_index_find_build_id(t, o);
	const struct object *other = id == OBJECT_NONE ? NULL : t->all.v[id];

	o->fingerprint = elf_fingerprint(o->fd);
	o->names_fingerprint = elf_names_fingerprint(o->fd);
	if (!other || other == o || may_be_one_build(o, other))
		return id;
	free(o->has_build_id_of);
	o->has_build_id_of = xstrdup(other->name);
	o->build_id_len = 0;
	return OBJECT_NONE;
}

/* Checks, now that its content can be read, whether it is already known under another inode or
 * name. If it already has frames, it stays separate. */
static void identify(struct object_table *t, struct object *o)
{
	uint32_t other = OBJECT_NONE;

	if (!o->build_id_len) {
		int len = elf_build_id(o->fd, o->build_id, sizeof o->build_id);

		if (len == -ENOEXEC && object_name_is_nameless_file(o->name)) {
			o->kind = OBJECT_JIT;
			close_fd(t, o); /* an open descriptor would keep the memory allocated */
			return;
		}
		o->build_id_len = len > 0 ? len : 0;
	}
	if (o->build_id_len)
		other = find_same_build(t, o);
	if (!o->build_id_len)
		other = object_index_find_stat(t, o);
	if (other != OBJECT_NONE && other != o->id && o->mapping == MAPPING_NONE && !o->number) {
		o->build_id_len = 0;
		set_same_as(t, o, t->all.v[other]);
	} else {
		object_index_put_content(t, o);
	}
}

/* Compares with the file before it was closed: by build id, else by everything in stat. */
static bool is_unchanged(const struct object *o, int fd, const struct stat *st)
{
	uint8_t id[BUILD_ID_MAX];
	struct object now = { 0 };

	if (o->build_id_len)
		return elf_build_id(fd, id, sizeof id) == o->build_id_len &&
		       memcmp(id, o->build_id, o->build_id_len) == 0 &&
		       (!o->fingerprint || elf_fingerprint(fd) == o->fingerprint);
	keep_stat(&now, st);
	return o->opened && now.dev == o->dev && now.file_ino == o->file_ino &&
	       now.size == o->size && now.mtime_ns == o->mtime_ns;
}

/* Whether size and time of the last write are the same. A rename or a link changes neither. */
static bool is_as_written(int fd, const struct file_stamp *stamp)
{
	struct file_stamp now = file_stamp_of_fd(fd);

	return now.size == stamp->size && now.mtime_ns == stamp->mtime_ns;
}

/* A file may be written while it is mapped; the file of a running program, between two runs. */
static bool was_written(const struct object_table *t, struct object *o)
{
	struct object *known = o->same_as == OBJECT_NONE ? o : t->all.v[o->same_as];
	struct object *holder = o->fd < 0 ? known : o; /* the other one may have the descriptor */
	struct stat st;

	if (holder->fd < 0 || !holder->stamp.ctime_ns || fstat(holder->fd, &st) ||
	    file_stamp_is(&holder->stamp, &st))
		return false;
	if (!is_unchanged(known, holder->fd, &st))
		return true;
	holder->stamp = file_stamp_of(&st);
	return false;
}

/* The copy is read from its own file when it is used next. */
static void part(struct object_table *t, struct object *copy)
{
	struct object *of = t->all.v[copy->same_as];

	if (!--of->refs && of->fd < 0) /* callers still use it: object_trim frees it */
		object_index_drop_inode(t, of);
	copy->same_as = OBJECT_NONE;
	close_fd(t, copy);
	copy->state = OBJECT_NEW;
	map_put(&t->parted, copy->id, 1);
}

/* Its frames belong to another content: nothing is read for them from now on. Copies of it may
 * still have the earlier content. */
static void leave_rewritten(struct object_table *t, struct object *o)
{
	object_index_drop(t, o);
	if (o->same_as != OBJECT_NONE)
		part(t, o);
	close_fd(t, o);
	o->is_rewritten = true;
	o->state = OBJECT_GONE;
	for (size_t i = 0; i < t->all.n && o->refs; i++)
		if (t->all.v[i] && t->all.v[i]->same_as == o->id)
			part(t, t->all.v[i]);
}

/* stamp: from before its content is read. */
static void identify_as_written(struct object_table *t, struct object *o,
				const struct file_stamp *stamp)
{
	if (file_stamp_is_newer(stamp, o->since_ns)) {
		leave_rewritten(t, o);
		return;
	}
	identify(t, o);
	/* If it was written in the meantime, the build id may be that of the new content. */
	if (o->fd >= 0 && !o->is_copy && !is_as_written(o->fd, stamp))
		leave_rewritten(t, o);
}

/* --- far files -------------------------------------------------------------------------------- */

static void ask_far(struct object_table *t, struct object *o, const struct mapped_file *f)
{
	enum {
		WAIT_MS = 20
	}; /* usually enough for a file system that responds: frames then have its build id */

	o->awaited = far_files_ask(t->far, f);
	o->state = o->awaited ? OBJECT_AWAITED : OBJECT_GONE;
	if (!o->awaited)
		return;
	map_put(&t->awaited, o->awaited, o->id);
	far_files_wait(t->far, WAIT_MS);
	object_take_far(t);
}

static void close_copies(struct object_table *t, const struct object *but)
{
	/* limit: open copies of files on unresponsive file systems */
	enum { MAX_BYTES = 1 << 30 };

	for (struct object *o = t->oldest, *next; o && t->far_bytes > MAX_BYTES; o = next) {
		next = o->newer;
		if (o->is_copy && o != but)
			close_fd(t, o);
	}
}

/* The times of a copy's file, as far as they were sent with it. */
static struct file_stamp far_stamp(const struct far_file *file)
{
	struct file_stamp stamp = file_stamp_of(&file->st);

	stamp.ctime_ns = stamp.mtime_ns;
	return file->is_copy ? stamp : file_stamp_of_fd(file->fd);
}

static void take_far(struct object_table *t, struct object *o, const struct far_file *file)
{
	if (o->opened && !is_unchanged(o, file->fd, &file->st)) {
		close(file->fd);
		return;
	}
	const struct file_stamp unknown = { 0 }, stamp = far_stamp(file);

	/* A copy does not change when its file does. */
	keep_fd(t, o, file->fd, file->is_copy ? &unknown : &stamp);
	keep_stat(o, &file->st);
	o->is_copy = file->is_copy;
	t->far_bytes += o->is_copy ? o->size : 0;
	close_copies(t, o);
	/* Callers that looked earlier found nothing; let them look again. */
	o->runtime_known = o->runtime_known && o->runtime;
	o->variable_known = o->variable_known && o->variable;
	o->starts_known = o->starts_known && o->n_starts;
	o->extent_known = o->extent_known && o->extent.to;
	identify_as_written(t, o, &stamp);
}

void object_take_far(struct object_table *t)
{
	struct far_file file;

	while (t->far && far_files_take(t->far, &file)) {
		const uint32_t *id = map_get(&t->awaited, file.serial);
		struct object *o = id ? t->all.v[*id] : NULL;

		map_del(&t->awaited, file.serial);
		if (!o || o->awaited != file.serial) {
			if (file.fd >= 0)
				close(file.fd);
			continue;
		}
		o->awaited = 0;
		o->state = OBJECT_GONE;
		if (file.fd >= 0)
			take_far(t, o, &file);
	}
}

/* A process may have mounts without number, so looking through them has a budget. Beyond it, a
 * worker opens the file. */
static bool is_far(struct object_table *t, const struct object *o, uint32_t pid)
{
	if (!t->far || device_is_near_here(o->maj, o->min))
		return false;
	if (allowance_left(&t->mounts, clock_mono_ns()) <= 0)
		return true;
	uint64_t begin_ns = clock_thread_ns();
	bool far = device_is_far(pid, o->maj, o->min);
	allowance_spend(&t->mounts, (int64_t)(clock_thread_ns() - begin_ns));
	return far;
}

static void object_open(struct object_table *t, struct object *o, const struct object_place *place)
{
	struct stat st;
	struct mapped_file f = {
		.pid = place->pid,
		.start = place->start,
		.end = place->end,
		.pgoff = place->pgoff,
		.path = o->name,
		.build_id = o->build_id,
		.build_id_len = o->build_id_len,
		.maj = o->maj,
		.min = o->min,
		.ino = o->ino,
	};
	int fd = -ENOENT;

	o->state = OBJECT_GONE;
	o->is_far = is_far(t, o, place->pid);
	if (!o->is_far)
		fd = t->far ? proc_reader_open(t->reader, &f, &st) : mapped_file_open(&f, &st);
	if (fd < 0) {
		if (t->far && o->name[0] == '/')
			ask_far(t, o, &f);
		return;
	}
	struct file_stamp stamp = file_stamp_of_fd(fd);
	keep_fd(t, o, fd, &stamp);
	keep_stat(o, &st);
	identify_as_written(t, o, &stamp);
}

/* --- finding ---------------------------------------------------------------------------------- */

static uint32_t named_object(struct object_table *t, const char *name)
{
	uint32_t id = object_index_find_name(t, name);

	if (id != OBJECT_NONE)
		return id;
	id = object_add(t, OBJECT_NAMED, xstrdup(name));
	object_index_put_name(t, t->all.v[id]);
	return id;
}

/* The image is the same in every 64-bit process; that of 32-bit processes differs, and ours says
 * nothing about it. */
static uint32_t vdso_object(struct object_table *t, uint64_t start)
{
	bool known = object_index_find_name(t, "[vdso]") != OBJECT_NONE;
	int fd = known || start <= UINT32_MAX ? -1 : vdso_open();

	if (start <= UINT32_MAX)
		return named_object(t, "[vdso32]");
	if (known || fd < 0)
		return named_object(t, "[vdso]");
	uint32_t id = object_add(t, OBJECT_FILE, xstrdup("[vdso]"));
	struct object *o = t->all.v[id];
	int len = elf_build_id(fd, o->build_id, sizeof o->build_id);

	o->build_id_len = len > 0 ? len : 0;
	o->fd = fd;
	o->state = OBJECT_OPEN;
	o->pinned = true;
	object_index_put_name(t, o);
	return id;
}

/* Returns objects without a separate file; OBJECT_NONE when name is that of a file. */
static uint32_t fileless_object(struct object_table *t, const char *name, uint64_t start)
{
	if (object_name_is_anonymous(name))
		return OBJECT_ANON;
	if (strcmp(name, "[vdso]") == 0)
		return vdso_object(t, start);
	return name[0] == '/' ? OBJECT_NONE : named_object(t, name);
}

static uint32_t add_by_inode(struct object_table *t, const char *name, uint32_t maj, uint32_t min,
			     uint64_t ino, uint64_t generation)
{
	uint32_t id = object_add(t, OBJECT_FILE, object_name_clean(name));
	struct object *o = t->all.v[id];

	o->maj = maj;
	o->min = min;
	o->ino = ino;
	o->ino_generation = generation;
	object_index_put_inode(t, o);
	return id;
}

/* Returns OBJECT_NONE if the table, or the user's share of it, is full. */
static uint32_t add_for(struct object_table *t, uint32_t pid, const char *name, uint32_t maj,
			uint32_t min, uint64_t ino, uint64_t generation)
{
	uint32_t user = t->n < OBJECT_UNCHARGED ? 0 : user_shares_owner(&t->users, pid);

	if (t->n >= OBJECT_MAX || !user_shares_may(&t->users, user, OBJECT_MAX_USER)) {
		t->refused++;
		return OBJECT_NONE;
	}
	uint32_t id = add_by_inode(t, name, maj, min, ino, generation);
	t->all.v[id]->user = user;
	user_shares_change(&t->users, user, 0, 1);
	return id;
}

void object_begin_reading(struct object_table *t)
{
	t->reading++;
}

/* A file is compared only once in a reading. */
static uint32_t find_of_record(struct object_table *t, const struct side_record *r)
{
	uint32_t id =
		object_index_find_inode(t, r->name, r->maj, r->min, r->ino, r->ino_generation);
	struct object *o = id == OBJECT_NONE ? NULL : t->all.v[id];

	if (!o || (t->reading && o->looked == t->reading))
		return id;
	o->looked = t->reading;
	if (!was_written(t, o))
		return id;
	leave_rewritten(t, o);
	return OBJECT_NONE;
}

/* A file without its content. */
static uint32_t add_rewritten(struct object_table *t, const struct side_record *r)
{
	uint32_t id = add_for(t, r->pid, r->name, r->maj, r->min, 0, 0);
	struct object *o = id == OBJECT_NONE ? NULL : t->all.v[id];

	if (!o)
		return OBJECT_NONE;
	o->pid = r->pid;
	o->is_rewritten = true;
	o->state = OBJECT_GONE;
	return id;
}

static uint32_t object_here(struct object_table *t, const struct side_record *r, bool *is_new)
{
	uint32_t id = find_of_record(t, r);

	*is_new = id == OBJECT_NONE;
	if (*is_new)
		id = add_for(t, r->pid, r->name, r->maj, r->min, r->ino, r->ino_generation);
	if (*is_new && id != OBJECT_NONE)
		t->all.v[id]->since_ns = r->time_ns;
	return id;
}

/* Opens it if it never was. */
static struct object *see(struct object_table *t, uint32_t id, const struct side_record *r)
{
	struct object *o = t->all.v[id];

	o->pid = r->pid;
	if (!o->ino_generation)
		o->ino_generation = r->ino_generation;
	mark_used(t, o);
	o->was_idle = false;
	bool is_to_open = o->state == OBJECT_NEW || (o->state == OBJECT_GONE && !o->is_far);
	if (is_to_open && o->same_as == OBJECT_NONE) {
		struct object_place place = { r->pid, r->start, r->start + r->len, r->pgoff };

		object_open(t, o, &place);
	}
	return o;
}

uint32_t object_of_record(struct object_table *t, const struct side_record *r)
{
	uint32_t id = fileless_object(t, r->name, r->start);
	struct object *o = NULL;
	bool is_new = id != OBJECT_NONE;

	if (is_new)
		return id;
	while (!o || (o->is_rewritten && !is_new)) { /* an earlier mapping was of another content */
		id = object_here(t, r, &is_new);
		if (id == OBJECT_NONE)
			return OBJECT_NONE;
		o = see(t, id, r);
	}
	return file_stamp_is_newer(&o->stamp, r->time_ns) ? add_rewritten(t, r) : id;
}

void object_touch(struct object_table *t, const struct side_record *r)
{
	uint32_t id = r->ino ? object_index_find_inode(t, r->name, r->maj, r->min, r->ino,
						       r->ino_generation)
			     : OBJECT_NONE;

	if (id == OBJECT_NONE)
		return;
	t->all.v[id]->was_idle = false;
	mark_used(t, t->all.v[id]);
}

static uint32_t find_of_map(struct object_table *t, const struct proc_map *m)
{
	uint32_t id = object_index_find_inode(t, m->name, m->maj, m->min, m->ino, 0);

	if (id == OBJECT_NONE || !was_written(t, t->all.v[id]))
		return id;
	leave_rewritten(t, t->all.v[id]);
	return OBJECT_NONE;
}

uint32_t object_of_map(struct object_table *t, uint32_t pid, const struct proc_map *m)
{
	uint32_t id = fileless_object(t, m->name, m->start);

	if (id == OBJECT_NONE)
		id = find_of_map(t, m);
	if (id == OBJECT_NONE) {
		id = add_for(t, pid, m->name, m->maj, m->min, m->ino, 0);
		if (id != OBJECT_NONE)
			t->all.v[id]->since_ns = clock_mono_ns();
	}
	if (id == OBJECT_NONE)
		return OBJECT_NONE;
	t->all.v[id]->pid = pid;
	t->all.v[id]->was_idle = false;
	return id;
}

struct object *object_use(struct object_table *t, uint32_t id, const struct object_place *place)
{
	struct object *o = t->all.v[id];

	if (o->kind == OBJECT_FILE && o->state == OBJECT_NEW && o->same_as == OBJECT_NONE)
		object_open(t, o, place);
	if (o->same_as != OBJECT_NONE)
		o = t->all.v[o->same_as];
	mark_used(t, o);
	return o;
}

/* --- reading again ---------------------------------------------------------------------------- */

static void ask_again(struct object_table *t, struct object *o)
{
	const struct mapped_file f = {
		.pid = o->pid,
		.path = o->name,
		.build_id = o->build_id,
		.build_id_len = o->build_id_len,
		.maj = o->maj,
		.min = o->min,
		.ino = o->file_ino ? o->file_ino : o->ino,
	};

	if (o->opened) /* a file that was never opened is not requested at each sample */
		ask_far(t, o, &f);
}

int object_fd(struct object_table *t, struct object *o)
{
	struct stat st;

	if (was_written(t, o))
		leave_rewritten(t, o);
	if (o->fd >= 0 || o->is_rewritten || o->state == OBJECT_NEW || o->state == OBJECT_AWAITED ||
	    o->name[0] != '/')
		return o->fd;
	if (t->far) {
		ask_again(t, o);
		return o->fd;
	}
	for (int here = 0; here < 2; here++) {
		int fd = here ? plain_file_open(o->name, &st)
			      : process_root_open(o->pid, o->name, &st);

		if (fd >= 0 && is_unchanged(o, fd, &st)) {
			struct file_stamp stamp = file_stamp_of(&st); /* before it was read */

			keep_fd(t, o, fd, &stamp);
			return fd;
		}
		if (fd >= 0)
			close(fd);
	}
	return -1;
}
