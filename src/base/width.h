/* base/width.h: how many columns of a terminal one character takes. */
#ifndef CRESSET_BASE_WIDTH_H
#define CRESSET_BASE_WIDTH_H

#include <stdint.h>

/* 0, 1 or 2; control characters count 1. */
unsigned char_width(uint32_t c);

#endif
