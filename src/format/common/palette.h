/* format/common/palette.h: the colour of a frame in a graph, and the meaning of the colours.
 *
 *     kind     what the frame is: native, kernel, Python, GPU … (default, except for `wall` and
 *              `off-cpu`)
 *     binary   the file the frame comes from; hue by hash of its name
 *     wall     red on-CPU, blue off-CPU, grey waiting for a CPU, lilac if the frames above mix
 *              several of them
 *     classic  the hues of the first flame graphs: hot, java, mem or io, by the profile's content
 *     mono     greys by domain, for print and for high contrast
 *     diff     red grew, blue shrank; always used if the tree is a difference
 *
 * A colour is a swatch (its meaning) and a step 0 … PALETTE_STEPS - 1 (by hash of the function
 * name). The step varies the lightness by ±6 %, so that neighbours can be distinguished while the
 * meaning stays. Text on every colour has a contrast of at least 4.5 : 1 (WCAG AA): #111, or white
 * if light_text is set. The page uses the same colours (web/colours.js;
 * tests/web/colours.test.js compares both). */
#ifndef CRESSET_FORMAT_COMMON_PALETTE_H
#define CRESSET_FORMAT_COMMON_PALETTE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct tree;

enum { PALETTE_STEPS = 5, PALETTE_MAX_SWATCHES = 52 };

/* The first swatches of every palette. */
enum { PALETTE_ROOT, PALETTE_REST, PALETTE_UNKNOWN, PALETTE_OWN };

struct swatch {
	uint32_t first, middle, last; /* 0xrrggbb of the first, the middle and the last step */
	bool light_text;
};
/* A line of the legend. self is the share of all self time, negative if a share makes no sense. */
struct legend_line {
	uint8_t swatch;
	const char *label; /* lives as long as the tree */
	double self;
};
struct shade {
	uint8_t swatch, step;
};

struct palette;

/* Returns name, or if it is NULL the default for the type. */
const char *palette_for(const char *name, const char *type_name);
/* Creates the colours for a tree, which must outlive the palette. name NULL is the default of the
 * tree's type. Returns -EINVAL with the nearest name in err if the name is unknown. */
int palette_new(const char *name, const struct tree *t, struct palette **out, struct err *err);
void palette_free(struct palette *p);

struct shade palette_shade(const struct palette *p, uint32_t node);
const struct swatch *palette_swatches(const struct palette *p, uint32_t *n);
uint32_t palette_rgb(const struct swatch *s, uint8_t step);
/* Largest share first. */
const struct legend_line *palette_legend(const struct palette *p, uint32_t *n);
/* The values behind the legend: by function of the tree, its share (0 … 1) of all self values. */
const double *palette_self(const struct palette *p);

#endif
