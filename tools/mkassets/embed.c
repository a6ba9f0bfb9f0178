#include "embed.h"

#include "base/buf.h"
#include "base/content_type.h"
#include "read.h"
#include "strip.h"

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
		fprintf(stderr, "%s: what kind of file is this?\n", path);
	return type;
}

static const char *below_web(const char *file)
{
	return strncmp(file, "web/", 4) == 0 ? file + 4 : file;
}

static int read_stripped(const char *file, struct buf *out)
{
	struct buf text = { 0 };
	int rc = read_file(file, &text);
	const char *trouble = rc == 0 ? strip(file, text.data, text.len, out) : NULL;
	if (trouble) {
		fprintf(stderr, "%s: %s\n", file, trouble);
		rc = -1;
	}
	buf_done(&text);
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
	const char *dir;
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

static int embed_one(struct assembly *a, int i, const char *argument)
{
	const char *equals = strchr(argument, '='), *file = equals ? equals + 1 : argument;
	struct buf text = { 0 }, path = { 0 }, gz = { 0 };
	buf_add(&path, equals ? argument : below_web(argument),
		equals ? (size_t)(equals - argument) : strlen(below_web(argument)));
	buf_addf(&gz, "%s/web/%d.gz", a->dir, i);
	int rc = type_of(buf_cstr(&path)) ? read_stripped(file, &text) : -1;
	if (rc == 0)
		rc = write_gz(buf_cstr(&gz), &text);
	if (rc == 0)
		put_row(a, i, buf_cstr(&path), &text, buf_cstr(&gz));
	buf_done(&text);
	buf_done(&path);
	buf_done(&gz);
	return rc;
}

int embed(const char *dir, char *const *files, int n)
{
	struct assembly a = { .dir = dir };
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
	buf_addf(&path, "%s/web.S", dir);
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
	for (const char *s = below_web(file); *s; s++)
		putchar(isalnum((unsigned char)*s) ? *s : '_');
}

static int print_array(const char *file)
{
	struct buf text = { 0 };
	int rc = read_stripped(file, &text);
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

int print_header(char *const *files, int n)
{
	int rc = 0;
	puts("/* made by tools/mkassets */");
	for (int i = 0; i < n; i++)
		rc |= print_array(files[i]);
	return rc;
}
