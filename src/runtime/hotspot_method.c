/* Reads Methods from a process. */
#include "runtime/hotspot_parts.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- symbols ---------------------------------------------------------------------------------- */

static int symbol_length(const struct hotspot_offsets *o, const struct runtime_memory *m,
			 uint64_t addr, uint64_t *out)
{
	int rc = hotspot_read(
		m, addr, o->symbol_length.size ? o->symbol_length : o->symbol_length_high, out);

	if (rc == 0 && !o->symbol_length.size)
		*out = *out >> 16 & UINT16_MAX;
	return rc;
}

static int symbol_read(const struct hotspot_offsets *o, const struct runtime_memory *m,
		       uint64_t addr, struct hotspot_symbol_text *out)
{
	uint64_t len;
	int rc = addr ? symbol_length(o, m, addr, &len) : -EBADMSG;

	if (rc < 0)
		return rc;
	out->is_cut = len > HOTSPOT_MAX_SYMBOL;
	out->len = out->is_cut ? HOTSPOT_MAX_SYMBOL : len;
	return out->len ? m->read(m->ctx, addr + o->symbol_body.at, out->text, out->len) : 0;
}

/* --- the constant pool ------------------------------------------------------------------------ */

struct pool {
	uint64_t addr, tags, holder, length;
	uint64_t source_file; /* an index; 0: unknown */
};

static int pool_read(const struct hotspot_offsets *o, const struct runtime_memory *m, uint64_t addr,
		     struct pool *out)
{
	uint8_t bytes[HOTSPOT_MAX_HEADER];
	int rc = addr ? m->read(m->ctx, addr, bytes, o->pool_bytes) : -EBADMSG;

	if (rc < 0)
		return rc;
	*out = (struct pool){
		.addr = addr,
		.tags = hotspot_get(bytes, o->pool_tags),
		.holder = hotspot_get(bytes, o->pool_holder),
		.length = hotspot_get(bytes, o->pool_length),
		.source_file = hotspot_get(bytes, o->pool_source_file),
	};
	return out->length && out->length <= UINT16_MAX + 1 && out->tags && out->holder ? 0
											: -EBADMSG;
}

/* The symbol at an index that is tagged as a text. */
static int pool_symbol(const struct hotspot_offsets *o, const struct runtime_memory *m,
		       const struct pool *p, uint64_t index, struct hotspot_symbol_text *out)
{
	enum { TAG_UTF8 = 1 };
	uint64_t symbol;
	uint8_t tag;
	int rc;

	if (!index || index >= p->length)
		return -EBADMSG;
	if ((rc = m->read(m->ctx, p->tags + o->tags_data.at + index, &tag, sizeof tag)) < 0 ||
	    (rc = m->read(m->ctx, p->addr + o->pool_bytes + index * 8, &symbol, sizeof symbol)) < 0)
		return rc;
	return tag == TAG_UTF8 ? symbol_read(o, m, symbol, out) : -EBADMSG;
}

static int class_name(const struct hotspot_offsets *o, const struct runtime_memory *m,
		      uint64_t klass, struct hotspot_symbol_text *out)
{
	uint64_t symbol;
	int rc = hotspot_read(m, klass, o->class_name, &symbol);

	return rc < 0 ? rc : symbol_read(o, m, symbol, out);
}

/* --- what a method is ------------------------------------------------------------------------- */

