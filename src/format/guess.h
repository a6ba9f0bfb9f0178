/* format/guess.h: what kind of frame a name from another program's file stands for. */
#ifndef CRESSET_FORMAT_GUESS_H
#define CRESSET_FORMAT_GUESS_H

#include "profile/frame.h"

#include <stddef.h>

/* The kind of a frame known by name only: markers ("[truncated: …]", "-") and GPU kernels
 * ("[GPU_Kernel]…") by the name, else the language by the ending of the source file; FRAME_NATIVE
 * when nothing tells. The texts need not end in NUL. */
enum frame_kind guess_kind(const char *name, size_t name_len, const char *file, size_t file_len);

#endif
