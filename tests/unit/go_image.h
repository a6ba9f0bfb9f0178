/* tests/unit/go_image.h: minimal programs as Go's linker could have made them, one for each layout of gopclntab, without section headers.
 *
 *     main.main        64 bytes, frame of 32 bytes in [4, 56)
 *                      a.go:10, in [12, 16) main.leaf b.go:21 inlined, in [8, 12) main.inner[…] b.go:31 in that, then a.go:12
 *     runtime.goexit   32 bytes behind it, c.s:3 */
#ifndef CRESSET_TESTS_GO_IMAGE_H
#define CRESSET_TESTS_GO_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* File offsets. Addresses are those plus GO_ADDR. */
enum {
	GO_TEXT = 0x100,
	GO_TABLE = 0x180,
	GO_FUNCTAB = 0x1d0,
	GO_MAIN = 0x200,
	GO_EXIT = 0x280,
	GO_NAMES = 0x300,
	GO_PATHS = 0x380,
	GO_UNITS = 0x3a0,
	GO_VALUES = 0x3c0,
	GO_TREE = 0x440,
	GO_MODULE = 0x480,
	GO_INFO = 0x600,
	GO_IMAGE = 0x680,
	GO_ADDR = 0x400000,
};

struct go_image {
	uint32_t magic;
	uint8_t bytes[GO_IMAGE];
};

static inline size_t go_put(struct go_image *g, size_t at, uint64_t v, unsigned size)
{
	memcpy(g->bytes + at, &v, size);
	return at + size;
}

static inline bool go_has_addresses(const struct go_image *g)
{
	return g->magic == 0xfffffffb || g->magic == 0xfffffffa;
}

/* The base of an offset in the table: in Go 1.2 always the table. */
static inline uint32_t go_from(const struct go_image *g, uint32_t at, uint32_t part)
{
	return at - (g->magic == 0xfffffffb ? (uint32_t)GO_TABLE : part);
}

static inline void go_put_elf(struct go_image *g)
{
	static const uint8_t ident[] = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT };
	Elf64_Ehdr h = { .e_type = ET_EXEC,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof h,
			 .e_ehsize = sizeof h,
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2 };
	Elf64_Phdr p[] = {
		{ PT_LOAD, PF_R | PF_X, 0, GO_ADDR, GO_ADDR, GO_TABLE, GO_TABLE, 1 },
		{ PT_LOAD, PF_R, GO_TABLE, GO_ADDR + GO_TABLE, GO_ADDR + GO_TABLE,
		  GO_IMAGE - GO_TABLE, GO_IMAGE - GO_TABLE, 1 },
	};
	memcpy(h.e_ident, ident, sizeof ident);
	memcpy(g->bytes, &h, sizeof h);
	memcpy(g->bytes + sizeof h, p, sizeof p);
	/* push %rbp before the start of the frame */
	g->bytes[GO_TEXT + 3] = 0x55;
}

static inline void go_put_header(struct go_image *g)
{
	size_t at = go_put(g, GO_TABLE, g->magic | 1ull << 48 | 8ull << 56, 8);
	at = go_put(g, at, 2, 8);
	if (g->magic == 0xfffffffb)
		return;
	at = go_put(g, at, 3, 8);
	if (!go_has_addresses(g))
		at = go_put(g, at, 0, 8); /* of the text: moduledata has it */
	static const uint32_t parts[] = { GO_NAMES, GO_UNITS, GO_PATHS, GO_VALUES, GO_FUNCTAB };
	for (int i = 0; i < 5; i++)
		at = go_put(g, at, parts[i] - GO_TABLE, 8);
}

static inline void go_put_functab(struct go_image *g)
{
	bool wide = go_has_addresses(g);
	unsigned size = wide ? 8 : 4;
	uint64_t text = wide ? GO_ADDR + GO_TEXT : 0;
	/* In Go 1.2, functab follows its count. */
	size_t at = g->magic == 0xfffffffb ? GO_TABLE + 16 : GO_FUNCTAB;
	at = go_put(g, at, text, size);
	at = go_put(g, at, go_from(g, GO_MAIN, GO_FUNCTAB), size);
	at = go_put(g, at, text + 64, size);
	at = go_put(g, at, go_from(g, GO_EXIT, GO_FUNCTAB), size);
	at = go_put(g, at, text + 96, size);
	if (g->magic == 0xfffffffb)
		go_put(g, at, GO_UNITS - GO_TABLE, 4);
}

enum { GO_NAME_MAIN = 1, GO_NAME_EXIT = 11, GO_NAME_LEAF = 26, GO_NAME_INNER = 36 };

static inline void go_put_texts(struct go_image *g)
{
	static const char names[] =
		"\0main.main\0runtime.goexit\0main.leaf\0main.inner[go.shape.int]";
	static const char paths[] = "\0a.go\0b.go\0c.s";
	memcpy(g->bytes + GO_NAMES, names, sizeof names);
	memcpy(g->bytes + GO_PATHS, paths, sizeof paths);
	/* In Go 1.2, a counted list. */
	go_put(g, GO_UNITS, g->magic == 0xfffffffb ? 4 : 0, 4);
	for (int i = 0; i < 3; i++)
		go_put(g, GO_UNITS + 4 + 4 * i, go_from(g, GO_PATHS + 1 + 5 * i, GO_PATHS), 4);
}

/* { value, end pc } until that is 0. */
static inline uint32_t go_put_steps(struct go_image *g, size_t *at, const int (*steps)[2])
{
	size_t from = *at;
	for (int value = -1, pc = 0; (*steps)[1]; steps++) {
		int v = (*steps)[0] - value;
		*at = go_put(g, *at, v < 0 ? ~(2 * v) : 2 * v, 1);
		*at = go_put(g, *at, (*steps)[1] - pc, 1);
		value = (*steps)[0];
		pc = (*steps)[1];
	}
	++*at;
	return go_from(g, from, GO_VALUES);
}

