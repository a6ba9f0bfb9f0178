/* format/heatmap_svg.h: a heatmap as one SVG file: a picture anywhere; in a browser it says what is in a cell, and two clicks pick a
 * range and show it as --time takes it. It refers to nothing outside itself. */
#ifndef CRESSET_FORMAT_HEATMAP_SVG_H
#define CRESSET_FORMAT_HEATMAP_SVG_H

#include "base/err.h"
#include "base/fs.h"
#include "profile/heatmap.h"

/* As many columns as browsers take rectangles. */
enum { HEATMAP_SVG_COLUMNS = 400 };

int heatmap_svg_write(const struct profile *p, const struct heatmap *h, struct out *out,
		      struct err *err);

#endif
