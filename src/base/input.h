/* base/input.h: reads a file or pipe from start to end and decompresses gzip, zstd and xz (detected
 * by the first bytes). Text with a byte order mark of UTF-16 is converted to UTF-8; the mark is
 * removed, also that of UTF-8. Memory is one window, whatever the size of the file;
 * INPUT_MAX_BYTES stops a decompression bomb. */
#ifndef CRESSET_BASE_INPUT_H
#define CRESSET_BASE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

enum { INPUT_PEEK = 64 * 1024 };
#define INPUT_MAX_BYTES (64ull << 30) /* limit: bytes of a stream, uncompressed and decoded */
/* Longer lines are truncated: returns the first piece with *cut, drops the rest. */
/* limit: a line of perf script or folded stacks; longer ones are skipped */
#define INPUT_MAX_LINE  (16u << 20)
#define INPUT_MAX_WHOLE (4ull << 30) /* the most that input_all reads */

struct input;

/* "-" is standard input. */
int input_open(const char *path, struct input **out, struct err *err);
int input_open_memory(const void *data, size_t len, struct input **out,
		      struct err *err); /* data is not copied */
void input_close(struct input *in);
const char *input_name(const struct input *in); /* for messages */

/* Calls may_go_on before each further piece of the file; an error from it fails this and all later
 * reads. */
void input_watch(struct input *in, int (*may_go_on)(void *ctx, const char *name, struct err *err),
		 void *ctx);

/* Calls may_go_on for a reader that opens the file by its name. Returns 0 or the failure. */
int input_ask(struct input *in, struct err *err);

/* Returns a name by which the same bytes can be read again: that of an uncompressed regular file;
 * else NULL. */
const char *input_path(const struct input *in);

/* Whether the data are in memory (input_open_memory). */
bool input_is_memory(const struct input *in);

/* Returns the first bytes without consuming them; fewer than INPUT_PEEK only if the input is
 * shorter. */
int input_peek(struct input *in, const char **data, size_t *len, struct err *err);

/* Reads the next line without \n or \r\n, valid until the next call. Returns 1, 0 at the end, or
 * -errno. */
int input_line(struct input *in, const char **line, size_t *len, bool *cut, struct err *err);

/* Reads up to n bytes; returns their number, 0 at the end, or -errno. */
long input_read(struct input *in, void *data, size_t n, struct err *err);

/* Whether input_read_at works: not for pipes or compressed data. */
bool input_has_offsets(const struct input *in);
/* Reads up to n bytes at this offset, independently of other reads. Returns their number, fewer
 * than n only at the end, or -errno. */
long input_read_at(struct input *in, uint64_t offset, void *data, size_t n, struct err *err);

/* Appends the rest of the input to b; -EFBIG past max. */
int input_all(struct input *in, size_t max, struct buf *b, struct err *err);

#endif
