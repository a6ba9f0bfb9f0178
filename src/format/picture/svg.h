/* format/picture/svg.h: the flame graph as one SVG file including its script (web/svg/flame.js): a
 * static graph anywhere, interactive in a browser, also from file://. It refers to nothing
 * outside itself. */
#ifndef CRESSET_FORMAT_PICTURE_SVG_H
#define CRESSET_FORMAT_PICTURE_SVG_H

#include "format/common/format.h"

struct err;
struct out;
struct profile;

/* Beyond this browsers take seconds for a click (17 s for 200,000 rectangles in Chromium). More is
 * -E2BIG without opts->force. */
enum { SVG_MAX_RECTS = 20000 }; /* limit: rectangles in a graph */

extern const struct format format_svg;

/* Draws an existing tree, also a difference (red grew, blue shrank; frames are as wide as on the
 * newer side, or the older). p supplies the metadata of the recording. opts->type and opts->tree
 * are ignored. */
int svg_write_tree(const struct profile *p, const struct tree *t,
		   const struct format_write_opts *opts, struct out *out, struct err *err);

/* --- chart_svg.c ---
 *
 * The flame chart as one SVG file: time on x, a lane per thread, frames below their callers, with
 * the look, search, zoom and keys of the flame graph. Spans are as in flame_chart.h, which the
 * picture explains, too. */

/* Merges frames narrower than opts->min_width_px into shades that count them, and more frames if
 * the graph would have more than SVG_MAX_RECTS rectangles, except with opts->force.
 * opts->tree.type is the type to draw; opts->type, inverted and icicle are ignored. Every sample
 * must have a time. */
int chart_svg_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		    struct err *err);

/* --- heatmap_svg.c ---
 *
 * A heatmap as one SVG file: a static picture anywhere. In a browser it shows the content of a
 * cell, and two clicks select a range and show it as a --time argument. It refers to nothing
 * outside itself. */

struct heatmap;

/* Limited by the number of rectangles that browsers handle. */
enum { HEATMAP_SVG_COLUMNS = 400 }; /* limit: columns of a heatmap graph */

int heatmap_svg_write(const struct profile *p, const struct heatmap *h, struct out *out,
		      struct err *err);

#endif
