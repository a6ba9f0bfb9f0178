/* format/perf_script/perf_script.h: the text that `perf script` prints (perf 3.x to 6.x), and what
 * other tools accept as such.
 *
 *     java 1218/1239 [003] 184694.229089:   10101010 cpu-clock:
 *     	ffffffff8104f45a native_write_msr_safe+0xa ([kernel.kallsyms])
 *     	    7f9c33ac176d __libc_start_main (/lib/x86_64-linux-gnu/libc-2.15.so)
 *                                                     an empty line ends the sample
 *
 * Sources: perf-script(1), and perf's output for each set of -F.
 *
 * Reading: every column is optional. A single id is the thread's (perf's default). The comm is a
 * label; time, pid, tid and cpu are the samples'. The value is the period if the line has one, else
 * 1. Each event is a type {event, event}, in "count", or "samples" without a period. For cpu-clock
 * and task-clock the name is "cpu" and periods are nanoseconds; cpu-clock without a period is
 * Cresset's own type {cpu, samples/count, cpu/nanoseconds}, with the period from '#' lines. Frames
 * are known by name; addresses and +0x offsets are dropped. Inlined frames are separate frames, in
 * the binary of the frame they were inlined into. Records of mmap, comm, fork, exit … are
 * skipped; those of lost events are counted in LOSS_RING_FULL. Lines of a sample other than frames
 * (registers, branches) are skipped; lines outside samples are skipped and counted.
 *
 * The binary is the last part of its path and gives the kind: [kernel…], [guest…], vmlinux,
 * [module], *.ko and BPF programs are the kernel; perf-PID.map, //anon and jitted-* are JIT,
 * without a binary; [unknown] stays a name. -F srcline gives file and line. Samples without a
 * callchain have the one frame of their line, or none. The default type is the event of the first
 * sample; "# event" lines may give a missing period. Start and duration come from the samples.
 *
 * Memory grows with the number of distinct lines and stacks, plus 40 bytes for each sample up to
 * PERF_SCRIPT_MAX_TIMED. Beyond that samples lose their time and cpu, equal ones are added up, and
 * LOSS_TIMES_DROPPED counts them. Files without times are added up from the start.
 *
 * Writing: one type, samples in chronological order: "pid/tid", or "tid" if the pid is unknown
 * (4294967295: unknown); time with nine digits; the value as period, times the type's period if
 * that is a time, as perf does; each frame as "name+0x0 (binary)". The binary gives the kind:
 * [kernel.kallsyms] or [module], /tmp/perf-0.map for JIT, //python and so on for other runtimes.
 * The file offset (in the kernel: address), or 0, is in front. Unknown comms are "?". In names
 * control characters and invalid UTF-8 become U+FFFD, in events and binaries blanks and brackets
 * '_'. */
#ifndef CRESSET_FORMAT_PERF_SCRIPT_PERF_SCRIPT_H
#define CRESSET_FORMAT_PERF_SCRIPT_PERF_SCRIPT_H

#include "format/common/format.h"
#include "profile/stack.h"

struct err;
struct input;
struct out;
struct profile;
struct sink;

extern const struct format format_perf_script;

bool perf_script_detect(const char *head, size_t len);
int perf_script_read(struct input *in, struct sink *sink, struct err *err);
int perf_script_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		      struct err *err);

enum {
	/* limit: samples with time and CPU; of more all lose both */
	PERF_SCRIPT_MAX_TIMED = 1 << 19,
	/* limit: samples that differ in stack, pid, tid or event; more are -EFBIG */
	PERF_SCRIPT_MAX_ROWS = 1 << 26,
	PERF_SCRIPT_MAX_FRAMES = STACK_MAX_DEPTH + 1, /* of one sample; the sink adds a marker */
	PERF_SCRIPT_CACHED_LINE = 4096, /* bytes; longer frame lines are parsed each time */
};

/* Our own '#' line with an event's type, fields separated by tabs: event, name, sample type, unit,
 * period type, period unit, period (0: none), and 1 if values in the file are multiplied by it,
 * else 0. */
#define PERF_SCRIPT_TYPE "# cresset type : "

#endif
