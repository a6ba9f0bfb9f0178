/* format/gperftools/gperftools.h: the files of gperftools, and the texts of Go's runtime/pprof that
 * have the same form.
 *
 * --- gperf_cpu.c: CPU profiles (CPUPROFILE=…), words of 32 or 64 bits in either byte order:
 *
 *     0, 3, 0, period in µs, 0
 *     count, depth, depth program counters      a record, leaf first; callers: return addresses
 *     0, 1, 0                                   the end of the records
 *     text of /proc/self/maps
 *
 * --- gperf_text.c: heap profiles and others, by line:
 *
 *     heap profile: N: BYTES [N: BYTES] @ KIND/PERIOD      in use [allocated]
 *     N: BYTES [N: BYTES] @ 0x12 0x34                      of a stack, leaf first
 *
 *     goroutine profile: total N                           also threadcreate, goroutineleak …
 *     N @ 0x12 0x34
 *
 *     --- contention:                                      or mutex
 *     cycles/second=N
 *     sampling period=N
 *     CYCLES N @ 0x12 0x34
 *
 * Go has lines "#	0x12	function+0x3	file:line" for a stack, innermost first,
 * without frames of the runtime at the leaf; gperftools has the text of /proc/self/maps at the end.
 * Values that a sampler with a period wrote unscaled (heap_v2, Go's heap) are scaled as pprof does
 * it. */
#ifndef CRESSET_FORMAT_GPERFTOOLS_GPERFTOOLS_H
#define CRESSET_FORMAT_GPERFTOOLS_GPERFTOOLS_H

#include "format/common/format.h"

enum {
	/* limit: bytes of a CPU profile, decompressed */
	GPERF_MAX_BYTES = 1 << 30,
	/* limit: program counters and named frames of a text, Go's too */
	GPERF_MAX_FRAMES = 1 << 26,
};

extern const struct format format_gperf_cpu, format_gperf_text;

#endif
