/* format/common/guess.h: guesses the kind of a frame from a name in another program's file. */
#ifndef CRESSET_FORMAT_COMMON_GUESS_H
#define CRESSET_FORMAT_COMMON_GUESS_H

#include "profile/frame.h"

#include <stddef.h>

/* Returns the kind of a frame known only by name: markers ("[truncated: …]", "-") and GPU kernels
 * ("[GPU_Kernel]…") by the name, else the language by the extension of the source file, else
 * FRAME_NATIVE. The texts need not end in NUL. */
enum frame_kind guess_kind(const char *name, size_t name_len, const char *file, size_t file_len);

#endif
