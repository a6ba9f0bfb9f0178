#include "gpu/code_probe.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { NOTE_TYPE = 3, WORDS = 3, WORD = 8 };

/* Three texts, one behind the other, none beyond the end. */
static bool texts_of(const char *at, size_t n, const char *texts[3])
{
	for (int i = 0; i < 3; i++) {
		const char *end = n ? memchr(at, 0, n) : NULL;

		if (!end)
			return false;
		texts[i] = at;
		n -= end + 1 - at;
		at = end + 1;
	}
	return true;
}

/* Those of a call's first arguments, as far as there are any. */
static bool are_call_registers(const char *arguments)
{
	static const char *const first[] = { "4@%edi", "4@%edi 4@%esi", "4@%edi 4@%esi 4@%edx" };

	for (size_t i = 0; i < sizeof first / sizeof *first; i++)
		if (strcmp(arguments, first[i]) == 0)
			return true;
	return false;
}

static bool is_named(const char *const texts[3], const char *name)
{
	size_t provider = strlen(texts[0]);

	return strncmp(name, texts[0], provider) == 0 && name[provider] == ':' &&
	       strcmp(name + provider + 1, texts[1]) == 0;
}

static uint64_t word_at(const uint8_t *p)
{
	struct cur c = cur_of(p, WORD);

	return cur_u64(&c);
}

static bool take_note(const uint8_t *note, size_t n, const char *name, uint64_t moved_from,
		      struct code_probe *out)
{
	const char *texts[3];

	if (n < WORDS * WORD ||
	    !texts_of((const char *)note + WORDS * WORD, n - WORDS * WORD, texts) ||
	    !is_named(texts, name) || !are_call_registers(texts[2]))
		return false;
	uint64_t base = word_at(note + WORD), counter = word_at(note + 2 * WORD);
	uint64_t moved = moved_from ? moved_from - base : 0;
	out->address = word_at(note) + moved;
	out->counter = counter ? counter + moved : 0;
	return true;
}

static bool find_in(const uint8_t *notes, size_t n, const char *name, uint64_t moved_from,
		    struct code_probe *out)
{
	enum { HEAD = 12 };
	struct cur c;

	while (n >= HEAD) {
		c = cur_of(notes, HEAD);
		uint64_t owner = ((uint64_t)cur_u32(&c) + 3) & ~3ull, len = cur_u32(&c);
		uint32_t type = cur_u32(&c);
		uint64_t whole = HEAD + owner + ((len + 3) & ~3ull);

		if (HEAD + owner + len > n)
			return false;
		if (type == NOTE_TYPE && owner == 8 && !memcmp(notes + HEAD, "stapsdt", 8) &&
		    take_note(notes + HEAD + owner, len, name, moved_from, out))
			return true;
		if (whole > n)
			return false;
		notes += whole;
		n -= whole;
	}
	return false;
}

bool code_probe_find(const struct elf_file *f, const char *name, struct code_probe *out)
{
	GElf_Shdr notes, base;

	if (!elf_file_section(f, ".note.stapsdt", SHT_NOTE, &notes))
		return false;
	uint64_t moved_from =
		elf_file_section(f, ".stapsdt.base", SHT_NULL, &base) ? base.sh_addr : 0;
	size_t n = notes.sh_size < CODE_PROBE_MAX_NOTES ? notes.sh_size : CODE_PROBE_MAX_NOTES;
	uint8_t *copy = xmalloc(n ? n : 1);
	n = elf_file_read_some(f, notes.sh_offset, copy, n);
	bool found = find_in(copy, n, name, moved_from, out);
	free(copy);
	return found;
}
