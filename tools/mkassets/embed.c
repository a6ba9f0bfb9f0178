/* Writes the embedded files: as C arrays, or as an assembler file with a table of paths. */
#include "embed.h"

#include "base/asset.h"
#include "base/buf.h"
#include "read.h"

#include <ctype.h>
#include <libdeflate.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

enum { BEST = 12 };

static const char *type_of(const char *path)
{
	const char *type = content_type_of(path);

	if (!type)
		fprintf(stderr, "%s: unknown content type (src/base/content_type.c)\n", path);
	return type;
}

static int read_below(const char *dir, const char *file, struct buf *out)
{
	struct buf path = { 0 };
	buf_addf(&path, "%s/%s", dir, file);
	int rc = read_file(buf_cstr(&path), out);
	buf_done(&path);
	return rc;
}

static int write_gz(const char *path, const struct buf *text)
{
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(BEST);
	struct buf gz = { 0 };
	if (!c)
		return -1;
	buf_reserve(&gz, libdeflate_gzip_compress_bound(c, text->len));
	size_t len = libdeflate_gzip_compress(c, text->data, text->len, gz.data, gz.cap);
	int rc = len ? write_file(path, gz.data, len) : -1;
	libdeflate_free_compressor(c);
	buf_done(&gz);
	return rc;
}

struct assembly {
	const char *to, *dir;
	struct buf data, table;
};

static void put_row(struct assembly *a, int i, const char *path, const struct buf *text,
		    const char *gz)
{
	uint64_t hash = XXH3_64bits(text->data, text->len);
	buf_addf(&a->data, "path%d: .asciz \"%s\"\n", i, path);
	buf_addf(&a->data, "type%d: .asciz \"%s\"\n", i, type_of(path));
	buf_addf(&a->data, "etag%d: .asciz \"W/\\\"%016llx\\\"\"\n", i, (unsigned long long)hash);
	buf_addf(&a->data, "gz%d: .incbin \"%s\"\ngz%d_end:\n", i, gz, i);
	buf_addf(&a->table, ".quad path%d, type%d, etag%d, gz%d, gz%d_end - gz%d, %zu\n", i, i, i,
		 i, i, i, text->len);
}

static int embed_one(struct assembly *a, int i, const char *file)
{
	struct buf text = { 0 }, gz = { 0 };
	buf_addf(&gz, "%s/web/%d.gz", a->to, i);
	int rc = type_of(file) ? read_below(a->dir, file, &text) : -1;
	if (rc == 0)
		rc = write_gz(buf_cstr(&gz), &text);
	if (rc == 0)
		put_row(a, i, file, &text, buf_cstr(&gz));
	buf_done(&text);
	buf_done(&gz);
	return rc;
}

int embed(const char *to, const char *dir, char *const *files, int n)
{
	struct assembly a = { .to = to, .dir = dir };
	struct buf out = { 0 }, path = { 0 };
	int rc = 0;
	for (int i = 0; rc == 0 && i < n; i++)
		rc = embed_one(&a, i, files[i]);
	buf_adds(&out, "/* made by tools/mkassets */\n.section .rodata\n");
	buf_add(&out, a.data.data, a.data.len);
	buf_adds(&out, ".section .data.rel.ro, \"aw\"\n.balign 8\n.globl assets\n"
		       ".type assets, %object\nassets:\n");
	buf_add(&out, a.table.data, a.table.len);
	buf_adds(&out, ".quad 0, 0, 0, 0, 0, 0\n.size assets, . - assets\n"
		       ".section .note.GNU-stack, \"\", %progbits\n");
	buf_addf(&path, "%s/web.S", to);
	if (rc == 0)
		rc = write_file(buf_cstr(&path), out.data, out.len);
	buf_done(&a.data);
	buf_done(&a.table);
	buf_done(&out);
	buf_done(&path);
	return rc;
}

/* --- C arrays --------------------------------------------------------------------------------- */

static void print_name(const char *file)
{
	for (const char *s = file; *s; s++)
		putchar(isalnum((unsigned char)*s) ? *s : '_');
}

static int print_array(const char *dir, const char *file)
{
	struct buf text = { 0 };
	int rc = read_below(dir, file, &text);
	printf("__attribute__((unused)) static const char asset_");
	print_name(file);
	printf("[] = {");
	for (size_t i = 0; i < text.len; i++)
		printf("%s%d,", i % 32 ? "" : "\n", text.data[i]);
	printf("\n0};\n__attribute__((unused)) static const unsigned asset_");
	print_name(file);
	printf("_len = %zu;\n", text.len);
	buf_done(&text);
	return rc;
}

int print_header(const char *dir, char *const *files, int n)
{
	int rc = 0;
	puts("/* made by tools/mkassets */");
	for (int i = 0; i < n; i++)
		rc |= print_array(dir, files[i]);
	return rc;
}
