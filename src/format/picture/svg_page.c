/* Writes the common head, style, legend and script of SVG files. */
#include "format/picture/svg_page.h"

#include "base/escape.h"
#include "base/fs.h"
#include "base/utf8.h"
#include "format/common/columns.h"

enum { LEGEND_MAX_NAME = 40 };
#define CHAR_WIDTH 6.6 /* of the labels' 11 px fixed-width font, rounded up */
#define TEXT_WIDTH 6.8 /* of the legend's 12 px proportional font, on average */

int svg_flush(struct svg_page *page, size_t at_least, struct err *err)
{
	int rc = 0;
	if (page->buf.len < at_least)
		return 0;
	rc = out_write(page->out, page->buf.data, page->buf.len, err);
	buf_clear(&page->buf);
	return rc;
}

void svg_text(struct buf *b, const char *s, size_t max)
{
	struct buf shown = { 0 };
	esc_term(&shown, s, strlen(s), max);
	esc_xml(b, shown.data, shown.len, SIZE_MAX);
	buf_done(&shown);
}

char svg_letter(uint8_t swatch)
{
	return swatch < 26 ? 'a' + swatch : 'A' + swatch - 26;
}

void svg_put_colors(struct buf *b, const struct palette *p, struct svg_colors *colors)
{
	uint32_t n;
	const struct legend_line *legend = palette_legend(p, &n);
	for (uint32_t i = 0; i < n; i++)
		colors->used[legend[i].swatch][PALETTE_STEPS / 2] = true;
	const struct swatch *swatches = palette_swatches(p, &n);
	for (int s = 0; s < PALETTE_MAX_SWATCHES; s++)
		for (int step = 0; step < PALETTE_STEPS; step++)
			if (colors->used[s][step])
				buf_addf(b, ".cf .%c%d{fill:#%06x}\n", svg_letter(s), step,
					 palette_rgb(&swatches[s], step));
}

void svg_put_light(struct buf *b, const struct palette *p)
{
	uint32_t n;
	const struct swatch *swatches = palette_swatches(p, &n);
	buf_adds(b, " data-light=\"");
	for (uint32_t i = 0; i < n; i++)
		if (swatches[i].light_text)
			buf_addc(b, svg_letter(i));
	buf_addc(b, '"');
}

uint32_t svg_put_legend(struct buf *b, const struct palette *p)
{
	uint32_t n, rows = 0;
	const struct legend_line *legend = palette_legend(p, &n);
	double x = 0;
	struct buf text = { 0 };
	buf_adds(b, "<g class=\"legend\">\n");
	for (uint32_t i = 0; i < n; i++) {
		buf_clear(&text);
		columns_fit(&text, legend[i].label, LEGEND_MAX_NAME);
		if (legend[i].self >= 0.0005) /* less would be shown as 0.0 % */
			buf_addf(&text, " %.1f %%", 100 * legend[i].self);
		double width = 16 + TEXT_WIDTH * utf8_width(buf_cstr(&text)) + 16;
		if (x + width > SVG_INNER) {
			x = 0;
			rows++;
		}
		buf_addf(b,
			 "<g transform=\"translate(%.0f,%u)\"><rect class=\"%c%d\" width=\"12\" "
			 "height=\"12\"/><text x=\"16\" y=\"10\">",
			 SVG_PAD + x, SVG_LEGEND_TOP + SVG_ROW * rows, svg_letter(legend[i].swatch),
			 PALETTE_STEPS / 2);
		esc_xml(b, text.data, text.len, SIZE_MAX);
		buf_adds(b, "</text></g>\n");
		x += width;
	}
	buf_adds(b, "</g>\n");
	buf_done(&text);
	return n ? SVG_ROW * (rows + 1) : 0;
}

void svg_put_root(struct buf *b, uint32_t height)
{
	buf_addf(b,
		 "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		 "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cf\" role=\"img\" width=\"%d\" "
		 "height=\"%u\" viewBox=\"0 0 %d %u\" font-family=\"sans-serif\" font-size=\"12\"",
		 SVG_WIDTH, height, SVG_WIDTH, height);
}

void svg_put_heading(struct buf *b, const char *title, const char *sub)
{
	buf_addf(b,
		 "<rect class=\"bg\" width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		 "<text class=\"title\" x=\"%d\" y=\"24\" font-size=\"17\">",
		 SVG_WIDTH / 2);
	svg_text(b, title, SIZE_MAX);
	buf_addf(b, "</text>\n<text class=\"sub\" x=\"%d\" y=\"44\">", SVG_WIDTH / 2);
	svg_text(b, sub, SIZE_MAX);
	buf_adds(b, "</text>\n");
}

double svg_gapped(double width_px)
{
	double width = width_px > 2 ? width_px - 0.5 : width_px * 0.75;
	return width < 0.05 ? 0.05 : width;
}

void svg_put_label(struct buf *b, double x, double y, double width_px, const char *name,
		   const char *class)
{
	struct buf fitted = { 0 };
	if (width_px < SVG_MIN_LABEL)
		return;
	columns_fit(&fitted, name, (width_px - 6) / CHAR_WIDTH);
	buf_addf(b, "<text%s x=\"%.1f\" y=\"%.1f\">", class, x + 3, y + 12.5);
	esc_xml(b, fitted.data, fitted.len, SIZE_MAX);
	buf_adds(b, "</text>\n");
	buf_done(&fitted);
}

void svg_put_script(struct buf *b, const char *text, size_t len)
{
	buf_adds(b, "<script><![CDATA[\n");
	buf_add(b, text, len);
	buf_adds(b, "]]></script>\n");
}
