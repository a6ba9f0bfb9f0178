/* trace_lib, with the variable in the block of static variables (initial-exec). */
// build: -O1 -fno-omit-frame-pointer -shared -fPIC -ftls-model=initial-exec
#include "trace_lib.c" /* the same library */
