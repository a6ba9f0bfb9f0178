/* HotSpot as a row of runtimes[]. */
#include "runtime/hotspot_parts.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "runtime/layout_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- names ------------------------------------------------------------------------------------ */

/* The methods seen in frames of a process: names, files and line tables are made once. */

/* Limits per process. When one is reached, all entries are dropped before the next frame is
 * named; callers cache the frames' names, so that is rare. */
/* limit HOTSPOT_MAX_KEPT_BYTES: bytes stored of a process's methods */
enum { HOTSPOT_MAX_KEPT = 4096, HOTSPOT_MAX_USES = 8192, HOTSPOT_MAX_KEPT_BYTES = 512 << 10 };

struct hotspot_names { /* zeroed = empty */
	VEC(struct hotspot_method) v;
	struct map by_hash; /* the key is hotspot_method_hash */
	/* The key is Method and compile id. The Methods of an nmethod live as long as it does. */
	struct map by_use;
	size_t bytes;
};

static void names_done(struct hotspot_names *n)
{
	for (size_t i = 0; i < n->v.n; i++)
		hotspot_method_done(&n->v.v[i]);
	vec_done(&n->v);
	map_done(&n->by_hash);
	map_done(&n->by_use);
	n->bytes = 0;
}

static void names_limit(struct hotspot_names *n)
{
	if (n->v.n >= HOTSPOT_MAX_KEPT || n->by_use.n >= HOTSPOT_MAX_USES ||
	    n->bytes >= HOTSPOT_MAX_KEPT_BYTES)
		names_done(n);
}

static const struct hotspot_method *names_get(const struct hotspot_names *n, const struct map *by,
					      uint64_t key)
{
	const uint32_t *at = map_get(by, key);

	return at ? &n->v.v[*at] : NULL;
}

/* Takes ownership of the method. */
static const struct hotspot_method *names_add(struct hotspot_names *n, uint64_t hash,
					      struct hotspot_method method)
{
	map_put(&n->by_hash, hash, n->v.n);
	vec_push(&n->v, method);
	n->bytes += hotspot_method_size(&method);
	return &n->v.v[n->v.n - 1];
}

/* --- objects ---------------------------------------------------------------------------------- */

struct runtime {
	struct runtime_maps maps;
	struct layout_set layouts;
	struct hotspot_pool copies;
};

struct runtime_process {
	struct runtime *runtime;
	uint32_t pid;
	struct runtime_memory memory;
	struct hotspot_offsets offsets;
	uint16_t version;
	struct hotspot_process row; /* as the walker has it */
	bool has_row;
	char release[64]; /* as the VM states it */
	struct hotspot_names names;
	struct hotspot_copies copies;
	uint64_t nmethod_names[2]; /* names of blobs that are nmethods, as seen so far */
	struct runtime_counts counts;
	char stub[HOTSPOT_MAX_BLOB_NAME + 16]; /* the name of the last one */
};

static int detect(const struct elf_file *f, const char *path, struct runtime_object **out,
		  struct err *err)
{
	struct runtime_object o;
	int rc = hotspot_file_read(f, &o.file, err);

	(void)path;
	if (rc == 0)
		*out = xmemdup(&o, sizeof o);
	return rc;
}

static void object_free(struct runtime_object *o)
{
	free(o);
}

static struct runtime *runtime_open(const struct runtime_maps *maps)
{
	struct runtime *r = xcalloc(1, sizeof *r);

	r->maps = *maps;
	layout_set_init(&r->layouts, HOTSPOT_LAYOUTS, sizeof(struct hotspot_layout),
			HOTSPOT_MAX_LAYOUTS);
	return r;
}

static void runtime_close(struct runtime *r)
{
	if (r)
		layout_set_done(&r->layouts);
	free(r);
}

/* --- a process -------------------------------------------------------------------------------- */

static int read_version(struct runtime_process *p, struct err *err)
{
	int rc = hotspot_version_read(&p->offsets, &p->memory, &p->version);

	if (rc == -EAGAIN)
		return err_set(err, EAGAIN, "HotSpot has not started yet");
	if (rc == -ENOTSUP)
		return err_set(err, ENOTSUP, "HotSpot of an unknown version");
	return rc < 0 ? err_set(err, -rc, "HotSpot's version cannot be read: %s", strerror(-rc))
		      : 0;
}

