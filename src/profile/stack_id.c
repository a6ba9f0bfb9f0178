/* Hashes frame identities along the stack. */
#include "profile/stack_id.h"

#include "base/buf.h"
#include "profile/frame.h"
#include "profile/link.h"
#include "profile/profile.h"
#include "profile/stack.h"
#include "profile/strtab.h"

#include <string.h>
#include <xxhash.h>

_Static_assert(sizeof(struct stack_id) == STACK_ID_BYTES, "bytes without gaps");
_Static_assert(sizeof(XXH128_canonical_t) == STACK_ID_BYTES, "XXH3-128");

void stack_ids_done(struct stack_ids *s)
{
	vec_done(&s->frames);
	vec_done(&s->own);
	vec_done(&s->parts);
}

static struct stack_id id_of_bytes(const void *data, size_t len)
{
	XXH128_canonical_t canonical;
	struct stack_id id;

	XXH128_canonicalFromHash(&canonical, XXH3_128bits(data, len));
	memcpy(id.bytes, canonical.digest, sizeof id.bytes);
	return id;
}

static void put_int(struct buf *b, uint64_t v, int bytes)
{
	for (int i = 0; i < bytes; i++)
		buf_addc(b, (char)(v >> 8 * i));
}

/* Appends a string with its NUL. */
static void put_string(struct buf *b, const struct profile *p, uint32_t string)
{
	buf_add(b, profile_str(p, string), strtab_len(&p->strings, string));
	buf_addc(b, '\0');
}

static void put_place(struct buf *b, const struct profile *p, const struct frame *f)
{
	const struct mapping *m = &p->frames.mappings.v[f->mapping];

	if (m->build_id_len) {
		buf_addc(b, 'B');
		buf_add(b, m->build_id, m->build_id_len);
	} else if (m->build_id_text) {
		buf_addc(b, 'T');
		put_string(b, p, m->build_id_text);
	} else {
		buf_addc(b, 'F');
		put_string(b, p, m->name);
		put_int(b, m->identity, 8);
	}
	put_int(b, f->offset, 8);
}

static struct stack_id frame_id(const struct profile *p, uint32_t frame, struct buf *b)
{
	const struct frame *f = &p->frames.frames.v[frame];

	buf_clear(b);
	buf_addc(b, (char)f->kind);
	if (f->mapping != MAPPING_NONE) {
		put_place(b, p, f);
	} else {
		buf_addc(b, 'N');
		put_string(b, p, f->function);
		put_string(b, p, f->file);
		put_string(b, p, f->binary);
		put_int(b, f->line, 4);
	}
	return id_of_bytes(b->data, b->len);
}

struct stack_id stack_id_of(struct stack_ids *s, const struct profile *p, uint32_t stack)
{
	uint32_t depth = stack_depth(&p->stacks, stack);
	struct buf b = { 0 };
	for (uint32_t frame = s->frames.n; frame < p->frames.frames.n; frame++)
		vec_push(&s->frames, frame_id(p, frame, &b));
	buf_done(&b);
	vec_reserve(&s->own, depth);
	vec_clear(&s->parts);
	stack_frames(&p->stacks, stack, s->own.v);
	for (uint32_t i = 0; i < depth; i++)
		vec_push(&s->parts, s->frames.v[s->own.v[i]]);
	return id_of_bytes(s->parts.v, depth * sizeof *s->parts.v);
}

void stack_id_text(const struct stack_id *id, char out[STACK_ID_TEXT_BYTES])
{
	link_text(id->bytes, sizeof id->bytes, out);
}
