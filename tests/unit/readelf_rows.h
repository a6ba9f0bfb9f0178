/* tests/unit/readelf_rows.h: the text of `readelf --debug-dump=frames-interp` as rows: the witness for call frame information.
 *
 * readelf prints "u" both for registers that are undefined and for those that the function mentions only later. A function with an
 * empty program has no rows of its own there: it has its CIE's. */
#ifndef CRESSET_TESTS_READELF_ROWS_H
#define CRESSET_TESTS_READELF_ROWS_H

#include "unit.h"

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct readelf_row {
	uint64_t addr;
	char cfa[16], fp[16],
		ra[16]; /* "rsp+8", "c-16", "u", "s", "exp"; "" where there is no column */
};
struct readelf_fde {
	uint64_t start, end;
	size_t first, n; /* in rows */
};
struct readelf_rows {
	VEC(struct readelf_fde) fdes;
	VEC(struct readelf_row) rows;
};

struct readelf_parse {
	struct readelf_rows *out;
	struct {
		uint64_t offset;
		struct readelf_row row;
	} cies[256];
	size_t n_cies;
	char columns[32][16];
	int n_columns;
	uint64_t cie_of_fde;
	bool in_cie, in_fde;
};

/* One column: "c-16" or "r9 (r9)". */
static inline char *readelf_column(char **s)
{
	char *start = *s + strspn(*s, " ");
	char *end = start + strcspn(start, " \n");
	if (end[0] == ' ' && end[1] == '(')
		end += strcspn(end, ")") + 1;
	*s = *end ? end + 1 : end;
	*end = '\0';
	return *start ? start : NULL;
}

static inline void readelf_row_line(struct readelf_parse *p, char *line)
{
	struct readelf_row row = { .addr = strtoull(line, &line, 16) };
	char *column;
	for (int i = 1; i < p->n_columns && (column = readelf_column(&line)); i++) {
		char *to = strcmp(p->columns[i], "CFA") == 0   ? row.cfa
			   : strcmp(p->columns[i], "rbp") == 0 ? row.fp
			   : strcmp(p->columns[i], "ra") == 0  ? row.ra
							       : NULL;
		if (to)
			snprintf(to, sizeof row.cfa, "%s", column);
	}
	if (p->in_cie) {
		p->cies[p->n_cies - 1].row = row;
	} else if (p->in_fde) {
		vec_push(&p->out->rows, row);
		p->out->fdes.v[p->out->fdes.n - 1].n++;
	}
}

/* A function without rows gets its CIE's. */
static inline void readelf_end_fde(struct readelf_parse *p)
{
	if (!p->in_fde || p->out->fdes.v[p->out->fdes.n - 1].n)
		return;
	for (size_t i = 0; i < p->n_cies; i++) {
		if (p->cies[i].offset != p->cie_of_fde)
			continue;
		struct readelf_fde *fde = &p->out->fdes.v[p->out->fdes.n - 1];
		struct readelf_row row = p->cies[i].row;
		row.addr = fde->start;
		vec_push(&p->out->rows, row);
		fde->n = 1;
	}
}

static inline void readelf_header_line(struct readelf_parse *p, char *line)
{
	char *cie = strstr(line, "cie="), *pc = strstr(line, "pc=");
	readelf_end_fde(p);
	p->in_fde = cie && pc;
	p->in_cie = !p->in_fde;
	if (p->in_cie) {
		ck_assert_uint_lt(p->n_cies, 256);
		p->cies[p->n_cies].offset = strtoull(line, NULL, 16);
		memset(&p->cies[p->n_cies++].row, 0, sizeof p->cies->row);
		return;
	}
	struct readelf_fde fde = { .first = p->out->rows.n };
	p->cie_of_fde = strtoull(cie + 4, NULL, 16);
	ck_assert_int_eq(sscanf(pc, "pc=%lx..%lx", &fde.start, &fde.end), 2);
	vec_push(&p->out->fdes, fde);
}

/* text is changed. */
static inline void readelf_rows_parse(char *text, struct readelf_rows *out)
{
	struct readelf_parse p = { .out = out };
	for (char *save, *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		bool starts_hex = strspn(line, "0123456789abcdef") >= 8;
		if (starts_hex && (strstr(line, " CIE ") || strstr(line, " FDE "))) {
			readelf_header_line(&p, line);
		} else if (strstr(line, "   LOC ")) {
			p.n_columns = 0;
			for (char *c; p.n_columns < 32 && (c = readelf_column(&line));)
				snprintf(p.columns[p.n_columns++], 16, "%s", c);
		} else if (starts_hex && strspn(line, "0123456789abcdef") == 16) {
			readelf_row_line(&p, line);
		}
	}
	readelf_end_fde(&p);
}

static inline void readelf_rows_done(struct readelf_rows *r)
{
	vec_done(&r->fdes);
	vec_done(&r->rows);
}

#endif