/* For display only: "17.0.15+6-Debian-1deb12u1". */
static void read_release(struct runtime_process *p)
{
	char text[HOTSPOT_MAX_BLOB_NAME];
	uint64_t at = 0;
	size_t n = 0;

	if (!p->offsets.vm_release_at ||
	    p->memory.read(p->memory.ctx, p->offsets.vm_release_at, &at, sizeof at) < 0 || !at ||
	    hotspot_blob_name(&p->memory, at, text) < 0)
		return;
	for (const char *c = text; *c > ' ' && *c < 127 && n < sizeof p->release - 1; c++)
		p->release[n++] = *c;
}

static int attach_place(struct runtime_process *p, const struct runtime_place *place,
			struct err *err)
{
	struct hotspot_at at = { .file = &place->object->file };
	struct hotspot_layout layout;
	int rc;

	if (!mapped_code_bias(&at.file->code, place->start, place->pgoff, &at.bias))
		return err_set(err, ENOENT, "its code is not mapped");
	if ((rc = hotspot_offsets_read(&at, &p->memory, &p->offsets, err)) < 0 ||
	    (rc = read_version(p, err)) < 0 ||
	    (rc = hotspot_heaps_read(&p->offsets, &p->memory, &p->row, err)) < 0)
		return rc;
	if (!hotspot_layout_of(&p->offsets, p->version, &layout))
		return err_set(err, ENOTSUP, "HotSpot %u's fields have an unknown size",
			       p->version);
	rc = layout_set_add(&p->runtime->layouts, &p->runtime->maps, &layout);
	if (rc < 0)
		return err_set(err, -rc, "no memory for its layout: %s", strerror(-rc));
	p->row.layout = rc;
	read_release(p);
	return 0;
}

static void detach(struct runtime_process *p)
{
	if (!p)
		return;
	if (p->has_row)
		p->runtime->maps.drop(p->runtime->maps.ctx, HOTSPOT_PROCESSES, p->pid);
	names_done(&p->names);
	hotspot_copies_done(&p->copies);
	free(p);
}

/* A process has one VM: the first libjvm that has started. If none can be walked, returns the first
 * error. */
static int attach(struct runtime *runtime, uint32_t pid, const struct runtime_place *places,
		  size_t n, const struct runtime_memory *memory, struct runtime_process **out,
		  struct err *err)
{
	struct runtime_process *p = xcalloc(1, sizeof *p);
	struct err first = { 0 };
	int rc = -ENODATA, why = n ? 0 : err_set(&first, ENODATA, "HotSpot is not in the process");

	p->runtime = runtime;
	p->pid = pid;
	p->memory = *memory;
	p->copies.pool = &runtime->copies;
	for (size_t i = 0; i < n && rc < 0; i++) {
		rc = attach_place(p, &places[i], why ? NULL : &first);
		why = why ? why : rc;
	}
	if (rc < 0) {
		if (err)
			*err = first;
		detach(p);
		return why;
	}
	rc = runtime->maps.put(runtime->maps.ctx, HOTSPOT_PROCESSES, pid, &p->row, sizeof p->row);
	if (rc < 0) {
		detach(p);
		return err_set(err, -rc, "no memory for the process: %s", strerror(-rc));
	}
	p->has_row = true;
	*out = p;
	return 0;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Memory of code and classes that were unloaded is unmapped. */
static enum runtime_named named_by(int rc)
{
	if (rc == 0)
		return RUNTIME_NAMED;
	return rc == -ESTALE || rc == -EFAULT ? RUNTIME_GONE : RUNTIME_UNREADABLE;
}

/* Reads a method, or finds it among those read before. */
static int find_method(struct runtime_process *p, uint64_t addr, const uint32_t *stamp,
		       const struct hotspot_method **out)
{
	struct hotspot_method_head head;
	struct hotspot_method method;
	int rc = hotspot_method_head_read(&p->offsets, &p->memory, addr, stamp, &head);

	if (rc < 0)
		return rc;
	uint64_t hash = hotspot_method_hash(&head);
	*out = names_get(&p->names, &p->names.by_hash, hash);
	if (*out)
		return 0;
	rc = hotspot_method_read(&p->offsets, p->version, &p->memory, &head, &method);
	if (rc == 0)
		*out = names_add(&p->names, hash, method);
	return rc;
}

static struct runtime_frame frame_of(const struct runtime_process *p,
				     const struct hotspot_method *m, int32_t bci)
{
	struct runtime_frame f = { .name = m->name, .file = m->file, .start_line = m->first_line };

	if (m->lines && bci < m->code_size)
		f.line = hotspot_line(p->version, m->lines, m->lines_size, bci);
	return f;
}

static int name_interpreted(struct runtime_process *p, const uint64_t words[2],
			    struct runtime_frames *out)
{
	uint64_t addr = RUNTIME_ADDRESS_OF(words[0]), constant;
	uint32_t stamp = RUNTIME_STAMP_OF(words[1]);
	const struct hotspot_method *method;
	int rc = find_method(p, addr, &stamp, &method);

