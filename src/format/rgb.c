#include "format/rgb.h"

#include "base/utf8.h"

static uint32_t hash_unit(uint32_t h, uint32_t unit)
{
	return (h ^ unit) * 16777619;
}

uint32_t rgb_hash(const char *s, size_t len)
{
	uint32_t h = 2166136261;
	for (size_t n; len; s += n, len -= n) {
		size_t valid = utf8_len(s, len);
		uint32_t c = valid ? utf8_char(s, valid) : 0xfffd;
		n = valid ? valid : 1;
		if (c > 0xffff) {
			h = hash_unit(h, 0xd800 + ((c - 0x10000) >> 10));
			c = 0xdc00 + (c & 0x3ff);
		}
		h = hash_unit(h, c);
	}
	return h ^ h >> 15;
}

uint32_t rgb_mix(uint32_t a, uint32_t b, double share)
{
	uint32_t out = 0;
	for (int shift = 0; shift < 24; shift += 8) {
		double from = (a >> shift) & 255, to = (b >> shift) & 255;
		out |= (uint32_t)(from + (to - from) * share + 0.5) << shift;
	}
	return out;
}

uint32_t rgb_of_hue(double hue, double saturation, double lightness)
{
	double chroma = saturation * (lightness < 0.5 ? lightness : 1 - lightness);
	uint32_t out = 0;
	for (int i = 0; i < 3; i++) {
		double k = hue / 30 + (i == 0 ? 0 : i == 1 ? 8 : 4);
		k -= 12 * (int)(k / 12);
		double ramp = k - 3 < 9 - k ? k - 3 : 9 - k;
		ramp = ramp < -1 ? -1 : ramp > 1 ? 1 : ramp;
		out = out << 8 | (uint32_t)(255 * (lightness - chroma * ramp) + 0.5);
	}
	return out;
}
