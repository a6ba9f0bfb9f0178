/* format/python/python.h: what samplers of Python write.
 *
 * --- python_text.c: lines of austin and of profiling.sampling --collapsed (Python 3.15):
 *
 *     # austin: 3.7.0                                   settings; mode: wall, cpu, memory, full
 *     P12;T0:13;/app/a.py:main:14;/app/a.py:work:3 100  µs; bytes with -m; µs,idle,bytes with -f
 *     tid:13;a.py:main:14;a.py:work:3 7                 samples
 *
 * Root first. A frame is file:function:line, of the line that ran. In all files of
 * profiling.sampling "<native>" stands for code that is not Python (--native).
 *
 * --- python_binary.c: profiling.sampling --binary, in either byte order:
 *
 *     u32 0x54414348              "HCAT", or "TACH" if big endian
 *     u32 version = 1
 *     u8 × 4                     Python's version, 0
 *     u64 start, u64 interval    µs, monotonic
 *     u32 samples, 0, threads
 *     u64 strings, u64 frames    offsets of these tables
 *     u32 compression            of the records: 0, 1 zstd
 *     from byte 64 on: the records
 *       u64 thread, u32 interpreter, u8 how
 *       0: n, n × { step, status }                           the same stack n times
 *       1: step, status, depth, frames                       a whole stack, leaf first
 *       2: step, status, n, m, m frames                      n frames at the root stay
 *       3: step, status, n, m, m frames                      n frames at the leaf go
 *     strings: length, bytes;  frames: file, function, line (zigzag), end of it, two columns, u8
 *     48 bytes before the end, "TACHSTAT": counts
 *
 * Numbers without a size are LEB128.
 *
 * --- python_jsonl.c: profiling.sampling --jsonl: an object per line, of a type: meta,
 * string_table, frame_table, agg (self and cumulative samples of each frame), end. There are no
 * stacks.
 *
 * --- austin_binary.c: austin -b; the file is described there. */
#ifndef CRESSET_FORMAT_PYTHON_PYTHON_H
#define CRESSET_FORMAT_PYTHON_PYTHON_H

#include "format/common/format.h"

enum {
	/* limit: bytes of a file of profiling.sampling --binary, of austin -b */
	PYTHON_MAX_BYTES = 1 << 30,
	/* limit: its threads, and frames of their last stacks */
	PYTHON_MAX_THREADS = 1 << 16,
	PYTHON_MAX_KEPT_FRAMES = 1 << 24,
};
/* limit: frames of all its stacks; later ones are left out */
#define PYTHON_MAX_STEPS (1ull << 34)

#define PYTHON_NATIVE "<native>"

extern const struct format format_python_text, format_python_binary, format_python_jsonl;
extern const struct format format_austin_binary;

#endif
