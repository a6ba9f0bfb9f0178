/* Compares the call frame information of ELF files with readelf's view of it, row by row, and the unwind tables made of it.
 *
 *     frames FILE…
 *
 * Prints, for tests/soak/frames.sh to add up, "diff FILE: WHAT", "none FILE: WHY" and, last, the sums. Passes over what is no
 * ELF program or library in silence. */
#include "../unit/frames_witness.h"

#include <inttypes.h>

static void print_sum(const struct frames_sum *s)
{
	printf("sum files=%" PRIu64 " tables=%" PRIu64 " functions=%" PRIu64 " rows=%" PRIu64
	       " table_rows=%" PRIu64 " shadowed=%" PRIu64 " not_in_file=%" PRIu64
	       " restored=%" PRIu64 " unsaid_cfa=%" PRIu64 " unsaid_fp=%" PRIu64
	       " unsaid_ra=%" PRIu64 " signal=%" PRIu64 " deref=%" PRIu64 " plt=%" PRIu64
	       " other_register=%" PRIu64 "\n",
	       s->files, s->table_files, s->fdes, s->rows, s->table_rows, s->shadowed,
	       s->not_mapped, s->restored, s->other_cfa, s->other_fp, s->other_ra, s->signal_rows,
	       s->deref_rows, s->plt_rows, s->other_reg_rows);
}

static bool is_program(const char *path)
{
	Elf64_Ehdr h = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool has = read(fd, &h, sizeof h) == sizeof h && memcmp(h.e_ident, ELFMAG, SELFMAG) == 0;
	close(fd);
	return has && (h.e_type == ET_EXEC || h.e_type == ET_DYN);
}

int main(int argc, char **argv)
{
	struct frames_sum sum = { 0 };
	char what[256];
	for (int i = 1; i < argc; i++) {
		if (!is_program(argv[i]))
			continue;
		int rc = frames_compare(argv[i], READELF_FRAMES, &sum, what);
		if (*what)
			printf("%s %s: %s\n", rc ? "none" : "diff", argv[i], what);
		fflush(stdout);
	}
	print_sum(&sum);
	return 0;
}
