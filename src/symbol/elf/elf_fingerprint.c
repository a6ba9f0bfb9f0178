/* A hash of the code of an ELF file. */
#include "base/hash.h"
#include "symbol/elf/elf_file.h"
#include "symbol/symbol.h"

#include <unistd.h>

enum {
	PAGE = 4096,
	MAX_PAGES = 16, /* of a segment: all of a small one, evenly spread over a large one */
};

static uint64_t hash_segment(int fd, const GElf_Phdr *p, uint64_t hash)
{
	char page[PAGE];
	uint64_t pages = (p->p_filesz + PAGE - 1) / PAGE;
	uint64_t n = pages < MAX_PAGES ? pages : MAX_PAGES;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = n == pages ? i : i * (pages - 1) / (n - 1);
		uint64_t left = p->p_filesz - at * PAGE, size = left < PAGE ? left : PAGE;
		ssize_t got = pread(fd, page, size, (off_t)(p->p_offset + at * PAGE));
		if (got > 0)
			hash = hash_mix(hash, hash_bytes(page, (size_t)got));
	}
	return hash;
}

uint64_t elf_fingerprint(int fd)
{
	struct elf_file f;
	GElf_Phdr p;
	size_t n = 0;
	uint64_t hash = 1;
	if (elf_file_open(&f, fd, NULL) < 0)
		return 0;
	if (elf_getphdrnum(f.elf, &n) < 0)
		n = 0;
	for (size_t i = 0; i < n; i++) {
		if (!gelf_getphdr(f.elf, i, &p) || p.p_type != PT_LOAD || p.p_offset > INT64_MAX)
			continue;
		hash = hash_mix(hash_mix(hash, p.p_offset), hash_mix(p.p_vaddr, p.p_memsz));
		if (p.p_flags & PF_X)
			hash = hash_segment(fd, &p, hash);
	}
	elf_file_close(&f);
	return hash == 1 ? 0 : hash;
}
