/* V8 as a runtime: finds it in a process, and names functions of JavaScript. */
#include "runtime/v8_parts.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct runtime_object {
	struct v8_file file;
};

struct runtime {
	struct runtime_maps maps;
	size_t n_line_ends; /* of all processes */
};

/* The first frames of a version that is not in the table: if the layout does not fit too many of
 * them, the process has native frames only. Some are always gone. */
enum { TRIAL_FRAMES = 16, TRIAL_MOST_WRONG = 4 };

struct runtime_process {
	struct runtime *runtime;
	uint32_t pid;
	struct runtime_memory memory;
	struct v8_file file;
	struct v8_process row; /* as the walker has it */
	bool has_row;
	uint32_t n_tried, n_wrong;
	struct v8_lines lines;
	struct runtime_counts counts;
	/* Texts of the last name. */
	struct buf names[RUNTIME_MAX_INLINED], files[RUNTIME_MAX_INLINED];
};

static int detect(const struct elf_file *f, const char *path, struct runtime_object **out,
		  struct err *err)
{
	struct runtime_object o;
	int rc = v8_file_read(f, &o.file, err);

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

static void drop_row(struct runtime_process *p)
{
	if (p->has_row)
		p->runtime->maps.drop(p->runtime->maps.ctx, V8_PROCESSES, p->pid);
	p->has_row = false;
}

static void detach(struct runtime_process *p)
{
	if (!p)
		return;
	drop_row(p);
	v8_lines_done(&p->lines);
	for (int i = 0; i < RUNTIME_MAX_INLINED; i++) {
		buf_done(&p->names[i]);
		buf_done(&p->files[i]);
	}
	free(p);
}

/* The part of a mapping that is builtins. If the file has no symbols for them: V8 maps just them a
 * second time, from inside of the code. */
static bool builtins_in(const struct v8_file *file, const struct runtime_place *place,
			struct code_range *out)
{
	uint64_t bytes = place->end - place->start, from = file->blob, to = from + file->blob_bytes;

	if (!file->blob) {
		for (uint32_t i = 0; i < file->code.n; i++)
			if (place->pgoff > file->code.segments[i].offset + 4096 &&
			    place->pgoff - file->code.segments[i].offset <
				    file->code.segments[i].size) {
				*out = (struct code_range){ place->start, place->end };
				return true;
			}
		return false;
	}
	from = from > place->pgoff ? from : place->pgoff;
	to = to < place->pgoff + bytes ? to : place->pgoff + bytes;
	if (from >= to)
		return false;
	*out = (struct code_range){ place->start + (from - place->pgoff),
				    place->start + (to - place->pgoff) };
	return true;
}

enum { PAGE = 4096 };

/* In files without symbols the end of the builtins may be two pages too far: the next code is
 * aligned. */
static bool is_copy_size(const struct runtime_object *o, uint64_t bytes)
{
	uint64_t most = o->file.blob_bytes;

	return most && bytes + 3 * PAGE > most && bytes < most + 2 * PAGE;
}

/* Whether anonymous memory is a copy of the file's builtins. V8 makes one if it cannot map them
 * again. They start at a page, in older versions at a multiple of 64. */
static bool is_copy(const struct runtime_memory *m, const struct code_range *of, uint64_t start)
{
	static const uint64_t aligns[] = { PAGE, 64 };
	uint64_t copy[8], code[8];

	if (m->read(m->ctx, start, copy, sizeof copy) < 0)
		return false;
	for (size_t i = 0; i < sizeof aligns / sizeof *aligns; i++) {
		uint64_t from = (of->start + aligns[i] - 1) & -aligns[i];

		if (m->read(m->ctx, from, code, sizeof code) == 0 &&
		    memcmp(copy, code, sizeof code) == 0)
			return true;
	}
	return false;
}

/* Fills *out if the place has builtins; first: a mapping of the file's builtins, once known. */
static bool builtins_at(const struct runtime_process *p, const struct runtime_place *place,
			const struct runtime_object *object, const struct code_range *first,
			struct code_range *out)
{
	if (place->object)
		return place->object == object && builtins_in(&p->file, place, out);
	if (!first->end || !is_copy(&p->memory, first, place->start))
		return false;
	*out = (struct code_range){ place->start, place->end };
	return true;
}

static void fill_row(const struct v8_layout *l, struct v8_process *row)
{
	row->map_type = l->map_type;
	row->function_shared = l->function_shared;
	row->first_function = l->type_function;
	row->last_function =
		l->last_function ? l->last_function : l->type_function + V8_MORE_FUNCTIONS;
	row->shared_name = l->shared_name;
	row->shared_script = l->shared_script;
	row->shared_data = l->shared_data;
	row->type_bytecode = l->type_bytecode;
}

static int attach(struct runtime *runtime, uint32_t pid, const struct runtime_place *places,
		  size_t n, const struct runtime_memory *memory, struct runtime_process **out,
		  struct err *err)
{
	struct runtime_process *p = xcalloc(1, sizeof *p);
	uint32_t n_builtins = 0;

