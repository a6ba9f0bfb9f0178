/* format/chart_svg.h: the flame chart as one SVG file: time on x, a lane per thread, frames below their callers; with the look, the
 * search, the zoom and the keys of the flame graph. What flame_chart.h says of spans holds here, and the picture says it, too. */
#ifndef CRESSET_FORMAT_CHART_SVG_H
#define CRESSET_FORMAT_CHART_SVG_H

#include "format/format.h"

/* Frames narrower than opts->min_width_px are merged into shades that count them; more of them where the picture would have more than
 * SVG_MAX_RECTS rectangles, but not with opts->force. opts->tree.type is the type to draw; opts->type, inverted and icicle do not
 * count. Every sample has a time. */
int chart_svg_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		    struct err *err);

#endif
