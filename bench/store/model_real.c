#include "model_real.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/mem.h"
#include "engine.h"
#include "store/recording/recording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MINUTE_WINDOWS = 6,
	ONE_OF = 16,
	OTHER_BINARY = MODEL_PROGRAMS,
	KERNEL_BINARY = MODEL_PROGRAMS + 1
};

/* What a frame is called: its first line's function, or where it is. A model's function has MODEL_FRAMES_PER_FUNCTION frames; one that has
 * more is several, with one name. */
struct real_function {
	uint32_t name, file, binary; /* of p's strings */
	uint32_t frames;
};
struct model_real {
	struct profile *p;
	VEC(struct real_function) functions;
	struct map by_name;   /* (name, binary) → the last function of it */
	struct map binary_of; /* name → the first binary that has one of it */
	uint32_t busiest;     /* of programs, which becomes number 0 */
	uint32_t *frame;      /* the model's by the recording's */
	uint32_t binaries[MODEL_PROGRAMS], n_binaries; /* names; p's strings */
	VEC(struct model_row) rows;                    /* by window */
	VEC(size_t) first;                             /* by window; one more at the end */
};

static void check(int rc, const struct err *err)
{
	if (rc < 0)
		bench_fail("%s", err->text);
}

/* --- names --- */

static uint32_t binary_of(struct model_real *r, const struct frame *f)
{
	if (f->kind == FRAME_KERNEL)
		return KERNEL_BINARY;
	uint32_t name =
		f->mapping == MAPPING_NONE ? f->binary : r->p->frames.mappings.v[f->mapping].name;
	for (uint32_t i = 0; i < r->n_binaries; i++)
		if (r->binaries[i] == name)
			return i;
	if (r->n_binaries == MODEL_PROGRAMS)
		return OTHER_BINARY;
	r->binaries[r->n_binaries] = name;
	return r->n_binaries++;
}

static struct real_function function_of(struct model_real *r, uint32_t frame)
{
	const struct frame *f = &r->p->frames.frames.v[frame];
	const struct line *lines;
	struct real_function found = { .binary = binary_of(r, f) };
	char text[64];
	if (f->mapping == MAPPING_NONE) {
		found.name = f->function;
		found.file = f->file;
	} else if (names_get(&r->p->names, frame, &lines)) {
		const struct function *it = &r->p->names.functions.v[lines[0].function];
		found.name = it->name;
		found.file = it->file;
	} else {
		snprintf(text, sizeof text, "0x%llx", (unsigned long long)f->offset);
		found.name = sink_string(profile_sink(r->p), text);
	}
	return found;
}

/* Functions of two files are two: other engines tell them by their names alone. */
static uint32_t distinct_name(struct model_real *r, const struct real_function *f)
{
	char text[MODEL_NAME_BYTES];
	uint32_t first = map_intern(&r->binary_of, f->name, f->binary, NULL, NULL);
	if (first == f->binary)
		return f->name;
	snprintf(text, sizeof text, "%.400s (%.100s)", profile_str(r->p, f->name),
		 model_real_binary_name(r, f->binary));
	return sink_string(profile_sink(r->p), text);
}

static uint32_t put_frame(struct model_real *r, uint32_t frame)
{
	struct real_function f = function_of(r, frame);
	f.name = distinct_name(r, &f);
	uint64_t key = hash_mix(f.name, f.binary);
	const uint32_t *known = map_get(&r->by_name, key);
	uint32_t id = known ? *known : 0;
	if (!known || r->functions.v[id].frames == MODEL_FRAMES_PER_FUNCTION) {
		id = r->functions.n;
		vec_push(&r->functions, f);
		map_put(&r->by_name, key, id);
	}
	return id * MODEL_FRAMES_PER_FUNCTION + r->functions.v[id].frames++;
}

static void put_frames(struct model_real *r)
{
	uint32_t n = r->p->frames.frames.n;
	r->frame = xcalloc(n + 1, sizeof *r->frame);
	for (uint32_t i = 0; i < n; i++)
		r->frame[i] = put_frame(r, i);
}

/* --- rows --- */

/* Of its process's name. */
static uint32_t program_of(const struct profile *p, uint32_t series)
{
	const struct series *s = &p->series.series.v[series];
	const struct label *l = label_find(&p->series, s->labels, strtab_find(&p->strings, "comm"));
	const char *name = l && !l->is_num ? profile_str(p, l->str) : "";
	return hash_bytes(name, strlen(name)) % MODEL_PROGRAMS;
}

