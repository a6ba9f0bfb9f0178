/* What is in files of device code. */
#include "cmd/gpu.h"

#include "base/escape.h"
#include "gpu/cubin_layers.h"
#include "gpu/sass.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_MAX = 4096 };

static void add_text(struct buf *b, const char *s)
{
	esc_term(b, s, strlen(s), TEXT_MAX);
}

/* --- list ------------------------------------------------------------------------------------------------------------ */

static void add_place(struct buf *b, const struct cubin_frame *f)
{
	if (f->file) {
		add_text(b, f->file);
		buf_addf(b, ":%" PRIu32, f->line);
	}
}

/* "  0x01a0  FFMA        a.cu:4  bend(float) < a.cu:22 outer(float) < …": innermost first, the text's own function left out. */
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
		if (i && f[i].file)
			buf_adds(b, " < ");
		add_place(b, &f[i]);
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

/* --- stacks ---------------------------------------------------------------------------------------------------------- */

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

static int add_file(struct buf *b, const char *path, bool as_stacks, struct err *err)
{
	struct cubin *c;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int rc = fd < 0 ? err_set(err, errno, "cannot open: %s", strerror(errno))
			: cubin_open(fd, &c, err);
	if (rc == 0) {
		if (as_stacks)
			add_stacks(b, c);
		else
			add_list(b, c);
		cubin_close(c);
	} else {
		err_prefix(err, "%s", path);
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

int gpu_code_run(const struct cmd_line *line, const struct gpu_opts *o)
{
	struct buf b = { 0 };
	struct err err = { 0 };
	for (uint32_t i = 1; i < line->args.n; i++) {
		if (add_file(&b, line->args.v[i], o->stacks, &err) < 0) {
			buf_done(&b);
			return cmd_fail(CMD_BAD_INPUT, &err);
		}
	}
	return cmd_print(&b);
}
