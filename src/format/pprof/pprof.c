/* The format's table row. */
#include "format/pprof/pprof.h"

#include "base/buf.h"
#include "base/input.h"
#include "base/pb.h"

static const char *const pprof_endings[] = { ".pb.gz", ".pb", ".pprof", NULL };

const struct format format_pprof = {
	.name = "pprof",
	.summary = "pprof protobuf, gzipped",
	.endings = pprof_endings,
	.keeps_drop_frames = true,
	.detect = pprof_detect,
	.read = pprof_read,
	.write = pprof_write,
};

/* Whether a message consists of two numbers, as ValueType does. */
static bool looks_like_value_type(struct cur c)
{
	struct pb_field f;
	while (pb_next(&c, &f))
		if (f.num > VALUE_TYPE_UNIT || f.wire != PB_VARINT)
			return false;
	return !c.bad;
}

static bool looks_like_field(const struct pb_field *f)
{
	switch (f->num) {
	case PROFILE_SAMPLE_TYPE:
	case PROFILE_PERIOD_TYPE:
		return f->wire == PB_LEN && looks_like_value_type(f->len);
	case PROFILE_SAMPLE:
	case PROFILE_MAPPING:
	case PROFILE_LOCATION:
	case PROFILE_FUNCTION:
	case PROFILE_STRING_TABLE:
		return f->wire == PB_LEN;
	case PROFILE_COMMENT:
		return f->wire == PB_LEN || f->wire == PB_VARINT;
	}
	return f->num <= PROFILE_DOC_URL && f->wire == PB_VARINT;
}

/* Whether the field at c is a bytes field truncated by the head, not a malformed one. */
static bool is_cut_field(struct cur c)
{
	uint64_t tag = cur_varint(&c), len = cur_varint(&c);
	return c.bad || (tag >> 3 <= PROFILE_DOC_URL && (tag & 7) == PB_LEN && len > cur_left(&c));
}

/* Accepts only fields of a Profile with their wire types, as far as the head goes. If the file ends
 * inside a field, a sample type is required, which is unlikely by chance. */
bool pprof_detect(const char *head, size_t len)
{
	struct cur c = cur_of(head, len), before = c;
	struct pb_field f;
	bool any = false, has_sample_type = false;
	while (pb_next(&c, &f)) {
		if (!looks_like_field(&f))
			return false;
		any = true;
		has_sample_type |= f.num == PROFILE_SAMPLE_TYPE;
		before = c;
	}
	if (!c.bad)
		return any;
	return len < INPUT_PEEK ? has_sample_type : any && is_cut_field(before);
}