	p->runtime = runtime;
	p->pid = pid;
	p->memory = *memory;
	p->file = places[0].object->file;
	for (size_t i = 0; i < n && n_builtins < V8_MAX_BUILTINS; i++)
		n_builtins += builtins_at(p, &places[i], places[0].object, p->row.builtins,
					  &p->row.builtins[n_builtins]);
	fill_row(&p->file.layout, &p->row);
	int rc = runtime->maps.put(runtime->maps.ctx, V8_PROCESSES, pid, &p->row, sizeof p->row);
	if (rc < 0) {
		detach(p);
		return err_set(err, -rc, "no memory for the process: %s", strerror(-rc));
	}
	p->has_row = true;
	p->lines.n_all = &runtime->n_line_ends;
	*out = p;
	return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

static struct v8_reader reader_of(const struct runtime_process *p)
{
	return (struct v8_reader){ &p->file.layout, &p->memory };
}

static enum runtime_named named_by(int rc)
{
	if (rc == 0)
		return RUNTIME_NAMED;
	return rc == -ESTALE ? RUNTIME_GONE : RUNTIME_UNREADABLE;
}

/* The script's name: a path, a URL of one, or what Node calls its own. */
static const char *read_file(struct runtime_process *p, uint64_t script, struct buf *to)
{
	const struct v8_reader r = reader_of(p);
	uint64_t name;

	buf_clear(to);
	if (!script || v8_field(&r, script, p->file.layout.script_name, &name) < 0 ||
	    v8_text_read(&r, name, 4 * V8_MAX_NAME, to) < 0 || !to->len)
		return NULL;
	const char *text = buf_cstr(to);
	return strncmp(text, "file://", 7) == 0 ? text + 7 : text;
}

/* Functions without a name are called by their place. */
static const char *name_of(const struct v8_function *f, const char *file, uint32_t line,
			   uint32_t column, struct buf *to)
{
	const char *slash = file ? strrchr(file, '/') : NULL;

	buf_clear(to);
	if (*f->name)
		buf_adds(to, f->name);
	else if (file && line)
		buf_addf(to, "%s:%u:%u", slash && slash[1] ? slash + 1 : file, line, column);
	else
		buf_adds(to, "(anonymous)");
	return buf_cstr(to);
}

/* Adds a function. position: in its script. Returns 0, or an error if the function was moved until
 * its end. */
static int add_frame(struct runtime_process *p, const struct v8_function *f, int32_t position,
		     struct runtime_frames *out)
{
	const struct v8_reader r = reader_of(p);
	struct runtime_frame *to = &out->v[out->n];
	uint32_t start_line = 0, column = 0, line = 0, unused;
	const char *file = read_file(p, f->script, &p->files[out->n]);

