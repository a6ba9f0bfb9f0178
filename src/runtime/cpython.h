/* runtime/cpython.h: CPython 3.6 to 3.14, and later ones that describe themselves the same way. */
#ifndef CRESSET_RUNTIME_CPYTHON_H
#define CRESSET_RUNTIME_CPYTHON_H

#include "runtime/runtime.h"

extern const struct runtime_kind cpython_runtime;

/* The walker's maps: layouts by index, processes by pid (bpf/cpython.h). */
#define CPYTHON_LAYOUTS   "cpython_layouts"
#define CPYTHON_PROCESSES "cpython_processes"

#endif
