// tier: test
/* Any bytes as JSON: tokens balance and keys come in objects only; what the strict reader takes the lenient one takes alike; stepping
 * over everything ends where reading everything does. */
#include "base/json/json_read.h"

#include "base/input.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool truth)
{
	if (!truth)
		abort();
}

/* Reads all tokens; *sum says what they were. */
static int read_tokens(const uint8_t *data, size_t size, bool lenient, uint64_t *sum)
{
	struct input *in;
	struct json_value v;
	int depth = 0, rc;
	must(input_open_memory(data, size, &in, NULL) == 0);
	struct json_reader *r = json_reader_new(in);
	if (lenient)
		json_set_lenient(r);
	*sum = 0;
	while ((rc = json_next(r, &v, NULL)) > 0) {
		depth += (v.token == JSON_OBJECT || v.token == JSON_ARRAY) -
			 (v.token == JSON_OBJECT_END || v.token == JSON_ARRAY_END);
		must(depth == json_depth(r) && v.text[v.len] == '\0');
		*sum = (*sum + v.token) * 31 + (v.len ? (uint8_t)v.text[v.len - 1] : 0);
	}
	must(rc < 0 || depth == 0);
	json_reader_free(r);
	input_close(in);
	return rc;
}

static int skip_all(const uint8_t *data, size_t size)
{
	struct input *in;
	struct json_value v;
	must(input_open_memory(data, size, &in, NULL) == 0);
	struct json_reader *r = json_reader_new(in);
	int rc = json_skip(r, NULL);
	if (rc > 0)
		rc = json_next(r, &v, NULL);
	json_reader_free(r);
	input_close(in);
	return rc;
}

static bool no_key(void *ctx, const struct json_value *key, const struct json_value *value,
		   int depth)
{
	(void)ctx;
	(void)value;
	must(key->token == JSON_KEY && (depth == 1 || depth == 2));
	return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t strict_sum, lenient_sum;
	int strict = read_tokens(data, size, false, &strict_sum);
	int lenient = read_tokens(data, size, true, &lenient_sum);
	if (strict == 0)
		must(lenient == 0 && strict_sum == lenient_sum);
	must((strict == 0) == (skip_all(data, size) == 0));
	json_peek_keys((const char *)data, size, no_key, NULL);
	return 0;
}
