/* Hashes of the code and of the names of an ELF file. */
#include "base/hash.h"
#include "symbol/elf/elf_file.h"
#include "symbol/symbol.h"

#include <unistd.h>

enum {
	PAGE = 4096,
	MAX_PAGES = 16, /* of a segment: all of a small one, evenly spread over a large one */
};

static uint64_t hash_range(int fd, uint64_t offset, uint64_t len, uint64_t hash)
{
	char page[PAGE];
	uint64_t pages = (len + PAGE - 1) / PAGE;
	uint64_t n = pages < MAX_PAGES ? pages : MAX_PAGES;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = n == pages ? i : i * (pages - 1) / (n - 1);
		uint64_t left = len - at * PAGE, size = left < PAGE ? left : PAGE;
		ssize_t got = pread(fd, page, size, (off_t)(offset + at * PAGE));
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
			hash = hash_range(fd, p.p_offset, p.p_filesz, hash);
	}
	elf_file_close(&f);
	return hash == 1 ? 0 : hash;
}

uint64_t elf_names_fingerprint(int fd)
{
	struct elf_file f;
	GElf_Shdr h, names;
	uint64_t hash = 0;
	if (elf_file_open(&f, fd, NULL) < 0)
		return 0;
	for (Elf_Scn *s = NULL; !hash && (s = elf_nextscn(f.elf, s));) {
		if (!gelf_getshdr(s, &h) || h.sh_type != SHT_SYMTAB)
			continue;
		Elf_Scn *strings = elf_getscn(f.elf, h.sh_link);
		if (!strings || !gelf_getshdr(strings, &names) || names.sh_type != SHT_STRTAB ||
		    names.sh_offset > INT64_MAX - names.sh_size)
			break;
		hash = hash_range(fd, names.sh_offset, names.sh_size, hash_mix(1, names.sh_size));
	}
	elf_file_close(&f);
	return hash;
}
