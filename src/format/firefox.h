/* format/firefox.h: profiles of the Firefox Profiler (profiler.firefox.com): what Firefox records ("Gecko" format), what the
 * Profiler saves and samply writes ("processed" format), and what `perf script report gecko` makes. One JSON object; described in
 * the Profiler's docs-developer/ and src/types/profile.ts.
 *
 *     meta     { startTime: ms since 1970, interval: ms, categories: [{ name }] }
 *     threads  [{ name, pid, tid, processName, samples, stackTable, frameTable, funcTable, resourceTable, stringArray … }]
 *     libs     [{ name, start … }]    shared { stringArray, sources, … }    processes [{ meta, libs, threads … }]
 *
 * Tables are columns (processed) or {schema: {name: place}, data: [rows]} (Gecko). A thread without
 * a stackTable uses the tables in shared, as newer versions have it; strings and sources alike. Members come in any order, so columns are kept as integers until the end of the file.
 *
 * Read: weightType samples → cpu, samples/count, period cpu/nanoseconds from meta.interval; tracing-ms → trace, time/nanoseconds;
 * bytes → memory, space/bytes; or what meta.extra says where a cresset wrote it. Labels comm (thread) and process. Frames are by
 * name; kind by category (Kernel, JavaScript, …), else isJS, else guessed. A frame that nobody has named is "library+0xoffset".
 * "(root)" is left out. Markers, counters and allocations are not read.
 *
 * Written: processed format, version FIREFOX_VERSION, one type; a thread per (pid, tid, comm, process). Profiles without times get
 * one interval per sample; waits are interval markers as well. */
#ifndef CRESSET_FORMAT_FIREFOX_H
#define CRESSET_FORMAT_FIREFOX_H

#include "format/format.h"

enum {
	FIREFOX_VERSION = 56,        /* the first with one stringArray; later ones upgrade it */
	FIREFOX_GECKO_VERSION = 29,  /* what meta.version says beside it */
	FIREFOX_MAX_CELLS = 1 << 28, /* of all tables read; what is beyond is skipped and counted */
	FIREFOX_MAX_THREADS = 1 << 18,
	FIREFOX_MAX_PROCESSES = 1 << 12, /* nested profiles */
};

extern const struct format format_firefox;

bool firefox_detect(const char *head, size_t len);
int firefox_read(struct input *in, struct sink *sink, struct err *err);
int firefox_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		  struct err *err);

/* The category that stands for each kind; names of other programs' categories are compared with these. */
struct firefox_category {
	const char *name, *color;
};
extern const struct firefox_category firefox_categories[FRAME_KINDS];

#endif
