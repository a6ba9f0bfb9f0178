/* The format's table row, and detection by fields. */
#include "format/otlp/otlp.h"

#include "base/buf.h"
#include "base/input.h"
#include "base/pb.h"

static const char *const otlp_endings[] = { ".otlp", NULL };

const struct format format_otlp = {
	.name = "otlp",
	.summary = "OpenTelemetry profiles, gzipped",
	.notes = "The message of opentelemetry-proto 1.10, with custom attributes where it has no "
		 "field; 1.8 and 1.9 are read as well. Exact thread times are lost, and durations "
		 "of samples that differ from their values.",
	.endings = otlp_endings,
	.detect = otlp_detect,
	.read = otlp_read,
	.write = otlp_write,
};

/* Whether a message has only length-delimited fields numbered up to `most`. Sets *n to their
 * number, up to where the message is truncated. */
static bool has_fields_of_bytes(struct cur c, uint32_t most, uint32_t *n)
{
	struct pb_field f;
	*n = 0;
	while (pb_next(&c, &f)) {
		if (f.wire != PB_LEN || f.num > most)
			return false;
		++*n;
	}
	return true;
}

/* Reads the field at c, also if the head truncates it. Returns false if it is not one of a message
 * with two length-delimited fields. */
static bool next_part(struct cur *c, uint32_t *num, struct cur *part, bool *is_cut)
{
	uint64_t tag = cur_varint(c), len = cur_varint(c);
	*num = tag >> 3;
	if (c->bad || (tag & 7) != PB_LEN || *num < DATA_RESOURCE_PROFILES ||
	    *num > DATA_DICTIONARY)
		return false;
	*is_cut = len > cur_left(c);
	*part = cur_of(c->p, *is_cut ? cur_left(c) : len);
	cur_take(c, *is_cut ? cur_left(c) : len);
	return true;
}

/* A pprof file also has length-delimited fields 1 and 2, but with two numbers in the first and at
 * most three fields in the second. */
bool otlp_detect(const char *head, size_t len)
{
	struct cur c = cur_of(head, len), part;
	bool is_cut = false, any = false;
	uint32_t num, n;
	while (cur_left(&c)) {
		if (!next_part(&c, &num, &part, &is_cut) || (is_cut && len < INPUT_PEEK))
			return false;
		bool is_table = num == DATA_DICTIONARY;
		if (!has_fields_of_bytes(part, is_table ? OTLP_TABLES - 1 : 3, &n))
			return false;
		any |= is_table ? is_cut && n > 3 : n > 0;
	}
	return any;
}
