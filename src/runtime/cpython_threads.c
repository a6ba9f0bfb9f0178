/* Reads the threads of an interpreter and their frames. */
#include "runtime/cpython_parts.h"

#include "bpf/cpython.h"
#include "runtime/runtime.h"

#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <string.h>

static bool read_word(const struct runtime_memory *m, uint64_t addr, uint64_t *out)
{
	return m->read(m->ctx, addr, out, sizeof *out) == 0;
}

/* Reads a pointer to a structure: in a live process it is aligned. */
static bool read_pointer(const struct runtime_memory *m, uint64_t addr, uint64_t *out)
{
	return read_word(m, addr, out) && *out && !(*out & 7) && *out <= CPYTHON_ADDRESS;
}

/* --- threads ---------------------------------------------------------------------------------- */

static size_t threads_of(const struct cpython_layout *l, uint64_t interp,
			 const struct runtime_memory *m, struct cpython_thread *out, size_t max)
{
	uint64_t state;
	size_t n = 0;

	for (bool more = read_pointer(m, interp + l->interp_threads, &state); more && n < max;
	     more = read_pointer(m, state + l->thread_next, &state)) {
		out[n] = (struct cpython_thread){ .state = state };
		if (!read_word(m, state + l->thread_id, &out[n].id) ||
		    !read_word(m, state + l->thread_interp, &out[n].interp))
			break;
		/* A thread freed in the meantime may point anywhere. */
		if (out[n].interp != interp)
			break;
		n++;
	}
	return n;
}

size_t cpython_threads(const struct cpython_layout *l, uint64_t head_at,
		       const struct runtime_memory *m, struct cpython_thread *out, size_t max)
{
	uint64_t interp;
	size_t n = 0;
	int i = 0;

	for (bool more = read_pointer(m, head_at, &interp);
	     more && n < max && i < CPYTHON_MAX_INTERPRETERS;
	     more = read_pointer(m, interp + l->interp_next, &interp), i++)
		n += threads_of(l, interp, m, out + n, max - n);
	return n;
}

/* The first word at the thread pointer is the thread pointer itself (required by the ABI of
 * x86-64). */
static bool is_thread_pointer(const struct runtime_memory *m, uint64_t id)
{
#ifdef __x86_64__
	uint64_t self;

	return !(id & 7) && read_word(m, id, &self) && self == id;
#else
	return !(id & 7);
#endif
}

int cpython_threads_check(const struct cpython_layout *l, uint64_t head_at,
			  const struct runtime_memory *m)
{
	enum { TRIES = 4, ENOUGH = 64 };
	struct cpython_thread threads[ENOUGH];
	uint64_t interp;
	int rc = -EAGAIN;

	for (int i = 0; i < TRIES; i++) {
		size_t n = cpython_threads(l, head_at, m, threads, ENOUGH);

		if (!n && read_pointer(m, head_at, &interp) &&
		    read_pointer(m, interp + l->interp_threads, &interp))
			rc = -ENOTSUP;
		for (size_t k = 0; k < n; k++) {
			if (threads[k].id && is_thread_pointer(m, threads[k].id))
				return 0;
			if (threads[k].id)
				rc = -ENOTSUP;
		}
	}
	return rc;
}

/* --- frames ----------------------------------------------------------------------------------- */

static uint64_t word_of(const uint8_t *frame, uint16_t at)
{
	uint64_t v;

	memcpy(&v, frame + at, sizeof v);
	return v;
}

static uint32_t offset_of(const struct cpython_layout *l, const uint8_t *frame, uint64_t code)
{
	int32_t instr;

	if (!(l->flags & CPYTHON_FRAME_OBJECTS))
		return word_of(frame, l->frame_instr) - (code + l->code_instr);
	memcpy(&instr, frame + l->frame_instr, sizeof instr);
	return l->flags & CPYTHON_UNITS && instr > 0 ? (uint32_t)instr * 2 : (uint32_t)instr;
}

/* Stores the current frame in *out if it is valid. */
static bool take_frame(const struct cpython_layout *l, const uint8_t *frame,
		       const struct runtime_memory *m, struct cpython_frame *out)
{
	uint64_t code = word_of(frame, l->frame_code);
	__u64 words[CPYTHON_MAX_STAMP];

	if (l->flags & CPYTHON_TAGGED)
		code &= ~CPYTHON_TAG;
	if (m->read(m->ctx, code + l->stamp_at, words, l->stamp_words * sizeof *words) < 0)
		return false;
	out->words[0] = cpython_frame_code(code);
	out->words[1] = cpython_frame_place(cpython_stamp(words, l->stamp_words),
					    offset_of(l, frame, code));
	return true;
}

/* From 3.12 on the loop's own frames are between the Python frames. */
static bool is_pythons(const struct cpython_layout *l, const uint8_t *frame)
{
	return l->flags & (CPYTHON_FRAME_OBJECTS | CPYTHON_ENTRY_IS_FRAME) ||
	       frame[l->frame_entry] < l->entry_from;
}

size_t cpython_frames(const struct cpython_layout *l, uint64_t state,
		      const struct runtime_memory *m, struct cpython_frame *out, size_t max)
{
	uint8_t frame[CPYTHON_MAX_FRAME];
	uint64_t at;
	size_t n = 0;

	if (!read_pointer(m, state + l->thread_frame, &at))
		return 0;
	if (l->flags & CPYTHON_CFRAME && !read_pointer(m, at + l->cframe_frame, &at))
		return 0;
	for (size_t steps = 0; at && n < max && steps < max * 2 + 16; steps++) {
		if (m->read(m->ctx, at, frame, l->frame_bytes) < 0)
			break;
		if (is_pythons(l, frame)) {
			if (!take_frame(l, frame, m, &out[n]))
				break;
			n++;
		}
		at = word_of(frame, l->frame_previous);
	}
	return n;
}
