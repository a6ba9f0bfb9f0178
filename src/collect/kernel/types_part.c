/* Selects types by the table's names, copies them, and renumbers their references.
 *
 * Reading all types (5 MB) takes 35 ms of CPU time, so the 45 KB that the table's rows name stay
 * in the cache directory, under a hash of the table and of the kernel's notes with its build id.
 * If they lack a group's types, or the programs do not load with them, all types are read: a
 * stored file never decides what a recording lacks. */
#include "collect/kernel/types_part.h"

#include "base/buf.h"
#include "base/cache_dir.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "collect/kernel/kernel_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define KERNEL_NOTES "/sys/kernel/notes"

/* --- selecting -------------------------------------------------------------------------------- */

enum root_kind { ROOT_STRUCTURE = 1, ROOT_TYPEDEF, ROOT_FUNCTION, ROOT_ENUM };

struct selection {
	const struct btf *whole;
	struct map roots;   /* hash of a name and its kind → 1 */
	uint32_t *new_ids;  /* by id: 0: not selected; first any other number, then its new id */
	VEC(uint32_t) open; /* selected; their references are not yet */
};

static uint64_t root_key(const char *name, size_t len, enum root_kind kind)
{
	return hash_mix(hash_bytes(name, len), kind);
}

static void add_root(struct selection *s, const char *name, size_t len, enum root_kind kind)
{
	map_put(&s->roots, root_key(name, len, kind), 1);
}

static void add_row(struct selection *s, const struct kernel_type_row *r)
{
	size_t len = strcspn(r->name, ".");
	char name[80];

	switch (r->kind) {
	case KERNEL_FIELD:
		add_root(s, r->name, len, ROOT_STRUCTURE);
		break;
	case KERNEL_TRACEPOINT:
		snprintf(name, sizeof name, "btf_trace_%.*s", (int)len, r->name);
		add_root(s, name, strlen(name), ROOT_TYPEDEF);
		break;
	case KERNEL_FUNCTION:
		add_root(s, r->name, len, ROOT_FUNCTION);
		break;
	case KERNEL_HELPER:
	case KERNEL_MAP_TYPE:
		break;
	}
}

/* Besides the rows of the table. */
static const struct {
	const char *name;
	enum root_kind kind;
} more_roots[] = {
	{ "bpf_func_id", ROOT_ENUM },
	{ "bpf_map_type", ROOT_ENUM },
	{ "task_struct", ROOT_STRUCTURE },
	{ "pt_regs", ROOT_STRUCTURE },
};
enum { MORE_ROOTS = sizeof more_roots / sizeof *more_roots };

static void add_roots(struct selection *s)
{
	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++)
		add_row(s, r);
	for (int i = 0; i < MORE_ROOTS; i++)
		add_root(s, more_roots[i].name, strlen(more_roots[i].name), more_roots[i].kind);
}

static enum root_kind kind_of(const struct btf_type *t)
{
	return btf_is_composite(t)  ? ROOT_STRUCTURE
	       : btf_is_typedef(t)  ? ROOT_TYPEDEF
	       : btf_is_func(t)     ? ROOT_FUNCTION
	       : btf_is_any_enum(t) ? ROOT_ENUM
				    : 0;
}

/* Flavours of a type, as "task_struct___old", are in objects only. */
static bool is_root(const struct selection *s, const struct btf_type *t)
{
	enum root_kind kind = kind_of(t);
	const char *name = kind ? btf__name_by_offset(s->whole, t->name_off) : NULL;

	return name && *name && map_get(&s->roots, root_key(name, strlen(name), kind));
}

static const struct btf_type *type_at(const struct selection *s, uint32_t id)
{
	return id && id < btf__type_cnt(s->whole) ? btf__type_by_id(s->whole, id) : NULL;
}

static void take(struct selection *s, uint32_t id)
{
	if (!type_at(s, id) || s->new_ids[id])
		return;
	s->new_ids[id] = 1;
	vec_push(&s->open, id);
}

/* Takes a pointer's target if it is a type of the table, or a function's arguments. */
static void take_target(struct selection *s, uint32_t id, bool is_tracepoint)
{
	enum { MOST = 32 };
	uint32_t chain[MOST];
	int n = 0;

	for (const struct btf_type *t; (t = type_at(s, id)) && n < MOST; id = t->type) {
		chain[n++] = id;
		if (!btf_is_mod(t)) {
			bool wanted = is_root(s, t) || (is_tracepoint && btf_is_func_proto(t));
			for (int i = 0; wanted && i < n; i++)
				take(s, chain[i]);
			return;
		}
	}
}

static void take_trace_typedef(struct selection *s, const struct btf_type *t)
{
	const struct btf_type *to = type_at(s, t->type);

	if (to && btf_is_ptr(to))
		take_target(s, to->type, true);
}