static uint32_t busiest_program(const struct profile *p)
{
	uint32_t samples[MODEL_PROGRAMS] = { 0 }, most = 0;
	for (size_t i = 0; i < p->samples.n; i++)
		samples[program_of(p, p->samples.series[i])]++;
	for (uint32_t i = 0; i < MODEL_PROGRAMS; i++)
		most = samples[i] > samples[most] ? i : most;
	return most;
}

static bool is_off(const struct profile *p, uint32_t series)
{
	uint32_t type = p->series.series.v[series].type;
	return strcmp(profile_str(p, p->series.types.v[type].name), "cpu") != 0;
}

static int by_window(const void *a, const void *b)
{
	const struct model_row *x = a, *y = b;
	return (x->window > y->window) - (x->window < y->window);
}

static void put_rows(struct model_real *r)
{
	const struct sample_columns *c = &r->p->samples;
	int64_t first_ns = INT64_MAX;
	for (size_t i = 0; i < c->n; i++)
		first_ns = c->time_ns[i] < first_ns ? c->time_ns[i] : first_ns;
	for (size_t i = 0; i < c->n; i++) {
		bool off = is_off(r->p, c->series[i]);
		uint32_t program = program_of(r->p, c->series[i]) + MODEL_PROGRAMS - r->busiest;
		struct model_row row = {
			.series = program % MODEL_PROGRAMS * MODEL_TYPES + off,
			.window = (c->time_ns[i] - first_ns) / (MODEL_WINDOW_S * 1000000000ll),
			.stack = c->stack[i],
			.value = off ? 1 + c->value[i] / 1000 : c->value[i],
		};
		vec_push(&r->rows, row);
	}
	if (!r->rows.n)
		bench_fail("the recording has no samples");
	qsort(r->rows.v, r->rows.n, sizeof *r->rows.v, by_window);
	for (size_t i = 0; i < r->rows.n; i++)
		while (r->first.n <= r->rows.v[i].window)
			vec_push(&r->first, i);
	vec_push(&r->first, r->rows.n);
}

void model_real_rows(const struct model_real *r, uint32_t node, uint32_t window, model_rows *out)
{
	uint32_t windows = r->first.n - 1, minute = window / MINUTE_WINDOWS;
	uint32_t at = (hash_mix(node, minute) + window % MINUTE_WINDOWS) % windows;
	vec_clear(out);
	for (size_t i = r->first.v[at]; i < r->first.v[at + 1]; i++)
		if (hash_mix(hash_mix(node, window), i) % ONE_OF == 0)
			vec_push(out, r->rows.v[i]);
}

/* --- all --- */

struct model_real *model_real_new(const char *path)
{
	struct model_real *r = xcalloc(1, sizeof *r);
	struct err err = { 0 };
	struct input *in;
	r->p = profile_new();
	check(input_open(path, &in, &err), &err);
	check(recording_read(in, profile_sink(r->p), &err), &err);
	input_close(in);
	put_frames(r);
	r->busiest = busiest_program(r->p);
	put_rows(r);
	return r;
}

void model_real_free(struct model_real *r)
{
	if (!r)
		return;
	profile_free(r->p);
	vec_done(&r->functions);
	map_done(&r->by_name);
	map_done(&r->binary_of);
	free(r->frame);
	vec_done(&r->rows);
	vec_done(&r->first);
	free(r);
}

uint32_t model_real_stacks(const struct model_real *r)
{
	return r->p->stacks.stacks.n;
}

uint32_t model_real_functions(const struct model_real *r)
{
	return r->functions.n;
}

uint32_t model_real_stack(const struct model_real *r, uint32_t stack, uint32_t *frames)
{
	uint32_t n = stack_depth(&r->p->stacks, stack);
	uint32_t skip = n > MODEL_MAX_DEPTH ? n - MODEL_MAX_DEPTH : 0;
	uint32_t *all = xcalloc(n + 1, sizeof *all);
	stack_frames(&r->p->stacks, stack, all);
	for (uint32_t i = skip; i < n; i++)
		frames[i - skip] = r->frame[all[i]];
	free(all);
	return n - skip;
}

const char *model_real_name(const struct model_real *r, uint32_t function)
{
	return profile_str(r->p, r->functions.v[function].name);
}

const char *model_real_file(const struct model_real *r, uint32_t function)
{
	return profile_str(r->p, r->functions.v[function].file);
}

uint32_t model_real_binary(const struct model_real *r, uint32_t function)
{
	return r->functions.v[function].binary;
}

const char *model_real_binary_name(const struct model_real *r, uint32_t binary)
{
	if (binary == KERNEL_BINARY)
		return "[kernel]";
	return binary < r->n_binaries ? profile_str(r->p, r->binaries[binary]) : "[other]";
}
