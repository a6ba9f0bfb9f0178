/* PHP as a runtime: finds it in a process, and names its functions. */
#include "runtime/php_parts.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/mem.h"
#include "bpf/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct runtime_object {
	struct php_file file;
};

struct runtime {
	struct runtime_maps maps;
};

struct runtime_process {
	struct runtime *runtime;
	uint32_t pid;
	struct php_file file;
	bool has_row; /* in the walker's map */
};

static int detect(const struct elf_file *f, const char *path, struct runtime_object **out,
		  struct err *err)
{
	struct runtime_object o;
	int rc = php_file_read(f, &o.file, err);

	(void)path;
	if (rc == 0)
		*out = xmemdup(&o, sizeof o);
	return rc;
}

static void object_free(struct runtime_object *o)
{
	free(o);
}

static struct runtime *runtime_open(const struct runtime_maps *maps)
{
	struct runtime *r = xcalloc(1, sizeof *r);

	r->maps = *maps;
	return r;
}

static void runtime_close(struct runtime *r)
{
	free(r);
}

/* --- a process -------------------------------------------------------------------------------- */

static void detach(struct runtime_process *p)
{
	if (p && p->has_row)
		p->runtime->maps.drop(p->runtime->maps.ctx, PHP_PROCESSES, p->pid);
	free(p);
}

static struct php_process row_of(const struct php_file *f, uint64_t bias)
{
	struct php_process row = {
		.current = f->globals + bias + f->current,
		.body = f->body ? f->body + bias : 0,
		.body_cfa = f->body_cfa,
		.is_by_fp = f->is_by_fp,
		.func_last = f->func_last,
		.func_opcodes = f->func_opcodes,
		.func_file = f->func_file,
		.func_lines = f->func_lines,
	};
	for (uint32_t i = 0; i < f->n_loop; i++)
		row.loop[i] = (struct code_range){ f->loop[i].start + bias, f->loop[i].end + bias };
	return row;
}

static int attach(struct runtime *runtime, uint32_t pid, const struct runtime_place *places,
		  size_t n, const struct runtime_memory *memory, struct runtime_process **out,
		  struct err *err)
{
	const struct php_file *file = &places[0].object->file;
	uint64_t bias;

	(void)n, (void)memory;
	if (!mapped_code_bias(&file->code, places[0].start, places[0].pgoff, &bias))
		return err_set(err, ENOTSUP, "PHP's code is not mapped as in its file");
	struct php_process row = row_of(file, bias);
	int rc = runtime->maps.put(runtime->maps.ctx, PHP_PROCESSES, pid, &row, sizeof row);
	if (rc < 0)
		return err_set(err, -rc, "no memory for the process: %s", strerror(-rc));
	struct runtime_process *p = xcalloc(1, sizeof *p);
	p->runtime = runtime;
	p->pid = pid;
	p->file = *file;
	p->has_row = true;
	*out = p;
	return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

/* The name of an anonymous class has a 0 byte, and what follows is for PHP only. */
static void add_text(struct buf *out, const char *text, uint32_t len, size_t max)
{
	size_t n = len < max ? len : max;

	esc_utf8(out, text, strnlen(text, n), n);
	if (len > max)
		buf_adds(out, "…");
}

/* Of a longer path there is the end. */
static void add_file(struct buf *out, const struct event_function *f)
{
	if (f->file_len > sizeof f->file)
		buf_adds(out, "…");
	esc_utf8(out, f->file, f->file_len < sizeof f->file ? f->file_len : sizeof f->file,
		 sizeof f->file);
}

static const char *base_of(struct buf *path)
{
	const char *text = buf_cstr(path), *slash = strrchr(text, '/');

	return slash ? slash + 1 : text;
}

/* The code of a file is named by it. A closure has its file and line, which PHP itself adds from
 * 8.4 on. */
static bool name_function(const struct event_function *f, struct buf *name, struct buf *file)
{
	static const char closure[] = "{closure";
	const size_t n = f->name_len < sizeof f->name ? f->name_len : sizeof f->name;

	add_file(file, f);
	if (f->scope_len) {
		add_text(name, f->scope, f->scope_len, sizeof f->scope);
		buf_adds(name, "::");
	}
	if (!n)
		buf_adds(name, file->len ? base_of(file) : "");
	else if (file->len && memmem(f->name, n, closure, sizeof closure - 1))
		buf_addf(name, "{closure:%s:%u}", base_of(file), f->line);
	else
		add_text(name, f->name, f->name_len, sizeof f->name);
	return name->len != 0;
}

/* --- display ---------------------------------------------------------------------------------- */

static void describe(const struct runtime_process *p, struct buf *out)
{
	static const char *const loops[] = { "of an unknown kind", "of calls", "a switch",
					     "of gotos", "hybrid" };

	buf_addf(out, "PHP %u.%u.%u, identified by X-Powered-By; its loop is %s", p->file.major,
		 p->file.minor, p->file.patch, loops[p->file.vm]);
	if (!p->file.body)
		buf_adds(out, "; code of the JIT is not walked");
	buf_addc(out, '\n');
}

const struct runtime_kind php_runtime = {
	.name = "PHP",
	.language = "php",
	.file_name = "php",
	.detect = detect,
	.object_free = object_free,
	.open = runtime_open,
	.close = runtime_close,
	.attach = attach,
	.detach = detach,
	.name_function = name_function,
	.makes_code = true,
	.describe = describe,
};