	if (rc < 0)
		return rc;
	out->v[0] = frame_of(p, method, (int32_t)RUNTIME_OFFSET_OF(words[1]));
	out->n = 1;
	rc = hotspot_read(&p->memory, addr, p->offsets.method_const, &constant);
	return rc < 0 ? rc : (uint32_t)constant == stamp ? 0 : -ESTALE;
}

/* The Method of an nmethod. Sets *is_new if it was read: the nmethod has to be alive afterwards. */
static int find_compiled(struct runtime_process *p, uint64_t addr, uint32_t compile_id,
			 const struct hotspot_method **out, bool *is_new)
{
	struct hotspot_names *n = &p->names;
	uint64_t use = hash_mix(addr, compile_id);
	int rc;

	*out = names_get(n, &n->by_use, use);
	if (*out)
		return 0;
	*is_new = true;
	rc = find_method(p, addr, NULL, out);
	if (rc == 0)
		map_put(&n->by_use, use, *out - n->v.v);
	return rc;
}

static int name_scopes(struct runtime_process *p, const struct hotspot_nmethod *nmethod,
		       const struct runtime_memory *tables, uint32_t offset, bool is_leaf,
		       struct runtime_frames *out, bool *is_new)
{
	struct hotspot_scope scopes[RUNTIME_MAX_INLINED];
	const struct hotspot_method *method;
	uint32_t n;
	int rc = hotspot_scopes_read(&p->offsets, p->version, tables, nmethod, offset, is_leaf,
				     scopes, &n);

	if (rc < 0)
		return rc;
	for (uint32_t i = 0; i < n; i++) {
		rc = find_compiled(p, scopes[i].method, nmethod->compile_id, &method, is_new);
		if (rc < 0)
			return rc;
		out->v[i] = frame_of(p, method, scopes[i].bci);
	}
	out->n = n;
	return 0;
}

static bool is_nmethod(struct runtime_process *p, uint64_t name)
{
	uint64_t *known = p->nmethod_names;

	if (name == known[0] || name == known[1])
		return true;
	if (!hotspot_is_nmethod(&p->memory, name))
		return false;
	known[1] = known[0];
	known[0] = name;
	return true;
}

/* Whether the nmethod is the same as before: then all data read in the meantime belong to it. */
static int check_same(struct runtime_process *p, uint64_t addr,
		      const struct hotspot_nmethod *before)
{
	struct hotspot_nmethod now;
	int rc = hotspot_nmethod_read(&p->offsets, p->version, &p->memory, addr, before->compile_id,
				      &now);

	return rc < 0 ? rc : memcmp(before, &now, sizeof now) != 0 ? -ESTALE : 0;
}

/* Finds the tables of an nmethod, or copies them. Returns 0 with *copy NULL if they are too large
 * for that. */
static int find_tables(struct runtime_process *p, uint64_t addr, uint32_t id,
		       struct hotspot_nmethod *nmethod, struct hotspot_copy **copy)
{
	int rc;

	*copy = hotspot_copies_find(&p->copies, addr, id);
	if (*copy) {
		*nmethod = *hotspot_copy_nmethod(*copy);
		return 0;
	}
	rc = hotspot_nmethod_read(&p->offsets, p->version, &p->memory, addr, id, nmethod);
	if (rc == 0 && !is_nmethod(p, nmethod->name))
		rc = -ESTALE;
	if (rc < 0)
		return rc;
	rc = hotspot_copy_read(addr, nmethod, p->offsets.pc_bytes, &p->memory, copy);
	if (rc == -E2BIG)
		return 0;
	int same = check_same(p, addr, nmethod);
	if (rc == 0 && same == 0)
		hotspot_copies_add(&p->copies, *copy);
	else if (rc == 0)
		free(*copy);
	return same < 0 ? same : rc;
}

static int name_compiled(struct runtime_process *p, const uint64_t words[2], bool is_leaf,
			 struct runtime_frames *out)
{
	uint64_t addr = RUNTIME_ADDRESS_OF(words[0]);
	struct hotspot_nmethod nmethod;
	struct hotspot_copy *copy;
	int rc = find_tables(p, addr, RUNTIME_STAMP_OF(words[1]), &nmethod, &copy);

