#include "runtime/runtime.h"

#include "runtime/cpython.h"

const struct runtime_kind *const runtimes[] = { &cpython_runtime, NULL };
