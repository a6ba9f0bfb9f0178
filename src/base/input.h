/* base/input.h: a file or pipe being read from start to end, unpacked on the way when it is gzip, zstd or xz inside (found by
 * its first bytes). Text that says by a byte order mark that it is UTF-16 is given as UTF-8; the mark itself is left out,
 * also that of UTF-8. Memory is one window, whatever the size of the file; a bomb meets INPUT_MAX_BYTES. */
#ifndef CRESSET_BASE_INPUT_H
#define CRESSET_BASE_INPUT_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { INPUT_PEEK = 64 * 1024 };
#define INPUT_MAX_BYTES (64ull << 30) /* of unpacked (and decoded) bytes in a stream */
#define INPUT_MAX_LINE \
	(16u \
	 << 20) /* longer lines are given in pieces: the first piece with *cut, the rest dropped */
#define INPUT_MAX_WHOLE (4ull << 30) /* what input_all takes */

struct input;

/* "-" is standard input. */
int input_open(const char *path, struct input **out, struct err *err);
int input_open_memory(const void *data, size_t len, struct input **out,
		      struct err *err); /* data is not copied */
void input_close(struct input *in);
const char *input_name(const struct input *in); /* for messages */

/* Asks before each further piece of the file whether to go on; an error that it sets is the failure of this and all later
 * reads. */
void input_watch(struct input *in, int (*may_go_on)(void *ctx, const char *name, struct err *err),
		 void *ctx);

/* The same question by a reader that reads the file by its name: 0, or the failure. */
int input_ask(struct input *in, struct err *err);

/* The name by which the same bytes can be read again: that of a regular file that is not packed; else NULL. */
const char *input_path(const struct input *in);

/* Whether it is bytes in memory (input_open_memory). */
bool input_is_memory(const struct input *in);

/* The first bytes without consuming them; fewer than INPUT_PEEK only when the input is shorter. */
int input_peek(struct input *in, const char **data, size_t *len, struct err *err);

/* The next line without \n or \r\n, valid until the next call. 1 = a line, 0 = end, or -errno. */
int input_line(struct input *in, const char **line, size_t *len, bool *cut, struct err *err);

/* Up to n bytes; returns their number, 0 at the end, or -errno. */
long input_read(struct input *in, void *data, size_t n, struct err *err);

/* Whether input_read_at works: not through a pipe, and not when it is packed. */
bool input_has_offsets(const struct input *in);
/* Up to n bytes from this offset of the whole, whatever was read so far; fewer only at the end; or -errno. */
long input_read_at(struct input *in, uint64_t offset, void *data, size_t n, struct err *err);

/* Everything that is left, appended to b; -EFBIG past max. */
int input_all(struct input *in, size_t max, struct buf *b, struct err *err);

#endif
