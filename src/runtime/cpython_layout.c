/* Tables of offsets, and the table that the process itself has. */
#include "runtime/cpython_layout.h"

#include "base/err.h"

#include <errno.h>
#include <string.h>

#define V CPYTHON_VERSION

/* --- the table -------------------------------------------------------------------------------- */

/* Values shared by many versions: pointers are 8 bytes; an object starts with its reference count
 * and its type. */
#define OBJECTS     .type = 8, .bytes_size = 16, .bytes_data = 32, .str_length = 16, .str_state = 32
#define STRINGS_OLD .str_ascii = 48, .str_compact = 72 /* up to 3.11 also a wchar_t form */
#define STRINGS     .str_ascii = 40, .str_compact = 56
#define THREADS     .interp_next = 0, .thread_next = 8, .thread_interp = 16

/* Up to 3.10: frame objects. From 3.8 on code objects have more ints at the start: all later fields
 * are `by` bytes further. */
#define FRAME_OBJECTS(minor, more_flags, head_at, id_at, instr_at, executing_at, by) \
	{ \
		{ .version = V(3, minor), \
		  .flags = CPYTHON_FRAME_OBJECTS | (more_flags), \
		  THREADS, \
		  .interp_threads = 8, \
		  .thread_frame = 24, \
		  .thread_id = id_at, \
		  .frame_bytes = 128, \
		  .frame_previous = 24, \
		  .frame_code = 32, \
		  .frame_instr = instr_at, \
		  .frame_executing = executing_at, \
		  .code_first_line = 36 + (by) / 2, \
		  .code_file = 96 + (by), \
		  .code_name = 104 + (by), \
		  .code_lines = 112 + (by), \
		  .stamp_at = 32 + (by), \
		  .stamp_words = 11, \
		  OBJECTS, \
		  STRINGS_OLD }, \
			.head = head_at \
	}

/* From 3.11: frames, with 72 bytes before their variables. */
#define CODE_FROM_311 .code_file = 112, .code_name = 120, .code_qualname = 128, .code_lines = 136

static const struct cpython_shape table[] = {
	FRAME_OBJECTS(6, 0, 0, 152, 120, 0, 0),
	FRAME_OBJECTS(7, 0, 24, 176, 104, 0, 0),
	FRAME_OBJECTS(8, 0, 32, 176, 104, 0, 8),
	FRAME_OBJECTS(9, 0, 32, 176, 104, 116, 8),
	FRAME_OBJECTS(10, CPYTHON_UNITS, 32, 176, 96, 0, 8),
	{ { .version = V(3, 11),
	    .flags = CPYTHON_CFRAME | CPYTHON_ENTRY_IS_FRAME,
	    THREADS,
	    .interp_threads = 16,
	    .thread_frame = 56,
	    .thread_id = 152,
	    .cframe_frame = 8,
	    .cframe_previous = 16,
	    .frame_bytes = 72,
	    .frame_code = 32,
	    .frame_previous = 48,
	    .frame_instr = 56,
	    .frame_entry = 68,
	    .entry_from = 1,
	    .frame_owner = 69,
	    CODE_FROM_311,
	    .code_first_line = 72,
	    .code_first_traced = 168,
	    .code_instr = 184,
	    .stamp_at = 72,
	    .stamp_words = 9,
	    OBJECTS,
	    STRINGS_OLD },
	  .head = 40 },
	{ { .version = V(3, 12),
	    .flags = CPYTHON_CFRAME,
	    THREADS,
	    .interp_threads = 72,
	    .thread_frame = 56,
	    .thread_id = 136,
	    .cframe_frame = 0,
	    .cframe_previous = 8,
	    .frame_bytes = 72,
	    .frame_code = 0,
	    .frame_previous = 8,
	    .frame_instr = 56,
	    .frame_entry = 70,
	    .entry_from = 3,
	    .frame_owner = 70,
	    CODE_FROM_311,
	    .code_first_line = 68,
	    .code_first_traced = 176,
	    .code_instr = 192,
	    .stamp_at = 64,
	    .stamp_words = 10,
	    OBJECTS,
	    STRINGS },
	  .head = 40 },
};

bool cpython_layout_of(uint16_t version, struct cpython_shape *out)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		if (table[i].layout.version != version)
			continue;
		*out = table[i];
		out->is_known = true;
		return true;
	}
	return false;
}

/* --- offsets from the process ----------------------------------------------------------------- */