static void take_members(struct selection *s, const struct btf_type *t)
{
	for (int i = 0; i < btf_vlen(t); i++)
		take(s, btf_members(t)[i].type);
}

static void take_params(struct selection *s, const struct btf_type *t)
{
	for (int i = 0; i < btf_vlen(t); i++)
		take(s, btf_params(t)[i].type);
}

/* Takes what a type refers to. */
static void take_references(struct selection *s, const struct btf_type *t)
{
	if (btf_is_composite(t)) {
		take_members(s, t);
	} else if (btf_is_array(t)) {
		take(s, btf_array(t)->type);
		take(s, btf_array(t)->index_type);
	} else if (btf_is_ptr(t)) {
		take_target(s, t->type, false);
	} else if (btf_is_func_proto(t)) {
		take(s, t->type);
		take_params(s, t);
	} else if (btf_is_mod(t) || btf_is_typedef(t) || btf_is_func(t)) {
		if (btf_is_typedef(t) && is_root(s, t))
			take_trace_typedef(s, t);
		take(s, t->type);
	}
}

static void select_types(struct selection *s)
{
	uint32_t n = btf__type_cnt(s->whole), next = 1;

	for (uint32_t id = 1; id < n; id++)
		if (is_root(s, btf__type_by_id(s->whole, id)))
			take(s, id);
	while (s->open.n)
		take_references(s, type_at(s, s->open.v[--s->open.n]));
	for (uint32_t id = 1; id < n; id++)
		if (s->new_ids[id])
			s->new_ids[id] = next++;
}

/* --- copying ---------------------------------------------------------------------------------- */

/* A type that was not taken is the target of a pointer: void. */
static void renumber_one(const struct selection *s, uint32_t *id)
{
	*id = *id < btf__type_cnt(s->whole) ? s->new_ids[*id] : 0;
}

static void renumber(const struct selection *s, struct btf_type *t)
{
	if (btf_is_composite(t)) {
		for (int i = 0; i < btf_vlen(t); i++)
			renumber_one(s, &btf_members(t)[i].type);
	} else if (btf_is_array(t)) {
		renumber_one(s, &btf_array(t)->type);
		renumber_one(s, &btf_array(t)->index_type);
	} else if (btf_is_func_proto(t)) {
		renumber_one(s, &t->type);
		for (int i = 0; i < btf_vlen(t); i++)
			renumber_one(s, &btf_params(t)[i].type);
	} else if (btf_is_ptr(t) || btf_is_mod(t) || btf_is_typedef(t) || btf_is_func(t)) {
		renumber_one(s, &t->type);
	}
}

static bool copy_types(const struct selection *s, struct btf *part)
{
	for (uint32_t id = 1; id < btf__type_cnt(s->whole); id++) {
		if (!s->new_ids[id])
			continue;
		int copied = btf__add_type(part, s->whole, btf__type_by_id(s->whole, id));
		if (copied < 0 || (uint32_t)copied != s->new_ids[id])
			return false;
		renumber(s, (struct btf_type *)btf__type_by_id(part, copied));
	}
	return true;
}

struct btf *types_part_make(const struct btf *whole)
{
	struct selection s = { .whole = whole };
	struct btf *part = btf__new_empty();

	if (!part)
		return NULL;
	s.new_ids = xcalloc(btf__type_cnt(whole), sizeof *s.new_ids);
	add_roots(&s);
	select_types(&s);
	if (!copy_types(&s, part)) {
		btf__free(part);
		part = NULL;
	}
	map_done(&s.roots);
	vec_done(&s.open);
	free(s.new_ids);
	return part;
}

/* --- on disk ---------------------------------------------------------------------------------- */

enum { PART_MAX_BYTES = 16 << 20, NOTES_MAX_BYTES = 1 << 16 };
struct part_header {
	char magic[8];
	uint64_t needs, whole_bytes, sum;
};
#define PART_MAGIC "CRTYPES"
/* limit: stored types of all kernels and versions of cresset */
enum { PARTS_MAX_BYTES = 4 << 20 };

/* The notes of a kernel contain its build id. */
struct part_key {
	uint64_t notes, needs; /* hashes of the notes and of all roots */
	uint64_t whole_bytes;  /* of the kernel's types */
	char suffix[24];
};

static uint64_t hash_needs(void)
{
	uint64_t hash = 0;

	for (const struct kernel_type_row *r = kernel_type_rows; r->name; r++)
		hash = hash_mix(hash, hash_mix(hash_bytes(r->name, strlen(r->name)), r->kind));
	for (int i = 0; i < MORE_ROOTS; i++)
		hash = hash_mix(hash, root_key(more_roots[i].name, strlen(more_roots[i].name),
					       more_roots[i].kind));
	return hash;
}

