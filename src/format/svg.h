/* format/svg.h: the flame graph as one SVG file with its script inside (web/svg/flame.js): a picture anywhere, interactive in a
 * browser, also from file://. It refers to nothing outside itself. */
#ifndef CRESSET_FORMAT_SVG_H
#define CRESSET_FORMAT_SVG_H

#include "format/format.h"

/* Browsers take seconds for a click beyond this (17 s for 200,000 rectangles in Chromium). More is -E2BIG without opts->force. */
enum { SVG_MAX_RECTS = 20000 };

extern const struct format format_svg;

/* Draws a tree that is there already, a difference too (red grew, blue shrank; frames are as wide as the newer side, or the older). What is
 * said about the recording comes from p. opts->type and opts->tree are not looked at. */
int svg_write_tree(const struct profile *p, const struct tree *t,
		   const struct format_write_opts *opts, struct out *out, struct err *err);

#endif
