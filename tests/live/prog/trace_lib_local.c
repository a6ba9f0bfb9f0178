/* trace_lib, with the variable that the linker has bound to its own. */
// build: -O1 -fno-omit-frame-pointer -shared -fPIC -DVISIBLE=protected
#include "trace_lib.c" /* the same library */
