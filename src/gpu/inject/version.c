/* The version of libcresset-cuda.so and libcresset-mem.so, in their files. */
#include "gpu/ring/version_note.h"

#include <stdint.h>

#define PADDED(size) (((size) + 3) & ~3ul)

static const struct {
	uint32_t name_bytes, version_bytes, type;
	char name[PADDED(sizeof VERSION_NOTE_NAME)];
	char version[PADDED(sizeof CRESSET_VERSION)];
} note __attribute__((section(".note.cresset"), used, aligned(4))) = {
	.name_bytes = sizeof VERSION_NOTE_NAME,
	.version_bytes = sizeof CRESSET_VERSION,
	.type = VERSION_NOTE_TYPE,
	.name = VERSION_NOTE_NAME,
	.version = CRESSET_VERSION,
};

_Static_assert(sizeof CRESSET_VERSION <= VERSION_NOTE_BYTES, "readers can hold it");
