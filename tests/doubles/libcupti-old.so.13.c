/* tests/doubles/libcupti-old.so.13.c: libcupti.so.13.c without the functions of PC sampling, as of versions before CUDA 11.3. */
// build: -shared -fPIC -O2 -fno-omit-frame-pointer -fvisibility=hidden -Wl,-soname,libcupti.so.13 -ldl
#define NO_PC_SAMPLING
#include "libcupti.so.13.c"