struct go_record {
	uint32_t name, depths, files, lines, inlined, start_line;
	bool has_tree;
};

static inline void go_put_record(struct go_image *g, size_t at, uint32_t entry,
				 const struct go_record *r)
{
	bool wide = go_has_addresses(g);
	unsigned n_funcdata = g->magic == 0xfffffffb ? 5 : 4, size = wide ? 8 : 4;
	at = go_put(g, at, (wide ? GO_ADDR + GO_TEXT : 0) + entry, size);
	at = go_put(g, at, go_from(g, GO_NAMES + r->name, GO_NAMES), 4) + 8;
	at = go_put(g, at, r->depths, 4);
	at = go_put(g, at, r->files, 4);
	at = go_put(g, at, r->lines, 4);
	at = go_put(g, at, 3, 4);
	if (g->magic != 0xfffffffb)
		at += 4; /* unit 0 */
	if (g->magic == 0xfffffff1)
		at = go_put(g, at, r->start_line, 4);
	at = go_put(g, at + 3, n_funcdata, 1) + 8;
	at = go_put(g, at, r->inlined, 4);
	if (wide)
		at += -at & 7;
	at += (n_funcdata - 1) * (size_t)size;
	uint64_t none = wide ? 0 : UINT32_MAX, tree = wide ? GO_ADDR + GO_TREE : 0;
	go_put(g, at, r->has_tree ? tree : none, size);
}

static inline void go_put_functions(struct go_image *g)
{
	static const int depths[][2] = { { 0, 4 }, { 32, 56 }, { 0, 64 }, { 0, 0 } };
	static const int files[][2] = { { 1, 8 }, { 2, 16 }, { 1, 64 }, { 0, 0 } };
	static const int lines[][2] = { { 10, 8 }, { 31, 12 }, { 21, 16 }, { 12, 64 }, { 0, 0 } };
	static const int inlined[][2] = { { -1, 8 }, { 1, 12 }, { 0, 16 }, { -1, 64 }, { 0, 0 } };
	static const int zero[][2] = { { 0, 32 }, { 0, 0 } }, three[][2] = { { 3, 32 }, { 0, 0 } };
	size_t at = GO_VALUES + 1; /* 0 is no table */
	struct go_record main = { GO_NAME_MAIN, .start_line = 9, .has_tree = true };
	struct go_record exit = { GO_NAME_EXIT, .start_line = 1 };
	main.depths = go_put_steps(g, &at, depths);
	main.files = go_put_steps(g, &at, files);
	main.lines = go_put_steps(g, &at, lines);
	main.inlined = go_put_steps(g, &at, inlined);
	exit.depths = go_put_steps(g, &at, zero);
	exit.files = exit.lines = go_put_steps(g, &at, three);
	go_put_record(g, GO_MAIN, 0, &main);
	go_put_record(g, GO_EXIT, 64, &exit);
}

static inline void go_put_tree(struct go_image *g)
{
	static const uint32_t entries[][3] = { { GO_NAME_LEAF, 16, 20 },
					       { GO_NAME_INNER, 12, 30 } };
	size_t at = GO_TREE;
	for (int i = 0; i < 2; i++) {
		bool has_line = g->magic == 0xfffffff1;
		at += has_line ? 4 : 12;
		at = go_put(g, at, go_from(g, GO_NAMES + entries[i][0], GO_NAMES), 4);
		at = go_put(g, at, entries[i][1], 4);
		if (has_line)
			at = go_put(g, at, entries[i][2], 4);
	}
}

/* Where a program's moduledata has the base of inline trees, and what is behind that. */
struct go_module {
	const char *version; /* in .go.buildinfo; NULL: not there */
	unsigned base_word;
	bool has_end; /* the end of the table; else the slice of text sections follows at once */
};

static inline void go_put_module(struct go_image *g, const struct go_module *m)
{
	uint64_t text = GO_ADDR + GO_TEXT;
	size_t at = GO_MODULE + 8 * m->base_word;
	memset(g->bytes + GO_MODULE, 0, GO_INFO - GO_MODULE);
	go_put(g, GO_MODULE, GO_ADDR + GO_TABLE, 8);
	go_put(g, GO_MODULE + 8, GO_ADDR + GO_NAMES, 8);
	go_put(g, GO_MODULE + 8 * 20, text, 8);
	go_put(g, GO_MODULE + 8 * 21, text + 96, 8);
	go_put(g, GO_MODULE + 8 * 22, text, 8);
	at = go_put(g, at, GO_ADDR + GO_TREE, 8);
	if (m->has_end)
		at = go_put(g, at, GO_ADDR + GO_MODULE, 8);
	at = go_put(g, at, GO_ADDR + GO_IMAGE, 8);
	at = go_put(g, at, 1, 8);
	go_put(g, at, 1, 8);
	if (!m->version)
		return;
	memcpy(g->bytes + GO_INFO, "\xff Go buildinf:\x08\x02", 16);
	go_put(g, GO_INFO + 32, strlen(m->version), 1);
	memcpy(g->bytes + GO_INFO + 33, m->version, strlen(m->version));
}

static inline void go_image_make(struct go_image *g, uint32_t magic)
{
	*g = (struct go_image){ .magic = magic };
	go_put_elf(g);
	go_put_header(g);
	go_put_functab(g);
	go_put_texts(g);
	go_put_functions(g);
	go_put_tree(g);
	struct go_module m = { NULL, magic == 0xfffffff1 ? 40 : 38, false };
	if (!go_has_addresses(g))
		go_put_module(g, &m);
}

#endif
