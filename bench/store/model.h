/* bench/store/model.h: a day of samples of a small fleet, always the same one for a seed: what bench/store.c fills every store with.
 *
 * 10 nodes run the same 40 programs; each (node, program, type) is a series, types are on-cpu (values: samples at 19 Hz) and off-cpu
 * (microseconds, log-normal). Activity: Zipf over the programs of a node, and the hour of the day. Each (program, type) has some 5000 stacks
 * at a time, of popularity u⁴; the popular ones live all day, the others 6 to 18 hours. Stacks are 32.5 frames deep in the mean, 5 % of them
 * 60 to 100; they branch off others of their program, and end in a shared library or the kernel. A row is (series, window of 10 s, stack, value):
 * what a series spent with a stack in a window. */
#ifndef CRESSET_BENCH_STORE_MODEL_H
#define CRESSET_BENCH_STORE_MODEL_H

#include "base/vec.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	MODEL_NODES = 10,
	MODEL_PROGRAMS = 40,
	MODEL_TYPES = 2,
	MODEL_SERIES = MODEL_NODES * MODEL_PROGRAMS * MODEL_TYPES,
	MODEL_POOLS = MODEL_PROGRAMS * MODEL_TYPES, /* what has stacks of its own */
	MODEL_FRAMES_PER_FUNCTION = 5,
	MODEL_WINDOW_S = 10,
	MODEL_MAX_DEPTH = 100,
};
/* A UTC midnight. */
#define MODEL_START_NS (20483 * 86400000000000ll)

struct model_opts {
	double size; /* 1: 161 200 functions, 45 M rows a day; load, stacks and functions go with it */
	uint32_t hours; /* at most 24 */
	const char *
		recording; /* NULL: made up; else stacks are real (model_real.h), and size is not used */
	uint64_t seed;
};

struct model_row {
	uint32_t series, window, stack; /* windows since the start */
	int64_t value;
};
typedef VEC(struct model_row) model_rows;

struct model;
struct model *model_new(const struct model_opts *opts);
void model_free(struct model *m);

/* What all series have in the next windows, by window, series, stack: the same rows, however many at once. false: the time is over. Stacks are
 * numbered as they are met. */
bool model_next(struct model *m, uint32_t windows, model_rows *out);
uint32_t model_window(const struct model *m); /* the next one */

/* Stacks that were met so far. */
uint32_t model_stacks(const struct model *m);
/* Root first; frames are function × MODEL_FRAMES_PER_FUNCTION + place in it. Valid until the next model_next. */
const uint32_t *model_stack_frames(const struct model *m, uint32_t stack, uint32_t *depth);

/* The stack with these frames; UINT32_MAX: none was met. */
uint32_t model_find_stack(const struct model *m, const uint32_t *frames, uint32_t n);

uint32_t model_functions(const struct model *m);
uint32_t model_windows(const struct model *m);
const char *model_word(const struct model *m); /* what some functions' names have */
enum { MODEL_NAME_BYTES = 512 };               /* longer ones are cut */
const char *model_function_name(const struct model *m, uint32_t function, char *buf);
const char *model_file_name(const struct model *m, uint32_t function, char *buf);
/* The program it belongs to; MODEL_PROGRAMS: the shared library, + 1: the kernel. */
uint32_t model_function_binary(const struct model *m, uint32_t function);
const char *model_binary_name(const struct model *m, uint32_t binary, char *buf);
const char *model_program_name(uint32_t program, char *buf);

/* program × MODEL_TYPES + type */
static inline uint32_t model_series_pool(uint32_t series)
{
	return series % MODEL_POOLS;
}
static inline uint32_t model_series_node(uint32_t series)
{
	return series / MODEL_POOLS;
}

/* Where in its binary a frame is. */
enum { MODEL_OFFSET_FIRST = 0x1000, MODEL_OFFSET_STEP = 16 };
static inline uint64_t model_frame_offset(uint32_t frame)
{
	return MODEL_OFFSET_FIRST + (uint64_t)frame * MODEL_OFFSET_STEP;
}
static inline uint32_t model_frame_at(uint64_t offset)
{
	return (offset - MODEL_OFFSET_FIRST) / MODEL_OFFSET_STEP;
}
static inline uint32_t model_frame_line(uint32_t frame)
{
	return 1 + frame % 997;
}

/* The rows as an agent's message, decoded: a profile of its own, with all that its samples refer to, names included. Times are the
 * first moments of windows. */
struct model_writer;
struct model_writer *model_writer_new(const struct model *m);
void model_writer_free(struct model_writer *w);
struct profile *model_write_profile(struct model_writer *w, const struct model_row *rows, size_t n);

#endif
