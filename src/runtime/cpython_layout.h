/* runtime/cpython_layout.h: where things lie in CPython's structures (bpf/cpython.h), for each minor version.
 *
 * To 3.12 a table says it. From 3.13 on the process does: its _PyRuntime begins with
 *
 *     "xdebugpy"  version  free threaded  { size, offset … } for one structure after the other        64-bit words
 *
 * which is itself another one in each minor version: a small index says which word is what. A version that is newer than all known ones is
 * read as the newest of them and taken only when all words fit each other, and then the process' own main thread (cpython_threads.h).
 *
 * A copy of the structures as they were compiled is in the debug information of each build: a test compares. */
#ifndef CRESSET_RUNTIME_CPYTHON_LAYOUT_H
#define CRESSET_RUNTIME_CPYTHON_LAYOUT_H

#include "bpf/cpython.h"
#include "runtime/runtime.h"

#define CPYTHON_VERSION(major, minor) ((major) << 8 | (minor))

/* What is known of a version besides its layout. */
struct cpython_shape {
	struct cpython_layout layout;
	uint16_t head; /* of the first interpreter's pointer, from _PyRuntime; 3.6: 0 */
	bool is_known; /* false: of a version newer than the newest known one */
};

/* The words at the start of _PyRuntime that say anything. */
enum { CPYTHON_SAID_WORDS = 96 };
/* Bytes of a code object in front of its instructions. */
enum { CPYTHON_MAX_CODE = 512 };

/* Of 3.6 to 3.12. False: there is no such row. */
bool cpython_layout_of(uint16_t version, struct cpython_shape *out);

/* Whether the words are those of a version that describes itself; gives PY_VERSION_HEX. */
bool cpython_says(const uint64_t said[CPYTHON_SAID_WORDS], uint32_t *hex);

/* Of 3.13 and later ones. 0; -ENOTSUP: what is there cannot be right, or is of a build that is not walked: err says so. */
int cpython_layout_said(const uint64_t said[CPYTHON_SAID_WORDS], struct cpython_shape *out,
			struct err *err);

#endif