	v8_line_of(&p->lines, &r, f->script, f->start, &start_line, &column);
	v8_line_of(&p->lines, &r, f->script, position, &line, &unused);
	*to = (struct runtime_frame){
		.name = name_of(f, file, start_line, column, &p->names[out->n]),
		.file = file,
		.line = line ? line : start_line,
		.start_line = start_line,
	};
	out->n++;
	return v8_function_check(&r, f);
}

/* The offset in a frame is counted from the array's address, with its tag. */
static int32_t bytecode_position(const struct v8_reader *r, const struct v8_function *f,
				 uint32_t offset)
{
	struct v8_position at;
	uint64_t table;
	uint32_t header = r->layout->bytecode_header - 1u;

	if (offset < header ||
	    v8_field(r, f->bytecode, r->layout->bytecode_positions, &table) < 0 ||
	    v8_positions_read(r, table, offset - header, &at) < 0)
		return V8_NO_POSITION;
	return at.offset;
}

/* Sets *is_own for a builtin that V8 calls without a name: a step of a promise, for example. */
static int name_in_builtin(struct runtime_process *p, const uint64_t words[2],
			   struct runtime_frames *out, bool *is_own)
{
	const struct v8_reader r = reader_of(p);
	struct v8_function f;
	int rc = v8_function_read(&r, RUNTIME_ADDRESS_OF(words[0]) + 1, RUNTIME_STAMP_OF(words[1]),
				  UINT32_MAX, &f);

	if (rc < 0)
		return rc;
	*is_own = !f.bytecode && !*f.name;
	rc = add_frame(p, &f,
		       f.bytecode ? bytecode_position(&r, &f, RUNTIME_OFFSET_OF(words[1]))
				  : V8_NO_POSITION,
		       out);
	v8_function_done(&f);
	return rc;
}

/* A function that is known by its code. */
static int add_site(struct runtime_process *p, const struct v8_site *site,
		    struct runtime_frames *out)
{
	const struct v8_reader r = reader_of(p);
	struct v8_function f;
	int rc = v8_function_read(&r, site->shared, 0, 0, &f);

	if (rc < 0)
		return rc;
	rc = add_frame(p, &f, site->offset, out);
	v8_function_done(&f);
	return rc;
}

/* Whether the code still is the one that was read, and calls the same functions: the garbage
 * collector moves them. */
static int check_sites(const struct v8_reader *r, const struct v8_code *code, uint64_t pc,
		       const struct v8_site *sites, uint32_t n)
{
	struct v8_site now[RUNTIME_MAX_INLINED];
	struct v8_code again;
	uint32_t n_now = 0;
	int rc = v8_code_find(r, pc, &again);

	if (rc == 0 && (again.start != code->start || again.code != code->code))
		rc = -ESTALE;
	rc = rc < 0 ? rc : v8_code_sites(r, code, pc, now, RUNTIME_MAX_INLINED, &n_now);
	if (rc == 0 && n_now != n)
		rc = -ESTALE;
	for (uint32_t i = 0; i < n && rc == 0; i++)
		if (now[i].shared != sites[i].shared || now[i].offset != sites[i].offset)
			rc = -ESTALE;
	return rc;
}

/* The code must be that of the frame's function. A leaf without a known function gets no name:
 * other code may be at its place by now. */
static int name_optimized(struct runtime_process *p, const struct v8_code *code, uint64_t pc,
			  const uint64_t words[2], struct runtime_frames *out)
{
	const struct v8_reader r = reader_of(p);
	const uint64_t own = RUNTIME_ADDRESS_OF(words[0]) + 1;
	struct v8_site sites[RUNTIME_MAX_INLINED];
	struct v8_function f;
	uint32_t n = 0;
	int rc = v8_function_read(&r, own, words[1] >> V8_PC_BITS, UINT32_MAX >> 16, &f);

	if (rc < 0)
		return rc;
	v8_function_done(&f);
	rc = v8_code_sites(&r, code, pc, sites, RUNTIME_MAX_INLINED, &n);
	if (rc == 0 && sites[n - 1].shared != own)
		rc = -ESTALE;
	for (uint32_t i = 0; i < n && rc == 0; i++)
		rc = add_site(p, &sites[i], out);
	return rc < 0 ? rc : check_sites(&r, code, pc, sites, n);
}

/* Other code does not name its function: the frame has it. Baseline code belongs to the function
 * that runs it; a copy of the interpreter's entry (--interpreted-frames-native-stack) to any. */
static int name_by_frame(struct runtime_process *p, const struct v8_code *code,
			 const uint64_t words[2], struct runtime_frames *out)
{
	const struct v8_reader r = reader_of(p);
	struct v8_function f;
	uint64_t bytecode;
	bool is_baseline = code->kind == p->file.layout.kind_baseline;
	int rc = v8_function_read(&r, RUNTIME_ADDRESS_OF(words[0]) + 1, words[1] >> V8_PC_BITS,
				  UINT32_MAX >> 16, &f);

	rc = rc < 0 ? rc : v8_field(&r, code->code, p->file.layout.code_deopt, &bytecode);
	if (rc < 0)
		return rc;
	if (is_baseline && f.data != code->code && f.bytecode != bytecode)
		rc = -ESTALE;
	else
		rc = add_frame(p, &f, V8_NO_POSITION, out);
	v8_function_done(&f);
	return rc;
}

static int name_compiled(struct runtime_process *p, const uint64_t words[2],
			 struct runtime_frames *out)
{
	const struct v8_reader r = reader_of(p);
	uint64_t pc = words[1] & ((1ull << V8_PC_BITS) - 1);
	struct v8_code code;
	int rc = v8_code_find(&r, pc, &code);

