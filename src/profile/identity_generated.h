/* profile/identity_generated.h: names of code that is generated at run time, with numbers,
 * addresses, tiers of compilation and places. */
#ifndef CRESSET_PROFILE_IDENTITY_GENERATED_H
#define CRESSET_PROFILE_IDENTITY_GENERATED_H

#include "profile/frame.h"

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* The language that a function's name is in: its kind; if it is native code, that of its source
 * file ("x.go"), or the one that the form of its name shows, as many files have no kinds ("JS:*f",
 * "example.com/json/v2.Decode"). FRAME_JIT stands for all code that is generated at run time. */
enum frame_kind identity_language(enum frame_kind kind, const char *name, size_t len,
				  const char *file, size_t file_len);

/* Appends the name of code made at run time, as a perf map or jitdump has it, without what only
 * says how far it is optimized: V8's marks ("JS:*'render" for "JS:render") and compilers
 * ("-liftoff"); without Erlang's rows for what lies before a function ("-CodeInfoPrologue") and
 * its "$" in perf maps. Returns false, with out untouched, if it has no such part. */
bool identity_code(const char *s, size_t len, struct buf *out);

/* Returns the path of the source file in the name of generated code ("/srv/app.js" of
 * "JS:*render /srv/app.js:3:9"), and its length, 0 if none exists. identity_name removes its
 * directory. */
const char *identity_place(const char *s, size_t len, size_t *n);

/* --- for identity_name: parts to remove --- */

struct cut;

/* Returns the length of the part to remove at the end of a name; 0: none. */
size_t generated_suffix(const char *s, size_t len);
/* Same for the number of a compiled function, which is removed once. */
size_t generated_number(const char *s, size_t len);
/* The first part to remove at `from` or later. */
struct cut generated_cut(const char *s, size_t len, size_t from);

#endif