static bool make_key(struct part_key *k)
{
	struct buf notes = { 0 };
	struct stat st;

	*k = (struct part_key){ .needs = hash_needs() };
	if (fs_read_at(AT_FDCWD, KERNEL_NOTES, NOTES_MAX_BYTES, &notes, NULL) || !notes.len ||
	    stat(KERNEL_TYPES, &st)) {
		buf_done(&notes);
		return false;
	}
	k->notes = hash_bytes(notes.data, notes.len);
	k->whole_bytes = st.st_size;
	snprintf(k->suffix, sizeof k->suffix, "-%016" PRIx64, k->needs);
	buf_done(&notes);
	return true;
}

static uint64_t sum_of(const struct part_header *h, const void *types, size_t len)
{
	return hash_mix(hash_mix(h->needs, h->whole_bytes), hash_bytes(types, len));
}

/* Returns the types in a cache file, in b; NULL: not of this kernel or program, or damaged. */
static const void *read_part(const struct buf *b, const struct part_key *k, size_t *len)
{
	struct part_header h;

	if (b->len < sizeof h)
		return NULL;
	memcpy(&h, b->data, sizeof h);
	*len = b->len - sizeof h;
	if (memcmp(h.magic, PART_MAGIC, sizeof h.magic) != 0 || h.needs != k->needs ||
	    h.whole_bytes != k->whole_bytes || sum_of(&h, b->data + sizeof h, *len) != h.sum)
		return NULL;
	return b->data + sizeof h;
}

static void save(int dir, const struct part_key *k, const void *types, size_t len)
{
	struct part_header h = { .magic = PART_MAGIC,
				 .needs = k->needs,
				 .whole_bytes = k->whole_bytes };
	struct cache_file f;

	h.sum = sum_of(&h, types, len);
	if (cache_file_create(dir, &k->notes, sizeof k->notes, k->suffix, &f) < 0)
		return;
	if (fs_write_fd(f.fd, &h, sizeof h) || fs_write_fd(f.fd, types, len))
		cache_file_abort(&f);
	else if (cache_file_commit(&f, false) == 0)
		cache_dir_trim(dir, PARTS_MAX_BYTES);
}

/* --- a file in memory ------------------------------------------------------------------------- */

static bool put_file(struct types_part *t, const void *types, size_t len)
{
	int fd = memfd_create("kernel-types", MFD_CLOEXEC);

	if (fd >= 0 && fs_write_fd(fd, types, len) == 0) {
		t->fd = fd;
		snprintf(t->path, sizeof t->path, "/proc/self/fd/%d", fd);
		return true;
	}
	if (fd >= 0)
		close(fd);
	return false;
}

static bool load(struct types_part *t, int dir, const struct part_key *k)
{
	struct buf b = { 0 };
	size_t len;
	int fd = cache_file_open(dir, &k->notes, sizeof k->notes, k->suffix);
	bool good = false;

	if (fd < 0)
		return false;
	if (fs_read_fd(fd, PART_MAX_BYTES, &b, NULL) == 0) {
		const void *types = read_part(&b, k, &len);

		good = types && put_file(t, types, len);
	}
	close(fd);
	buf_done(&b);
	return good;
}

/* Returns whether the part lacks what all types lack, and nothing else. */
static bool is_enough(const struct btf *part, const struct btf *whole)
{
	struct kernel_verdict *verdicts = xcalloc(2, sizeof *verdicts), *a = verdicts, *b = a + 1;

	kernel_types_check(part, a);
	kernel_types_check(whole, b);
	bool is_same = a->lost == b->lost && a->n == b->n;
	for (size_t i = 0; is_same && i < a->n; i++)
		is_same = a->lacks[i].row == b->lacks[i].row;
	free(verdicts);
	return is_same;
}

static void make(struct types_part *t, int dir, const struct part_key *k)
{
	struct btf *whole = btf__load_vmlinux_btf();
	struct btf *part = whole ? types_part_make(whole) : NULL;
	__u32 len;

	if (part && !is_enough(part, whole)) {
		btf__free(part);
		part = NULL;
	}
	const void *types = part ? btf__raw_data(part, &len) : NULL;

	if (types && put_file(t, types, len) && dir >= 0)
		save(dir, k, types, len);
	btf__free(part);
	btf__free(whole);
}

void types_part_open(struct types_part *t, const char *cache_root)
{
	struct part_key k;
	bool has_key = make_key(&k);
	int dir = has_key && cache_root ? cache_dir_open(cache_root, TYPES_PART_CACHE, NULL) : -1;

	*t = (struct types_part){ 0 };
	if (dir < 0 || !load(t, dir, &k))
		make(t, dir, &k);
	if (dir >= 0)
		close(dir);
}

void types_part_close(struct types_part *t)
{
	if (*t->path)
		close(t->fd);
	*t = (struct types_part){ 0 };
}
