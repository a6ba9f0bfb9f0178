// tier: test
/* Any bytes as a file of each of a GPU's libraries, and as the beginning of a function. */
#include "attach/prologue.h"
#include "gpu/code/probes.h"
#include "symbol/elf/elf_file.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file f;
	int at = prologue_place(data, size < PROLOGUE_BYTES ? size : PROLOGUE_BYTES);

	if (at >= PROLOGUE_BYTES || (at >= 0 && (size_t)at >= size))
		abort();
	if (elf_file_open_image(&f, data, size, NULL))
		return 0;
	for (size_t i = 0; gpu_libraries[i]; i++) {
		struct gpu_places places = { 0 };

		if (gpu_places_find(&f, gpu_libraries[i], ~0u, &places, NULL) == 0)
			for (size_t k = 0; k < places.all.n; k++)
				if (places.all.v[k].offset < places.all.v[k].entry_offset)
					abort();
		gpu_places_done(&places);
	}
	elf_file_close(&f);
	return 0;
}
