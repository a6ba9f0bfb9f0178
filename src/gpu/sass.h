/* gpu/sass.h: what an instruction of NVIDIA's is called: "FFMA", "LDG". From sm_70 on they have 128 bits, of which bits 0-11 say which it is (and
 * bits 9-11 of those in which form); names are those of nvdisasm without modifiers. sm_70 to sm_121. */
#ifndef CRESSET_GPU_SASS_H
#define CRESSET_GPU_SASS_H

#include <stdint.h>

enum { SASS_NAME_MAX = 16 };

/* NULL when the instruction or the SM is not known. */
const char *sass_mnemonic(unsigned sm, const uint64_t word[2]);

/* The same, or "op 0x7ff" for what is not known. */
const char *sass_name(unsigned sm, const uint64_t word[2], char text[SASS_NAME_MAX]);

#endif
