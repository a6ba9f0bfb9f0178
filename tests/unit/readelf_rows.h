/* tests/unit/readelf_rows.h: parses the output of `readelf --debug-dump=frames-interp`, function by function: the witness for call frame information.
 *
 * readelf prints "u" both for undefined registers and for those that the function mentions only later. It prints no rows for a function with an empty
 * program, which has the rows of its CIE. */
#ifndef CRESSET_TESTS_READELF_ROWS_H
#define CRESSET_TESTS_READELF_ROWS_H

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct readelf_row {
	uint64_t addr;
	char cfa[24], fp[24],
		ra[24]; /* "rsp+8", "c-16", "u", "s", "exp"; "" without such a column */
};
struct readelf_cie {
	uint64_t offset;
	bool is_signal;
	struct readelf_row row;
};
struct readelf_fde {
	uint64_t start, end, cie;
	bool is_signal, inherits; /* its CIE's row */
	VEC(struct readelf_row) rows;
};

struct readelf {
	FILE *text;
	const char *section; /* whose title is awaited; NULL: inside it */
	const char *fp_name; /* of the frame pointer's column */
	char *line;
	size_t cap;
	bool has_line, in_fde;
	VEC(struct readelf_cie) cies;
	char columns[64][16];
	int n_columns;
	struct readelf_fde fde;
};

/* section: "eh_frame" … */
static inline void readelf_begin(struct readelf *r, FILE *text, const char *section, bool is_arm64)
{
	*r = (struct readelf){ .text = text,
			       .section = section,
			       .fp_name = is_arm64 ? "x29" : "rbp" };
}

static inline void readelf_done(struct readelf *r)
{
	free(r->line);
	vec_done(&r->cies);
	vec_done(&r->fde.rows);
}

/* One column: "c-16" or "r9 (r9)". */
static inline char *readelf_column(char **s)
{
	char *start = *s + strspn(*s, " \n");
	char *end = start + strcspn(start, " \n");
	if (end[0] == ' ' && end[1] == '(')
		end += strcspn(end, ")") + 1;
	*s = *end ? end + 1 : end;
	*end = '\0';
	return *start ? start : NULL;
}

static inline void readelf_columns(struct readelf *r)
{
	char *line = r->line, *c;
	for (r->n_columns = 0; r->n_columns < 64 && (c = readelf_column(&line));)
		snprintf(r->columns[r->n_columns++], sizeof *r->columns, "%s", c);
}

static inline struct readelf_row readelf_row_of(const struct readelf *r)
{
	char *line = r->line, *column;
	struct readelf_row row = { .addr = strtoull(line, &line, 16) };
	for (int i = 1; i < r->n_columns && (column = readelf_column(&line)); i++) {
		char *to = strcmp(r->columns[i], "CFA") == 0        ? row.cfa
			   : strcmp(r->columns[i], r->fp_name) == 0 ? row.fp
			   : strcmp(r->columns[i], "ra") == 0       ? row.ra
								    : NULL;
		if (to)
			snprintf(to, sizeof row.cfa, "%s", column);
	}
	return row;
}

static inline void readelf_begin_cie(struct readelf *r)
{
	const char *letters = strchr(r->line, '"');
	struct readelf_cie cie = { .offset = strtoull(r->line, NULL, 16) };
	size_t len = letters ? strcspn(letters + 1, "\"") : 0;
	cie.is_signal = letters && memchr(letters + 1, 'S', len);
	vec_push(&r->cies, cie);
	r->in_fde = false;
}

static inline const struct readelf_cie *readelf_cie_at(const struct readelf *r, uint64_t offset)
{
	for (size_t i = r->cies.n; i-- > 0;)
		if (r->cies.v[i].offset == offset)
			return &r->cies.v[i];
	return NULL;
}

static inline void readelf_begin_fde(struct readelf *r)
{
	const char *cie = strstr(r->line, "cie="), *pc = strstr(r->line, "pc=");
	r->fde.start = strtoull(pc + 3, NULL, 16);
	r->fde.end = strtoull(strstr(pc, "..") + 2, NULL, 16);
	r->fde.cie = strtoull(cie + 4, NULL, 16);
	r->fde.rows.n = 0;
	r->in_fde = true;
}

/* A function without rows gets those of its CIE. */
static inline void readelf_end_fde(struct readelf *r)
{
	const struct readelf_cie *cie = readelf_cie_at(r, r->fde.cie);
	r->fde.is_signal = cie && cie->is_signal;
	r->fde.inherits = r->fde.rows.n == 0;
	if (r->fde.rows.n || !cie)
		return;
	vec_push(&r->fde.rows, cie->row);
	r->fde.rows.v[0].addr = r->fde.start;
}

static inline bool readelf_line(struct readelf *r)
{
	if (r->has_line) { /* the one that ended the previous function */
		r->has_line = false;
		return true;
	}
	return getline(&r->line, &r->cap, r->text) > 0;
}

/* The next function; NULL at the end of the section. The next call invalidates it. */
static inline struct readelf_fde *readelf_next(struct readelf *r)
{
	bool any = false;
	while (readelf_line(r)) {
		size_t hex = strspn(r->line, "0123456789abcdef");
		bool is_fde = hex >= 8 && strstr(r->line, " FDE "),
		     is_cie = hex >= 8 && strstr(r->line, " CIE ");
		bool is_title = strncmp(r->line, "Contents of", 11) == 0;
		bool ends = is_fde || is_cie || is_title;
		if (r->section) {
			if (is_title && strstr(r->line, r->section))
				r->section = NULL;
			continue;
		}
		if (ends && any) {
			r->has_line = true;
			break;
		}
		if (is_fde) {
			readelf_begin_fde(r);
			any = true;
		} else if (is_cie) {
			readelf_begin_cie(r);
		} else if (is_title) {
			break; /* of another section */
		} else if (strncmp(r->line, "   LOC ", 7) == 0) {
			readelf_columns(r);
		} else if (hex == 16 && r->in_fde) {
			vec_push(&r->fde.rows, readelf_row_of(r));
		} else if (hex == 16 && r->cies.n) {
			r->cies.v[r->cies.n - 1].row = readelf_row_of(r);
		}
	}
	if (!any)
		return NULL;
	readelf_end_fde(r);
	return &r->fde;
}

#endif