int hotspot_method_head_read(const struct hotspot_offsets *o, const struct runtime_memory *m,
			     uint64_t addr, const uint32_t *stamp, struct hotspot_method_head *out)
{
	uint8_t bytes[HOTSPOT_MAX_HEADER];
	struct pool pool;
	uint64_t constant;
	int rc = hotspot_read(m, addr, o->method_const, &constant);

	if (rc < 0)
		return rc;
	if (stamp && (uint32_t)constant != *stamp)
		return -ESTALE;
	if ((rc = m->read(m->ctx, constant, bytes, o->const_bytes)) < 0 ||
	    (rc = pool_read(o, m, hotspot_get(bytes, o->const_pool), &pool)) < 0)
		return rc;
	out->addr = addr;
	out->const_method = constant;
	out->pool = pool.addr;
	out->holder = pool.holder;
	out->code_size = hotspot_get(bytes, o->const_code_size);
	out->const_bytes = (uint32_t)hotspot_get(bytes, o->const_size) * 8;
	out->has_lines = hotspot_get(bytes, o->const_flags) & (uint32_t)o->has_lines;
	rc = class_name(o, m, pool.holder, &out->class_name);
	if (rc == 0)
		rc = pool_symbol(o, m, &pool, hotspot_get(bytes, o->const_name), &out->method);
	if (rc == 0)
		rc = pool_symbol(o, m, &pool, hotspot_get(bytes, o->const_signature),
				 &out->signature);
	if (rc == 0 && (!out->class_name.len || !out->method.len))
		rc = -EBADMSG;
	return rc;
}

uint64_t hotspot_method_hash(const struct hotspot_method_head *h)
{
	const struct hotspot_symbol_text *texts[] = { &h->class_name, &h->method, &h->signature };
	uint64_t hash = hash_mix(h->addr, h->const_method);

	hash = hash_mix(hash, h->pool);
	hash = hash_mix(hash, h->holder);
	hash = hash_mix(hash, (uint64_t)h->const_bytes << 32 | h->code_size);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		hash = hash_mix(hash, hash_bytes(texts[i]->text, texts[i]->len));
	return hash;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* NULL for a class without a source file, such as that of a lambda. */
static char *read_file(const struct hotspot_offsets *o, const struct runtime_memory *m,
		       const struct hotspot_method_head *h)
{
	struct hotspot_symbol_text text;
	struct buf out = { 0 };
	struct pool pool;

	if (pool_read(o, m, h->pool, &pool) < 0)
		return NULL;
	if (!o->pool_source_file.size &&
	    (!o->class_source_file.size ||
	     hotspot_read(m, h->holder, o->class_source_file, &pool.source_file) < 0))
		return NULL;
	if (!pool.source_file || pool_symbol(o, m, &pool, pool.source_file, &text) < 0 || !text.len)
		return NULL;
	hotspot_text_add(&out, &text);
	return buf_steal(&out);
}

/* The table is after the bytecode; its length is unknown: reads to the end of the ConstMethod. */
static void read_lines(const struct hotspot_offsets *o, uint16_t version,
		       const struct runtime_memory *m, const struct hotspot_method_head *h,
		       struct hotspot_method *out)
{
	uint32_t start = (uint32_t)o->const_bytes + h->code_size, size;

	if (!h->has_lines || !h->code_size || h->const_bytes <= start)
		return;
	size = h->const_bytes - start;
	size = size < HOTSPOT_MAX_LINES ? size : HOTSPOT_MAX_LINES;
	uint8_t *lines = xmalloc(size);
	if (m->read(m->ctx, h->const_method + start, lines, size) < 0) {
		free(lines);
		return;
	}
	out->lines_size = hotspot_lines_size(version, lines, size);
	out->lines = xmemdup(lines, out->lines_size);
	out->first_line = hotspot_line(version, out->lines, out->lines_size, -1);
	free(lines);
}

int hotspot_method_read(const struct hotspot_offsets *o, uint16_t version,
			const struct runtime_memory *m, const struct hotspot_method_head *h,
			struct hotspot_method *out)
{
	struct buf name = { 0 };

	if (!hotspot_method_name(&name, &h->class_name, &h->method, &h->signature)) {
		buf_done(&name);
		return -EBADMSG;
	}
	*out = (struct hotspot_method){ .name = buf_steal(&name),
					.file = read_file(o, m, h),
					.code_size = h->code_size };
	read_lines(o, version, m, h, out);
	return 0;
}

void hotspot_method_done(struct hotspot_method *m)
{
	free(m->name);
	free(m->file);
	free(m->lines);
	*m = (struct hotspot_method){ .name = NULL };
}

size_t hotspot_method_size(const struct hotspot_method *m)
{
	return sizeof *m + strlen(m->name) + (m->file ? strlen(m->file) : 0) + m->lines_size;
}
