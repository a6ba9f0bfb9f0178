/* trace_lib, with the variable by a descriptor (TLSDESC), in a block that fits into the static one. */
// build: -O1 -fno-omit-frame-pointer -shared -fPIC -mtls-dialect=gnu2
#include "trace_lib.c" /* the same library */
