#include "format/recording.h"

#include <string.h>

static const char *const recording_endings[] = { ".cresset", NULL };

const struct format format_recording = {
	.name = "cresset",
	.summary = "recording with everything in it",
	.notes = "Grows while it is recorded and is called NAME.tmp until it is complete; after a "
		 "crash that "
		 "file opens up to its last commit. It cannot go to standard output.",
	.endings = recording_endings,
	.detect = recording_detect,
	.read = recording_read,
	.write = recording_write,
};

bool recording_detect(const char *head, size_t len)
{
	return len >= sizeof RECORDING_MAGIC &&
	       memcmp(head, RECORDING_MAGIC, sizeof RECORDING_MAGIC) == 0;
}
