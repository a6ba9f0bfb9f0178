/* format/callgrind/callgrind.h: files of valgrind's callgrind and cachegrind, also read by
 * KCachegrind.
 *
 *     # callgrind format
 *     events: Ir Dr                        types; "positions:" sets how many numbers start a line
 *     fl=(1) main.c                        file, function, object (ob=): "(1) name" names number 1,
 *     fn=(1) main                          "(1)" refers to it
 *     16 20 3                              line 16: self cost 20 Ir, 3 Dr
 *     cfn=(2) work
 *     calls=3 50                           three calls; the next line: call site, inclusive cost
 *     +1 400 80
 *     fi=(2) inline.h                      code of another file inlined into main; fe= ends it
 *
 * The sources are the manual of valgrind 3.19, "Callgrind Format Specification", and the practice
 * of valgrind, xdebug, pprof and KCachegrind beyond it.
 *
 * The file is a call graph without stacks: callgrind_stacks.c estimates them. The writer stores the
 * tree of one type as such a graph. */
#ifndef CRESSET_FORMAT_CALLGRIND_CALLGRIND_H
#define CRESSET_FORMAT_CALLGRIND_CALLGRIND_H

#include "format/common/format.h"

struct err;
struct input;
struct out;
struct profile;
struct sink;

extern const struct format format_callgrind;

enum { CALLGRIND_MAX_COMMENTS = 64 }; /* "desc:" lines kept */

bool callgrind_detect(const char *head, size_t len);
int callgrind_read(struct input *in, struct sink *sink, struct err *err);
int callgrind_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		    struct err *err);

#endif