	if (rc < 0)
		return rc;
	struct runtime_memory tables = copy ? hotspot_copy_memory(copy) : p->memory;
	bool is_read = !copy;
	rc = name_scopes(p, &nmethod, &tables, RUNTIME_OFFSET_OF(words[1]), is_leaf, out, &is_read);
	int same = is_read ? check_same(p, addr, &nmethod) : 0;
	if (same < 0)
		return same;
	/* An nmethod that is alive before and after is not gone. */
	return rc == -ESTALE || rc == -EFAULT ? -EBADMSG : rc;
}

/* Stubs are never freed, adapters seldom: a name without a stamp is one of a kind of code. */
static int name_stub(struct runtime_process *p, const uint64_t words[2], struct runtime_frames *out)
{
	uint64_t addr = RUNTIME_ADDRESS_OF(words[0]);
	char name[HOTSPOT_MAX_BLOB_NAME];
	struct hotspot_blob blob;
	int rc = hotspot_blob_read(&p->offsets, &p->memory, addr, &blob);

	if (rc < 0 || (rc = hotspot_blob_name(&p->memory, blob.name, name)) < 0)
		return rc;
	if (!*name)
		return -EBADMSG;
	for (char *c = name; *c; c++)
		*c = *c >= ' ' && *c < 127 ? *c : '?';
	snprintf(p->stub, sizeof p->stub, "[stub: %s]", name);
	out->v[0] = (struct runtime_frame){ .name = p->stub };
	out->n = 1;
	return 0;
}

static enum runtime_named name_frame(struct runtime_process *p, const uint64_t words[2],
				     struct runtime_frames *out)
{
	uint32_t kind = RUNTIME_KIND_OF(words[0]);
	enum runtime_named named;
	int rc = -EBADMSG;

	out->n = 0;
	names_limit(&p->names);
	if (kind == HOTSPOT_INTERPRETED)
		rc = name_interpreted(p, words, out);
	else if (kind == HOTSPOT_COMPILED || kind == HOTSPOT_COMPILED_LEAF)
		rc = name_compiled(p, words, kind == HOTSPOT_COMPILED_LEAF, out);
	else if (kind == HOTSPOT_STUB)
		rc = name_stub(p, words, out);
	named = named_by(rc);
	if (named == RUNTIME_NAMED && kind == HOTSPOT_STUB)
		named = RUNTIME_OWN;
	p->counts.frames[named]++;
	return named;
}

/* --- display ---------------------------------------------------------------------------------- */

static void describe(const struct runtime_process *p, struct buf *out)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < p->row.n_ranges; i++)
		bytes += p->row.ranges[i].end - p->row.ranges[i].start;
	buf_addf(out, "HotSpot %u", p->version);
	if (*p->release)
		buf_addf(out, " (%s)", p->release);
	buf_addf(out, ", identified by gHotSpotVMStructs; %u code heap%s of %llu MB reserved",
		 p->row.n_ranges, p->row.n_ranges == 1 ? "" : "s",
		 (unsigned long long)(bytes >> 20));
	if (p->version > HOTSPOT_NEWEST_VERSION)
		buf_adds(out, "; newer than all known versions, read as the newest of them");
	buf_addc(out, '\n');
}

/* Methods of all heaps that are compiled now, each as a leaf at the start of its code. */
static size_t look(const struct runtime_process *p, uint64_t (*words)[2], size_t max,
		   size_t *threads)
{
	uint64_t *blobs = xcalloc(HOTSPOT_MAX_LOOKED, sizeof *blobs);
	size_t n_blobs =
		hotspot_blobs_list(&p->offsets, &p->row, &p->memory, blobs, HOTSPOT_MAX_LOOKED);
	size_t n = 0;

	*threads = 0;
	for (size_t i = 0; i < n_blobs && n < max; i++) {
		struct hotspot_blob b;

		if (hotspot_blob_read(&p->offsets, &p->memory, blobs[i], &b) < 0 ||
		    !hotspot_is_nmethod(&p->memory, b.name))
			continue;
		words[n][0] = runtime_frame_what(RUNTIME_HOTSPOT, HOTSPOT_COMPILED_LEAF, b.addr);
		words[n++][1] =
			runtime_frame_place(hotspot_get(b.bytes, p->offsets.nmethod_compile_id), 0);
	}
	free(blobs);
	return n;
}

static const struct runtime_counts *counts(const struct runtime_process *p)
{
	return &p->counts;
}

const struct runtime_kind hotspot_runtime = {
	.name = "HotSpot",
	.language = "java",
	.file_name = "libjvm",
	.detect = detect,
	.object_free = object_free,
	.open = runtime_open,
	.close = runtime_close,
	.attach = attach,
	.detach = detach,
	.name_frame = name_frame,
	.makes_code = true,
	.look = look,
	.describe = describe,
	.counts = counts,
};
