/* format/rgb.h: colours as numbers, 0xrrggbb. */
#ifndef CRESSET_FORMAT_RGB_H
#define CRESSET_FORMAT_RGB_H

#include <stddef.h>
#include <stdint.h>

/* share 0: a; 1: b. */
uint32_t rgb_mix(uint32_t a, uint32_t b, double share);
/* hue 0 … 360; saturation and lightness 0 … 1 */
uint32_t rgb_of_hue(double hue, double saturation, double lightness);

/* FNV-1a over UTF-16, as web/colours.js has it: what is told apart by hash has the same colour in the page. What is not UTF-8 is U+FFFD there. */
uint32_t rgb_hash(const char *s, size_t len);

#endif
