/* format/firefox_markers.h: samples that cover time (waits) as interval markers of a thread, beside the samples themselves: what the
 * Profiler's marker chart draws from their start to their end. Each is called by the wait's reason, else by its state. */
#ifndef CRESSET_FORMAT_FIREFOX_MARKERS_H
#define CRESSET_FORMAT_FIREFOX_MARKERS_H

#include "base/json.h"
#include "format/firefox_rows.h"

struct fx_markers {
	struct json *json;
	struct fx_out_tables *tables;
	void (*flush)(void *ctx); /* called now and then: what is in json's buffer may go */
	void *ctx;
	VEC(size_t) samples; /* of the thread, those that cover time */
};

/* "markerSchema": what meta says of them. */
void fx_write_marker_schema(struct json *json);
/* "markers": of m->samples. */
void fx_write_markers(struct fx_markers *m);

#endif
