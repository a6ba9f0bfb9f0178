/* format/picture/svg_page.h: code shared by the SVG files of graphs (flame graph, flame chart,
 * heatmap): width, heading, colours and legend, embedded style and script, and writing in pieces.
 * Used only by svg.c, chart_svg.c and heatmap_svg.c.
 *
 * Lengths are in user units (pixels) of the graph without its script; the scripts also know ROW
 * and PAD. */
#ifndef CRESSET_FORMAT_PICTURE_SVG_PAGE_H
#define CRESSET_FORMAT_PICTURE_SVG_PAGE_H

#include "base/buf.h"
#include "format/common/palette.h"

struct err;

enum {
	SVG_WIDTH = 1200,
	SVG_PAD = 10,
	SVG_INNER = SVG_WIDTH - 2 * SVG_PAD,
	SVG_ROW = 18,
	SVG_MIN_LABEL = 24,  /* narrower frames have no label */
	SVG_LEGEND_TOP = 54, /* below title and subtitle */
	SVG_TITLE_COLUMNS = 110,
};
#define SVG_MIN_WIDTH_DEFAULT_PX 0.1

/* Maximum bytes of a name in a graph. */
enum { SVG_MAX_NAME = 1024 };

struct svg_page {
	struct out *out;
	struct buf buf; /* not yet passed to out */
};

/* Passes on what was written if it is at least at_least bytes, so that memory does not grow with
 * the graph. */
int svg_flush(struct svg_page *page, size_t at_least, struct err *err);

/* Appends text from a profile, escaped for XML; at most max bytes. */
void svg_text(struct buf *b, const char *s, size_t max);

/* Returns the letter of a swatch. The class of a colour is this letter and the step: "d3". */
char svg_letter(uint8_t swatch);
/* Writes a rule for each colour in use, and for those of the legend. */
struct svg_colors {
	bool used[PALETTE_MAX_SWATCHES][PALETTE_STEPS];
};
void svg_put_colors(struct buf *b, const struct palette *p, struct svg_colors *colors);
/* Writes data-light="…": the letters of swatches with light text. */
void svg_put_light(struct buf *b, const struct palette *p);
/* Writes the legend and returns its height. Lines wrap at the graph's width, by an estimated text
 * width. */
uint32_t svg_put_legend(struct buf *b, const struct palette *p);

/* Opens the root element, without its own attributes and without ">". */
void svg_put_root(struct buf *b, uint32_t height);
/* Writes background, title and the line below it. */
void svg_put_heading(struct buf *b, const char *title, const char *sub);
/* Returns a rectangle's width minus a gap on its right, but never nothing. */
double svg_gapped(double width_px);
/* Writes a label in a rectangle of this width, or nothing if it does not fit. */
void svg_put_label(struct buf *b, double x, double y, double width_px, const char *name,
		   const char *class);

/* The script must not contain "]]>". */
void svg_put_script(struct buf *b, const char *text, size_t len);

#endif
