/* Describes the library that samples allocations for attaching. Any program may have it. */
#include "attach/mem_attach.h"

const struct gpu_attach_library mem_attach_library = { .name = "libcresset-mem.so" };