enum {
	SAID_COOKIE,
	SAID_VERSION,
	SAID_FREE_THREADED,
	SAID_RUNTIME_SIZE,
	SAID_HEAD = 5,
	SAID_INTERP
};
static const char cookie[8] = "xdebugpy";

/* The index of the first word of each structure that is read: each begins with its size. thread_id:
 * which word of its structure that one is. */
struct said_index {
	uint16_t version;
	uint8_t thread, thread_id, frame, code, object, bytes, str;
};
/* pycore_runtime.h of 3.13, pycore_debug_offsets.h of 3.14 and 3.15. */
static const struct said_index indexes[] = {
	{ V(3, 13), 19, 5, 28, 34, 44, 64, 67 },
	{ V(3, 14), 22, 5, 31, 39, 50, 74, 77 },
	{ V(3, 15), 22, 8, 39, 47, 58, 86, 89 },
};

/* The words after the size, in the order of the structures. */
enum { INTERP_NEXT = 2, INTERP_THREADS = 3 };
enum { THREAD_NEXT = 2, THREAD_INTERP, THREAD_FRAME };
enum { FRAME_PREVIOUS = 1, FRAME_CODE, FRAME_INSTR, FRAME_LOCALS, FRAME_OWNER };
enum { CODE_FILE = 1, CODE_NAME, CODE_QUALNAME, CODE_LINES, CODE_FIRST_LINE, CODE_INSTR = 9 };
enum { STR_STATE = 1, STR_LENGTH, STR_ASCII };

bool cpython_says(const uint64_t said[CPYTHON_SAID_WORDS], uint32_t *hex)
{
	if (memcmp(&said[SAID_COOKIE], cookie, sizeof cookie) != 0 || said[SAID_VERSION] >> 24 != 3)
		return false;
	*hex = said[SAID_VERSION];
	return true;
}

static const struct said_index *index_of(uint16_t version, bool *is_known)
{
	const size_t n = sizeof indexes / sizeof *indexes;

	for (size_t i = 0; i < n; i++) {
		if (indexes[i].version != version)
			continue;
		*is_known = true;
		return &indexes[i];
	}
	*is_known = false;
	return version > indexes[n - 1].version ? &indexes[n - 1] : NULL;
}

/* Reads the fields of one structure, and checks that all of them are inside. */
struct said_part {
	const uint64_t *words; /* the size, then offsets */
	uint64_t max;          /* largest valid size */
	bool bad;
};

static struct said_part said_part(const uint64_t *words, uint64_t min, uint64_t max)
{
	return (struct said_part){ words, max, words[0] < min || words[0] > max };
}

static uint16_t said_field(struct said_part *p, size_t field, size_t size)
{
	uint64_t at = p->words[field];

	if (at > p->words[0] || size > p->words[0] - at || at > UINT16_MAX - 64)
		p->bad = true;
	/* Everything but bytes and ints is a pointer or a word. */
	if (size == 8 && at % 8)
		p->bad = true;
	return at;
}

static bool take_threads(const uint64_t *said, const struct said_index *index,
			 struct cpython_shape *s)
{
	struct said_part runtime = said_part(said + SAID_RUNTIME_SIZE, 1 << 10, 64 << 20);
	struct said_part interp = said_part(said + SAID_INTERP, 1 << 10, 64 << 20);
	struct said_part thread = said_part(said + index->thread, 64, 1 << 20);
	struct cpython_layout *l = &s->layout;

	s->head = said_field(&runtime, SAID_HEAD - SAID_RUNTIME_SIZE, 8);
	l->interp_next = said_field(&interp, INTERP_NEXT, 8);
	l->interp_threads = said_field(&interp, INTERP_THREADS, 8);
	l->thread_next = said_field(&thread, THREAD_NEXT, 8);
	l->thread_interp = said_field(&thread, THREAD_INTERP, 8);
	l->thread_frame = said_field(&thread, THREAD_FRAME, 8);
	l->thread_id = said_field(&thread, index->thread_id, 8);
	return !runtime.bad && !interp.bad && !thread.bad && s->head;
}

static bool take_frame(const uint64_t *said, const struct said_index *index,
		       struct cpython_layout *l)
{
	struct said_part frame = said_part(said + index->frame, 48, 4096);

