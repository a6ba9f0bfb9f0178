/* gpu/ring/version_note.h: the version of libcresset-cuda.so and libcresset-mem.so, in their files:
 * an ELF note with the version as text, so that it can be read without loading the library, also by
 * readelf -n. */
#ifndef CRESSET_GPU_RING_VERSION_NOTE_H
#define CRESSET_GPU_RING_VERSION_NOTE_H

#define VERSION_NOTE_NAME "Cresset"
enum { VERSION_NOTE_TYPE = 1, VERSION_NOTE_BYTES = 128 }; /* BYTES: of the longest version */

#endif
