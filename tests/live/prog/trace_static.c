/* trace_static: trace, without a dynamic linker and anywhere in memory. */
// build: -O1 -fno-omit-frame-pointer -static-pie -Wl,--export-dynamic-symbol=otel_thread_ctx_v1
#include "trace.c" /* the same program */
