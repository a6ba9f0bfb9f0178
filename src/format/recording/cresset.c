/* The format's table row: detection, reader and writer of recordings. */
#include "format/recording/cresset.h"

#include "base/input.h"
#include "store/recording/recording.h"

static const char *const cresset_endings[] = { ".cresset", NULL };

static bool cresset_detect(const char *head, size_t len)
{
	return recording_detect(head, len) || plain_recording_detect(head, len);
}

static int cresset_read(struct input *in, struct sink *sink, struct err *err)
{
	const char *head;
	size_t len;
	int rc = input_peek(in, &head, &len, err);

	if (rc)
		return rc;
	return plain_recording_detect(head, len) ? plain_recording_read(in, sink, err)
						 : recording_read(in, sink, err);
}

static int cresset_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
			 struct err *err)
{
	(void)opts;
	return recording_write(p, out, err);
}

const struct format format_cresset = {
	.name = "cresset",
	.summary = "recording with everything in it",
	.notes = "A SQLite file, written as NAME.tmp until it is complete. After a crash NAME.tmp "
		 "is readable up to its last commit, together with NAME.tmp-wal in the same "
		 "directory. It cannot be written to standard output.",
	.endings = cresset_endings,
	.keeps_drop_frames = true,
	.detect = cresset_detect,
	.read = cresset_read,
	.write = cresset_write,
};
