/* Prints the contents of files with device code. */
#include "cmd/gpu/gpu.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "gpu/code/cubin.h"
#include "gpu/code/fatbin.h"
#include "gpu/code/sass.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 4096 };

static void add_text(struct buf *b, const char *s)
{
	esc_term(b, s, strlen(s), TEXT_MAX);
}

/* --- list ------------------------------------------------------------------------------------- */

/* " 0x01a0 FFMA a.cu:4 bend(float) < a.cu:22 outer(float) < …": innermost first, the text's own
 * function left out. */
static void add_instruction(struct buf *b, struct cubin *c, uint32_t text, uint64_t offset)
{
	struct cubin_frame f[CUBIN_MAX_DEPTH];
	uint64_t word[2];
	char unknown[SASS_NAME_MAX];
	uint32_t n = cubin_lookup(c, text, offset, f, CUBIN_MAX_DEPTH);
	if (n == 0 || !cubin_instruction(c, text, offset, word))
		return;
	buf_addf(b, "  0x%04" PRIx64 "  %-12s  ", offset, sass_name(cubin_sm(c), word, unknown));
	for (uint32_t i = 0; i < n; i++) {
		if (f[i].file) {
			buf_adds(b, i ? " < " : "");
			add_text(b, f[i].file);
			buf_addf(b, ":%" PRIu32, f[i].line);
		}
		if (i + 1 < n && f[i].name) {
			buf_addc(b, ' ');
			add_text(b, f[i].name);
		}
	}
	buf_addc(b, '\n');
}

static void add_list(struct buf *b, struct cubin *c)
{
	uint32_t n;
	const struct cubin_text *t = cubin_texts(c, &n);
	buf_addf(b, "sm_%u", cubin_sm(c));
	if (cubin_skipped(c))
		buf_addf(b, ", %" PRIu64 " symbols or lines could not be read", cubin_skipped(c));
	buf_addc(b, '\n');
	for (uint32_t i = 0; i < n; i++) {
		buf_addf(b, "\n%s ", t[i].kernel ? "kernel" : "function");
		add_text(b, t[i].name);
		buf_addf(b, "  %" PRIu64 " bytes\n", t[i].size);
		for (uint64_t at = 0; at < t[i].size; at += CUBIN_INSTRUCTION)
			add_instruction(b, c, i, at);
	}
}

/* --- stacks ----------------------------------------------------------------------------------- */

static void add_layer(void *ctx, enum frame_kind kind, const char *name, const char *file,
		      uint32_t line)
{
	struct buf *b = ctx;
	(void)file, (void)line;
	if (b->len && b->data[b->len - 1] != '\n')
		buf_addc(b, ';');
	for (const char *s = name; *s; s++)
		buf_addc(b, *s == ';' || *s == '\n' ? ':' : *s);
	buf_adds(b, frame_kinds[kind].suffix);
}

static void add_stacks(struct buf *b, struct cubin *c)
{
	uint32_t n;
	const struct cubin_text *t = cubin_texts(c, &n);
	for (uint32_t i = 0; i < n; i++)
		for (uint64_t at = 0; at < t[i].size; at += CUBIN_INSTRUCTION)
			if (cubin_layers(c, i, at, NULL, CUBIN_ALL_LAYERS, add_layer, b))
				buf_adds(b, " 1\n");
}

/* --- files with several ----------------------------------------------------------------------- */

static void add_names(struct buf *b, const struct cubin *c)
{
	uint32_t n;
	const struct cubin_text *t = cubin_texts(c, &n);
	for (uint32_t i = 0; i < n; i++) {
		buf_addf(b, "  %s ", t[i].kernel ? "kernel" : "function");
		add_text(b, t[i].name);
		buf_addf(b, "  %" PRIu64 " bytes\n", t[i].size);
	}
}

static void add_head(struct buf *b, uint32_t number, const struct fatbin_image *i)
{
	static const char *const packings[] = { "", ", LZ4", ", zstd" };
	buf_addf(b, "image %" PRIu32 ": sm_%" PRIu32 "%s, %" PRIu64 " bytes%s\n", number, i->sm,
		 i->is_ptx ? " PTX" : "", i->size, packings[i->packing]);
}

/* An image that cannot be read is reported; it is an error only if it was requested. */
static int add_image(struct buf *b, const struct fatbin *f, uint32_t index,
		     const struct gpu_opts *o, struct err *err)
{
	uint32_t n;
	const struct fatbin_image *i = &fatbin_images(f, &n)[index];
	struct cubin *c;
	void *bytes;
	if (i->is_ptx)
		return o->image ? err_set(err, ENODATA, "image %u is PTX, not device code",
					  index + 1)
				: 0;
	int rc = fatbin_unpack(f, index, &bytes, err);
	if (rc < 0)
		return rc;
	rc = cubin_open_image(bytes, i->size, &c, err);
	if (rc == 0) {
		if (o->stacks)
			add_stacks(b, c);
		else if (o->image)
			add_list(b, c);
		else
			add_names(b, c);
		cubin_close(c);
	}
	free(bytes);
	return rc;
}

static int add_fatbin(struct buf *b, const struct fatbin *f, const struct gpu_opts *o,
		      struct err *err)
{
	uint32_t n;
	const struct fatbin_image *images = fatbin_images(f, &n);
	if (o->image > n)
		return err_set(err, ENODATA, "there are %" PRIu32 " images in it", n);
	if (o->image)
		return add_image(b, f, o->image - 1, o, err);
	for (uint32_t i = 0; i < n; i++) {
		if (!o->stacks)
			add_head(b, i + 1, &images[i]);
		if (add_image(b, f, i, o, err) < 0 && !o->stacks)
			buf_addf(b, "  %s\n", err->text);
	}
	if (fatbin_skipped(f) && !o->stacks)
		buf_addf(b, "%" PRIu64 " images or containers could not be read\n",
			 fatbin_skipped(f));
	return 0;
}

/* --- files ------------------------------------------------------------------------------------ */

/* For a file that is neither, the error is that of cubin_open. */
static int add_open_file(struct buf *b, int fd, const struct gpu_opts *o, struct err *err)
{
	struct cubin *c;
	struct fatbin *f;
	struct err other = { 0 };
	int rc = cubin_open(fd, &c, err);
	if (rc == 0) {
		if (o->stacks)
			add_stacks(b, c);
		else
			add_list(b, c);
		cubin_close(c);
	} else if (rc == -ENOEXEC && fatbin_open(fd, &f, &other) == 0) {
		rc = add_fatbin(b, f, o, err);
		fatbin_close(f);
	}
	return rc;
}

static int add_file(struct buf *b, const char *path, const struct gpu_opts *o, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc = fd < 0 ? err_set(err, errno, "cannot open: %s", strerror(errno))
			: add_open_file(b, fd, o, err);
	if (rc < 0)
		err_prefix(err, "%s", path);
	if (fd >= 0)
		close(fd);
	return rc;
}

int gpu_code_run(const struct cmd_line *line, const void *opts)
{
	const struct gpu_opts *o = opts;
	struct buf b = { 0 };
	struct err err = { 0 };
	for (uint32_t i = 1; i < line->args.n; i++) {
		if (add_file(&b, line->args.v[i], o, &err) < 0) {
			buf_done(&b);
			return cmd_fail(CMD_BAD_INPUT, &err);
		}
	}
	return cmd_print(&b);
}
