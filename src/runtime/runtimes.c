/* The table of runtimes. */
#include "runtime/runtime.h"

#include "runtime/cpython_parts.h"
#include "runtime/hotspot_parts.h"
#include "runtime/php_parts.h"
#include "runtime/v8_parts.h"

const struct runtime_kind *const runtimes[] = { &cpython_runtime, &hotspot_runtime, &v8_runtime,
						&php_runtime, NULL };
