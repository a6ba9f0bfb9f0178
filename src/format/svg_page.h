/* format/svg_page.h: what the pictures (flame graph, flame chart, heatmap) have in common as files: a width, a heading, colours with
 * their legend, style and script inside, and writing in pieces. Only svg.c, chart_svg.c and heatmap_svg.c use it.
 *
 * In user units (pixels) of the picture as it is without its script; the scripts know ROW and PAD, too. */
#ifndef CRESSET_FORMAT_SVG_PAGE_H
#define CRESSET_FORMAT_SVG_PAGE_H

#include "base/err.h"
#include "base/fs.h"
#include "format/palette.h"

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

/* A name in a picture is at most this many bytes. */
enum { SVG_MAX_NAME = 1024 };

struct svg_page {
	struct out *out;
	struct buf buf; /* what was not handed over yet */
};

/* Hands over what was written so far when it is at least so much, so that memory does not grow with the picture. */
int svg_flush(struct svg_page *page, size_t at_least, struct err *err);

/* Text from a profile, harmless as XML; at most max bytes. */
void svg_text(struct buf *b, const char *s, size_t max);

/* The class of a colour is a letter and the step: "d3". */
char svg_letter(uint8_t swatch);
/* A rule for each colour that is used, and for those of the legend. */
struct svg_colors {
	bool used[PALETTE_MAX_SWATCHES][PALETTE_STEPS];
};
void svg_put_colors(struct buf *b, const struct palette *p, struct svg_colors *colors);
/* data-light="…": the letters of swatches whose text is light. */
void svg_put_light(struct buf *b, const struct palette *p);
/* Returns its height. Lines wrap at the width of the picture, by an estimate of their own. */
uint32_t svg_put_legend(struct buf *b, const struct palette *p);

/* Opens the root element: everything but attributes of its own, ">" included in neither. */
void svg_put_root(struct buf *b, uint32_t height);
/* Background, title and the line below it. */
void svg_put_heading(struct buf *b, const char *title, const char *sub);
/* A rectangle's width with a gap to its right, but not in place of it. */
double svg_gapped(double width_px);
/* A label in a rectangle of this width; nothing where it does not fit. */
void svg_put_label(struct buf *b, double x, double y, double width_px, const char *name,
		   const char *class);

/* The script as it is but for indentation and comments that have lines of their own: every picture carries it. */
void svg_put_script(struct buf *b, const char *text, size_t len);

#endif
