/* format/palette.h: which colour a frame of a picture has, and what the colours mean.
 *
 *     kind     what the frame is: native, kernel, Python, GPU …           (default, but for `wall` and `off-cpu`)
 *     binary   the file it comes from, hue by hash of the name
 *     wall     red on-CPU, blue off-CPU, grey waiting for a CPU, lilac where frames above are several of them
 *     classic  the hues of the first flame graphs: hot, java, mem or io, by what the profile holds
 *     mono     greys by domain, for print and for high contrast
 *     diff     red grew, blue shrank: always taken when the tree is a difference
 *
 * A colour is a swatch (what it means) and a step 0 … PALETTE_STEPS - 1 (by hash of the function name) that varies its lightness by
 * ±6 %, so that neighbours separate and the meaning stays. Text on every colour has a contrast of at least 4.5 : 1 (WCAG AA):
 * #111, or white where the swatch says so. The page has the same colours (web/colours.js; tests/web/colours.test.js compares both). */
#ifndef CRESSET_FORMAT_PALETTE_H
#define CRESSET_FORMAT_PALETTE_H

#include "base/err.h"
#include "profile/tree.h"

#include <stdbool.h>
#include <stdint.h>

enum { PALETTE_STEPS = 5, PALETTE_MAX_SWATCHES = 52 };

/* The first swatches of every palette. */
enum { PALETTE_ROOT, PALETTE_REST, PALETTE_UNKNOWN, PALETTE_OWN };

struct swatch {
	uint32_t first, middle,
		last; /* 0xrrggbb of step 0, of the one in the middle and of the last one */
	bool light_text;
};
/* A line of the legend; self is the share of all self time, negative where a share makes no sense. */
struct legend_line {
	uint8_t swatch;
	const char *label; /* lives as long as the tree */
	double self;
};
struct shade {
	uint8_t swatch, step;
};

struct palette;

/* name, or the default of a type where it is NULL. */
const char *palette_for(const char *name, const char *type_name);
/* The colours for this tree, which must outlive the palette. name NULL is the default of the tree's type; -EINVAL with the nearest name in err. */
int palette_new(const char *name, const struct tree *t, struct palette **out, struct err *err);
void palette_free(struct palette *p);

struct shade palette_shade(const struct palette *p, uint32_t node);
const struct swatch *palette_swatches(const struct palette *p, uint32_t *n);
uint32_t palette_rgb(const struct swatch *s, uint8_t step);
/* Largest share first. */
const struct legend_line *palette_legend(const struct palette *p, uint32_t *n);
/* What the legend adds up: by function of the tree, its share (0 … 1) of all self values. */
const double *palette_self(const struct palette *p);

#endif
