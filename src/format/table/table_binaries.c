/* The table of binaries. */
#include "format/table/table_rows.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/hash.h"
#include "base/json/json.h"
#include "base/str.h"
#include "base/utf8.h"
#include "format/common/columns.h"
#include "format/table/table.h"

#include <string.h>

static void origins_text(struct buf *b, const struct table_binary *t)
{
	for (size_t i = 0; i < t->n_origins; i++) {
		const struct table_origin *o = &t->origins[i];
		buf_adds(b, i ? ", " : "");
		buf_addf(b, "%s ", *o->name ? o->name : "no name");
		fmt_count(b, o->frames);
	}
}

static void binary_line(const struct table_binary *t, uint32_t width, struct buf *b)
{
	enum { COUNT_WIDTH = 9, INDENT = 10 };
	struct buf text = { 0 };
	fmt_count(&text, t->frames);
	columns_right(b, buf_cstr(&text), COUNT_WIDTH);
	buf_addc(b, ' ');
	columns_left(b, t->name, width);
	buf_addc(b, ' ');
	buf_clear(&text);
	origins_text(&text, t);
	columns_fit(b, buf_cstr(&text), COLUMNS_MAX_BYTES);
	buf_addc(b, '\n');
	if (*t->remedy) {
		buf_addf(b, "%*s", INDENT, "");
		columns_fit(b, t->remedy, COLUMNS_MAX_BYTES);
		buf_addc(b, '\n');
	}
	buf_done(&text);
}

void binaries_text(const struct table_binaries *all, const struct table_opts *opts, struct buf *b)
{
	enum { NAME_MAX_COLUMNS = 32 };
	uint32_t width = strlen("binary");
	size_t n = opts->top_n && opts->top_n < all->n ? opts->top_n : all->n;
	for (size_t i = 0; i < n; i++) {
		uint32_t w = utf8_width(all->v[i].name);
		width = w > width ? w : width;
	}
	width = width > NAME_MAX_COLUMNS ? NAME_MAX_COLUMNS : width;
	if (!n)
		return;
	buf_addf(b, "\n   frames %-*s names come from\n", (int)width, "binary");
	for (size_t i = 0; i < n; i++)
		binary_line(&all->v[i], width, b);
	if (n < all->n)
		buf_addf(b, "(+%zu binaries)\n", all->n - n);
}

void binaries_json(struct json *j, const struct table_binaries *all)
{
	json_key(j, "binaries");
	json_arr(j);
	for (size_t i = 0; i < all->n; i++) {
		const struct table_binary *t = &all->v[i];
		json_obj(j);
		json_key_text(j, "binary", t->name);
		json_key_text(j, "path", t->path);
		json_key_text(j, "build_id", t->build_id);
		json_key_u64(j, "frames", t->frames);
		json_key(j, "names_from");
		json_arr(j);
		for (size_t k = 0; k < t->n_origins; k++) {
			json_obj(j);
			json_key_text(j, "origin", t->origins[k].name);
			json_key_u64(j, "frames", t->origins[k].frames);
			json_end(j);
		}
		json_end(j);
		json_key_text(j, "remedy", t->remedy);
		json_end(j);
	}
	json_end(j);
}

struct map binaries_index(const struct table_binaries *all)
{
	struct map index = { 0 };
	for (size_t i = 0; i < all->n; i++)
		map_intern(&index, hash_bytes(all->v[i].name, strlen(all->v[i].name)), i, NULL,
			   NULL);
	return index;
}

void binaries_csv_head(struct buf *b)
{
	buf_adds(b, ",frames,names_from,remedy");
}

void binaries_csv(struct buf *b, const struct table_binaries *all, const struct map *index,
		  const char *name)
{
	const uint32_t *i = map_get(index, hash_bytes(name, strlen(name)));
	const struct table_binary *t = i ? &all->v[*i] : NULL;
	struct buf text = { 0 };
	if (!t || strcmp(t->name, name) != 0) {
		buf_adds(b, ",,,");
		return;
	}
	origins_text(&text, t);
	buf_addf(b, ",%llu,", (unsigned long long)t->frames);
	esc_csv(b, text.data, text.len, SIZE_MAX);
	buf_addc(b, ',');
	esc_csv(b, t->remedy, strlen(t->remedy), SIZE_MAX);
	buf_done(&text);
}
