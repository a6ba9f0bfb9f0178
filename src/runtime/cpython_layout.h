/* runtime/cpython_layout.h: the layout of CPython's structures (bpf/cpython.h) in each minor
 * version.
 *
 * Up to 3.12 it comes from a table. From 3.13 on it comes from the process: _PyRuntime starts with
 *
 *     "xdebugpy"  version free threaded { size, offset … } for one structure after the other 64-bit
 *                 words
 *
 * This block itself differs between minor versions: a small index states which word is which. A
 * version newer than all known ones is read like the newest of them, and accepted only if all words
 * are consistent, and then agree with the process's own main thread (cpython_parts.h).
 *
 * The debug information of each build has the structures as they were compiled: a test compares. */
#ifndef CRESSET_RUNTIME_CPYTHON_LAYOUT_H
#define CRESSET_RUNTIME_CPYTHON_LAYOUT_H

#include "bpf/cpython.h"

#include <stdbool.h>
#include <stdint.h>

struct err;

#define CPYTHON_VERSION(major, minor) ((major) << 8 | (minor))

/* What is known about a version besides its layout. */
struct cpython_shape {
	struct cpython_layout layout;
	uint16_t head; /* offset in _PyRuntime of the pointer to the first interpreter; 3.6: 0 */
	bool is_known; /* false: the version is newer than the newest known one */
};

/* Words read at the start of _PyRuntime. */
enum { CPYTHON_SAID_WORDS = 96 };
/* Bytes of a code object before its instructions. */
enum { CPYTHON_MAX_CODE = 512 };

/* For 3.6 to 3.12. Returns false if the table has no such version. */
bool cpython_layout_of(uint16_t version, struct cpython_shape *out);

/* Returns whether the words are those of a version that describes itself, and sets *hex to
 * PY_VERSION_HEX. */
bool cpython_says(const uint64_t said[CPYTHON_SAID_WORDS], uint32_t *hex);

/* For 3.13 and later. Returns 0, or -ENOTSUP if the words are inconsistent or belong to a build
 * that cannot be walked; err states which. */
int cpython_layout_said(const uint64_t said[CPYTHON_SAID_WORDS], struct cpython_shape *out,
			struct err *err);

#endif
