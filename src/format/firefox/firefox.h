/* format/firefox/firefox.h: profiles of the Firefox Profiler (profiler.firefox.com): recordings of
 * Firefox ("Gecko" format), files saved by the Profiler or written by samply ("processed" format),
 * and the output of `perf script report gecko`. One JSON object; described in the Profiler's
 * docs-developer/ and src/types/profile.ts.
 *
 *     meta       { startTime: ms since 1970, interval: ms, categories: [{ name }] }
 *     threads    [{ name, pid, tid, processName, samples, stackTable, frameTable, funcTable,
 *                 resourceTable, stringArray … }]
 *     libs       [{ name, start … }]
 *     shared     { stringArray, sources, … }
 *     processes  [{ meta, libs, threads … }]
 *
 * Tables are columns (processed) or {schema: {name: place}, data: [rows]} (Gecko). A thread without
 * a stackTable uses the tables in shared, as in newer versions; the same holds for strings and
 * sources. Members arrive in any order, so columns are retained as integers until the end of the
 * file.
 *
 * Reading: weightType samples → cpu, samples/count, period cpu/nanoseconds from meta.interval; with
 * threadCPUDelta → cpu and wall, both in nanoseconds;
 * tracing-ms → trace, time/nanoseconds; bytes → memory, space/bytes. In files of our own writer
 * meta.extra gives the type instead. Labels are comm (thread) and process. Frames are known by
 * name; their kind comes from the category (Kernel, JavaScript, …), else from isJS, else it is
 * guessed. An unsymbolized frame is an offset in its file if that is on this machine, with the
 * same build id (codeId), else "library+0xoffset". "(root)" is dropped. Markers, counters and
 * allocations are not read.
 *
 * Writing: processed format, version FIREFOX_VERSION, one type; a thread per (pid, tid, comm,
 * process). In profiles without times, samples are one interval apart. Waits are also interval
 * markers. */
#ifndef CRESSET_FORMAT_FIREFOX_FIREFOX_H
#define CRESSET_FORMAT_FIREFOX_FIREFOX_H

#include "format/common/format.h"
#include "profile/frame.h"

struct err;
struct input;
struct sink;

enum {
	FIREFOX_VERSION = 56,        /* the first with one stringArray; newer readers upgrade it */
	FIREFOX_GECKO_VERSION = 29,  /* value of meta.version next to it */
	FIREFOX_MAX_CELLS = 1 << 28, /* limit: cells of all tables; others are skipped */
	FIREFOX_MAX_THREADS = 1 << 18,   /* limit: threads; others are skipped */
	FIREFOX_MAX_PROCESSES = 1 << 12, /* limit: nested processes; others are skipped */
};

extern const struct format format_firefox;

bool firefox_detect(const char *head, size_t len);
int firefox_read(struct input *in, struct sink *sink, struct err *err);
/* Same, on the machine of the recording: frames without names are given by the offsets in their
 * files. here may be NULL. */
int firefox_read_here(struct input *in, struct sink *sink, const struct format_here *here,
		      struct err *err);

/* The category of each kind. Categories of other programs are matched by these names. */
struct firefox_category {
	const char *name, *color;
};
extern const struct firefox_category firefox_categories[FRAME_KINDS];

#endif