	if (rc < 0)
		return rc;
	if (!RUNTIME_ADDRESS_OF(words[0]))
		return -ESTALE;
	if (v8_code_is_optimized(&p->file.layout, &code))
		return name_optimized(p, &code, pc, words, out);
	return name_by_frame(p, &code, words, out);
}

static void note_trial(struct runtime_process *p, bool is_wrong)
{
	if (p->file.layout.is_known || p->n_tried == TRIAL_FRAMES)
		return;
	p->n_tried++;
	p->n_wrong += is_wrong;
	if (p->n_wrong > TRIAL_MOST_WRONG)
		drop_row(p);
}

static enum runtime_named name_frame(struct runtime_process *p, const uint64_t words[2],
				     struct runtime_frames *out)
{
	uint32_t kind = RUNTIME_KIND_OF(words[0]);
	bool is_own = false;
	int rc = -EBADMSG;

	out->n = 0;
	if (kind == V8_IN_BUILTIN)
		rc = name_in_builtin(p, words, out, &is_own);
	else if (kind == V8_COMPILED)
		rc = name_compiled(p, words, out);
	if (rc < 0)
		out->n = 0;
	note_trial(p, rc == -EBADMSG || rc == -ESTALE);
	enum runtime_named named = rc == 0 && is_own ? RUNTIME_OWN : named_by(rc);
	p->counts.frames[named]++;
	return named;
}

/* --- display ---------------------------------------------------------------------------------- */

static void describe(const struct runtime_process *p, struct buf *out)
{
	const struct v8_layout *l = &p->file.layout;
	uint32_t n = 0;

	while (n < V8_MAX_BUILTINS && p->row.builtins[n].end)
		n++;
	buf_addf(out,
		 "V8 %u.%u.%u.%u, identified by v8::internal::Version; builtins mapped %u time%s",
		 l->version >> 8, l->version & 255, p->file.build, p->file.patch, n,
		 n == 1 ? "" : "s");
	if (!n)
		buf_adds(out, ": interpreted functions are addresses");
	if (!l->is_known)
		buf_adds(out, p->n_wrong > TRIAL_MOST_WRONG
				      ? "; not a known version: native frames only"
				      : "; not a known version, read as the nearest one");
	buf_addc(out, '\n');
}

static const struct runtime_counts *counts(const struct runtime_process *p)
{
	return &p->counts;
}

const struct runtime_kind v8_runtime = {
	.name = "V8",
	.language = "js",
	.file_name = "node",
	.is_mapped_twice = true,
	.is_copy_size = is_copy_size,
	.detect = detect,
	.object_free = object_free,
	.open = runtime_open,
	.close = runtime_close,
	.attach = attach,
	.detach = detach,
	.name_frame = name_frame,
	.makes_code = true,
	.describe = describe,
	.counts = counts,
};
