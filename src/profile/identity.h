/* profile/identity.h: the parts of a function's name, binary and source file that stay the same
 * from build to build.
 *
 * Compilers, linkers and run-time systems add text to names that another build does not have
 * ("parse.isra.0", "write::h0123456789abcdef", "Foo$$Lambda$14/0x0000000800c8d440"); binaries and
 * directories have versions ("libssl.so.1.1", "json@v1.2.3"). The functions here remove it. They
 * look at one text at a time: profile/tree/tree_match.h decides which functions are the same, and
 * docs/internals/differences.md has each rule with an example. */
#ifndef CRESSET_PROFILE_IDENTITY_H
#define CRESSET_PROFILE_IDENTITY_H

#include "profile/frame.h"

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Each appends the text without its build-dependent parts to out and returns true, or returns false
 * if it lacks one (out is then untouched). Never appends an empty text. */

/* A function's name, of this language. */
bool identity_name(enum frame_kind kind, const char *s, size_t len, struct buf *out);
/* A binary's path: its base name without version and " (deleted)". */
bool identity_binary(const char *s, size_t len, struct buf *out);
/* A source file's path: its directories without versions. The file's own name is retained, except
 * the hash in a bundle of JavaScript. */
bool identity_file(const char *s, size_t len, struct buf *out);
/* Whether it is such a bundle with a hash. */
bool identity_is_bundle(const char *s, size_t len);

/* Returns the major version of a Go package in a function's name ("v2" of
 * "example.com/json/v2.Decode"), and its length, 0 if none exists. A program may contain several.
 * identity_name removes it. */
const char *identity_major(const char *s, size_t len, size_t *n);

/* Whether a program has at most one function of a name, so that source files are not needed to tell
 * functions apart: languages whose names contain the package or class. */
bool identity_is_unique(enum frame_kind kind);
/* Whether names are only unique in their source file ("run", "<module>"). */
bool identity_is_of_file(enum frame_kind kind);
/* Whether it is a function at all: markers and rests are compared as they are. */
bool identity_is_function(enum frame_kind kind);
/* Whether the name only states an address in the binary: "app+0x1234"; an unknown binary ("", as in
 * folded stacks) may be any. */
bool identity_is_address(const char *name, size_t len, const char *binary, size_t binary_len);
/* Whether it is a word of other programs for a missing name: perf's "[unknown]", "??" of addr2line.
 */
bool identity_is_unknown(const char *name, size_t len);

#endif