	l->frame_previous = said_field(&frame, FRAME_PREVIOUS, 8);
	l->frame_code = said_field(&frame, FRAME_CODE, 8);
	l->frame_instr = said_field(&frame, FRAME_INSTR, 8);
	l->frame_owner = l->frame_entry = said_field(&frame, FRAME_OWNER, 1);
	/* The unread rest of the header is after the owner, or in a few bytes that no other field
	 * uses. */
	l->frame_bytes = said_field(&frame, FRAME_LOCALS, 8);
	/* FRAME_OWNED_BY_CSTACK, later FRAME_OWNED_BY_INTERPRETER: both are on the loop's stack */
	l->entry_from = 3;
	return !frame.bad && l->frame_bytes <= CPYTHON_MAX_FRAME && l->frame_bytes % 8 == 0 &&
	       l->frame_previous + 8 <= l->frame_bytes && l->frame_code + 8 <= l->frame_bytes &&
	       l->frame_instr + 8 <= l->frame_bytes && l->frame_owner < l->frame_bytes;
}

/* The words between the first line and the line table distinguish code objects; they never
 * change. */
static bool take_code(const uint64_t *said, const struct said_index *index,
		      struct cpython_layout *l)
{
	struct said_part code = said_part(said + index->code, 64, 4096);

	l->code_file = said_field(&code, CODE_FILE, 8);
	l->code_name = said_field(&code, CODE_NAME, 8);
	l->code_qualname = said_field(&code, CODE_QUALNAME, 8);
	l->code_lines = said_field(&code, CODE_LINES, 8);
	l->code_first_line = said_field(&code, CODE_FIRST_LINE, 4);
	l->code_instr = said_field(&code, CODE_INSTR, 2);
	l->stamp_at = l->code_first_line & ~7u;
	l->stamp_words = (l->code_lines + 8 - l->stamp_at) / 8;
	/* Before the instructions: { int first traced instruction; void *extra; }, in all versions
	 * so far. */
	l->code_first_traced = l->code_instr - 16;
	return !code.bad && l->code_first_line < l->code_file && l->code_file < l->code_lines &&
	       l->code_name < l->code_lines && l->code_qualname < l->code_lines &&
	       l->stamp_words <= CPYTHON_MAX_STAMP && l->code_instr >= l->code_lines + 24 &&
	       l->code_instr <= CPYTHON_MAX_CODE;
}

static bool take_objects(const uint64_t *said, const struct said_index *index,
			 struct cpython_layout *l)
{
	struct said_part object = said_part(said + index->object, 16, 64);
	struct said_part bytes = said_part(said + index->bytes, 24, 128);
	struct said_part str = said_part(said + index->str, 40, 256);

	l->type = said_field(&object, 1, 8);
	l->bytes_size = said_field(&bytes, 1, 8);
	l->bytes_data = said_field(&bytes, 2, 1);
	l->str_state = said_field(&str, STR_STATE, 4);
	l->str_length = said_field(&str, STR_LENGTH, 8);
	l->str_ascii = said_field(&str, STR_ASCII, 8); /* the size without the text */
	l->str_compact =
		l->str_ascii +
		16; /* plus a length and a pointer: the text in UTF-8, once it was requested */
	return !object.bad && !bytes.bad && !str.bad && l->bytes_data > l->bytes_size &&
	       l->str_ascii > l->str_state && l->str_ascii > l->str_length;
}

int cpython_layout_said(const uint64_t said[CPYTHON_SAID_WORDS], struct cpython_shape *out,
			struct err *err)
{
	struct cpython_shape s = { .is_known = false };
	uint32_t hex;

	if (!cpython_says(said, &hex))
		return err_set(err, ENOTSUP, "its structure offsets are unknown");
	unsigned minor = hex >> 16 & 255;
	s.layout.version = V(3, minor);
	if (said[SAID_FREE_THREADED])
		return err_set(err, ENOTSUP,
			       "CPython 3.%u without a global lock (free-threaded) is not walked",
			       minor);
	const struct said_index *index = index_of(s.layout.version, &s.is_known);
	if (!index)
		return err_set(err, ENOTSUP, "CPython 3.%u has no description of its structures",
			       minor);
	if (!take_threads(said, index, &s) || !take_frame(said, index, &s.layout) ||
	    !take_code(said, index, &s.layout) || !take_objects(said, index, &s.layout))
		return err_set(err, ENOTSUP,
			       "CPython 3.%u is not known: its structure offsets are invalid",
			       minor);
	if (s.layout.version >= V(3, 14))
		s.layout.flags |= CPYTHON_TAGGED;
	*out = s;
	return 0;
}
