/* Reads the JSON by keys in any order. */
#include "format/speedscope/speedscope.h"

#include "base/json/json_read.h"

#include <string.h>

struct speedscope_clues {
	bool has_schema, has_parts, has_others;
};

static bool speedscope_clue(void *ctx, const struct json_value *key, const struct json_value *value,
			    int depth)
{
	static const char *const known[] = { "version", "exporter", "name", "activeProfileIndex" };
	struct speedscope_clues *clues = ctx;
	if (depth != 1)
		return false;
	if (json_is(key, "$schema") && value->token == JSON_STRING)
		clues->has_schema = strstr(value->text, "speedscope.app/file-format-schema.json");
	else if (json_is(key, "shared"))
		clues->has_parts |= value->token == JSON_OBJECT;
	else if (json_is(key, "profiles"))
		clues->has_parts |= value->token == JSON_ARRAY;
	else {
		bool is_known = false;
		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			is_known |= json_is(key, known[i]);
		clues->has_others |= !is_known;
	}
	return !clues->has_schema;
}

/* Detects the schema. If it is missing or after the first 64 KiB, detects the format's other keys,
 * provided there are no foreign ones: processed profiles of Firefox have "shared" as well. */
bool speedscope_detect(const char *head, size_t len)
{
	struct speedscope_clues clues = { 0 };
	return json_peek_keys(head, len, speedscope_clue, &clues) &&
	       (clues.has_schema || (clues.has_parts && !clues.has_others));
}

static const char *const speedscope_endings[] = { ".speedscope.json", NULL };

const struct format format_speedscope = {
	.name = "speedscope",
	.summary = "speedscope JSON: one type, by thread and time where known",
	.endings = speedscope_endings,
	.one_type = true,
	.no_negative = true,
	.detect = speedscope_detect,
	.read = speedscope_read,
	.write = speedscope_write,
};
