// tier: test
/* Ids of stacks: known bytes, and the same stack in profiles with other numbers, written, read and merged. */
#include "profile/frame.h"
#include "profile/names.h"
#include "profile/profile.h"
#include "profile/sink.h"
#include "profile/stack_id.h"
#include "rand.h"
#include "unit.h"

#include <xxhash.h>

/* --- known bytes ------------------------------------------------------------------------------ */

static const char *id_text(const struct profile *p, uint32_t stack)
{
	static char text[STACK_ID_TEXT_BYTES];
	struct stack_ids ids = { 0 };
	struct stack_id id = stack_id_of(&ids, p, stack);

	stack_id_text(&id, text);
	stack_ids_done(&ids);
	return text;
}

static void hash_to(const void *data, size_t len, uint8_t out[16])
{
	XXH128_hash_t h = XXH3_128bits(data, len);

	for (int i = 0; i < 8; i++) {
		out[i] = h.high64 >> (56 - 8 * i);
		out[8 + i] = h.low64 >> (56 - 8 * i);
	}
}

static const struct mapping app = { .flags = 0, .build_id_len = 4, .build_id = "\xde\xad\xbe\xef" };

START_TEST(known)
{
	/* as in the header: kind, 'B', build id, offset; kind, 'N', names with NULs, line */
	static const char native[] = "\0B\xde\xad\xbe\xef\x34\x12\0\0\0\0\0\0";
	static const char named[] = "\3Nmain\0a.py\0\0\7\0\0\0";
	static const char file[] = "\0F/bin/x\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0";
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	uint8_t parts[3][16], whole[16];
	char text[33];

	_Static_assert(FRAME_NATIVE == 0 && FRAME_PYTHON == 3, "ids are for good");
	struct mapping other = { .name = sink_string(s, "/bin/x"), .identity = 1 };
	uint32_t frames[] = {
		s->ops->frame(s, &(struct frame){ .kind = FRAME_PYTHON,
						  .mapping = MAPPING_NONE,
						  .function = sink_string(s, "main"),
						  .file = sink_string(s, "a.py"),
						  .line = 7 }),
		s->ops->frame(s, &(struct frame){ .mapping = s->ops->mapping(s, &app),
						  .offset = 0x1234 }),
		s->ops->frame(
			s, &(struct frame){ .mapping = s->ops->mapping(s, &other), .offset = 2 }),
	};
	hash_to(named, sizeof named - 1, parts[0]);
	hash_to(native, sizeof native - 1, parts[1]);
	hash_to(file, sizeof file - 1, parts[2]);
	hash_to(parts, sizeof parts, whole);
	for (int i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", whole[i]);
	ck_assert_str_eq(id_text(p, s->ops->stack(s, frames, 3)), text);
	/* XXH3-128 of nothing, as xxhsum -H128 prints it. */
	ck_assert_str_eq(id_text(p, 0), "99aa06d3014798d86001c324468d497f");
	profile_free(p);
}
END_TEST

/* --- two machines ------------------------------------------------------------------------------ */

enum { N_FRAMES = 40, N_STACKS = 200, DEPTH = 12 };

/* Frame i: three kinds of identities. */
static uint32_t add_frame(struct sink *s, uint32_t i)
{
	char name[32];
	struct mapping m = { .build_id_len = 1 + i % 3, .build_id = { 7, 8, 9 } };
	struct frame f = { .kind = i % 2 ? FRAME_NATIVE : FRAME_GO, .offset = i };

	snprintf(name, sizeof name, "f%u", i);
	if (i % 5 == 0)
		f = (struct frame){ .kind = FRAME_JS,
				    .mapping = MAPPING_NONE,
				    .function = sink_string(s, name),
				    .line = i };
	else
		f.mapping = s->ops->mapping(s, &m);
	return s->ops->frame(s, &f);
}

static void make_stack(struct sink *s, uint32_t n, uint32_t *stack)
{
	struct rng r = { n + 1 };
	uint32_t frames[DEPTH], depth = 1 + rng_below(&r, DEPTH);

	for (uint32_t i = 0; i < depth; i++)
		frames[i] = add_frame(s, rng_below(&r, N_FRAMES));
	*stack = s->ops->stack(s, frames, depth);
}

START_TEST(any_order)
{
	struct profile *a = profile_new(), *b = profile_new();
	struct stack_ids ids_a = { 0 }, ids_b = { 0 };
	uint32_t in_a[N_STACKS], in_b[N_STACKS];

	add_frame(profile_sink(b), N_FRAMES + 1); /* numbers differ there */
	for (uint32_t i = 0; i < N_STACKS; i++)
		make_stack(profile_sink(a), i, &in_a[i]);
	for (uint32_t i = N_STACKS; i-- > 0;)
		make_stack(profile_sink(b), i, &in_b[i]);
	for (uint32_t i = 0; i < N_STACKS; i++) {
		struct stack_id x = stack_id_of(&ids_a, a, in_a[i]);
		struct stack_id y = stack_id_of(&ids_b, b, in_b[i]);
		ck_assert_mem_eq(x.bytes, y.bytes, sizeof x.bytes);
	}
	for (uint32_t i = 0; i < N_STACKS; i++) /* equal ids are equal stacks */
		for (uint32_t j = 0; j < i; j++) {
			struct stack_id x = stack_id_of(&ids_a, a, in_a[i]);
			struct stack_id y = stack_id_of(&ids_a, a, in_a[j]);
			ck_assert((memcmp(&x, &y, sizeof x) == 0) == (in_a[i] == in_a[j]));
		}
	stack_ids_done(&ids_a);
	stack_ids_done(&ids_b);
	profile_free(a);
	profile_free(b);
}
END_TEST

/* Later names change nothing, nor do later frames. */
START_TEST(later)
{
	struct profile *p = profile_new();
	struct sink *s = profile_sink(p);
	struct stack_ids ids = { 0 };
	uint32_t stack, frame = add_frame(s, 1), more;

	stack = s->ops->stack(s, &frame, 1);
	struct stack_id before = stack_id_of(&ids, p, stack);
	struct function f = { .name = sink_string(s, "known_now") };
	struct line line = { .function = s->ops->function(s, &f), .line = 3 };
	s->ops->names(s, frame, &line, 1);
	make_stack(s, 9, &more);
	struct stack_id after = stack_id_of(&ids, p, stack);
	ck_assert_mem_eq(before.bytes, after.bytes, sizeof before.bytes);
	after = stack_id_of(&ids, p, more);
	ck_assert_mem_ne(before.bytes, after.bytes, sizeof before.bytes);
	stack_ids_done(&ids);
	profile_free(p);
}
END_TEST

UNIT_MAIN("stack_id", known, any_order, later)
