/* Sub-ranges of a query, and their parser. */
#include "query/query.h"

#include "base/buf.h"
#include "base/err.h"
#include "query/time.h"

#include <errno.h>
#include <string.h>

uint32_t query_pieces(const struct query *q)
{
	return q->within ? q->n_within : 1;
}

struct query_piece query_piece_at(const struct query *q, uint32_t i)
{
	struct query_piece part = { q->from_ns, q->to_ns };
	if (!q->within)
		return part;
	if (q->within[i].from_ns > part.from_ns)
		part.from_ns = q->within[i].from_ns;
	if (q->within[i].to_ns < part.to_ns)
		part.to_ns = q->within[i].to_ns;
	if (part.to_ns < part.from_ns)
		part.to_ns = part.from_ns;
	return part;
}

/* "moment..moment" */
static int parse_part(char *text, const struct time_words *words, const char *what,
		      struct query_piece *out, struct err *err)
{
	char *dots = strstr(text, "..");
	if (!dots)
		return err_set(err, EINVAL, "%s: '%.40s' is not a range of time: FROM..TO", what,
			       text);
	*dots = '\0';
	int rc = time_parse(text, words, what, &out->from_ns, err);
	return rc ? rc : time_parse(dots + 2, words, what, &out->to_ns, err);
}

static int check_part(const struct query_piece *part, const struct query_piece *before,
		      const char *what, struct err *err)
{
	if (part->to_ns <= part->from_ns)
		return err_set(err, EINVAL, "%s: a range ends before it starts", what);
	if (before && part->from_ns < before->to_ns)
		return err_set(err, EINVAL, "%s: parts must be in order and must not overlap",
			       what);
	return 0;
}

int query_within_parse(const char *text, const struct time_words *words, const char *what,
		       struct query_piece *out, struct err *err)
{
	struct buf copy = { 0 };
	int n = 0, rc = 0;
	buf_adds(&copy, text);
	char *at = buf_cstr(&copy);
	for (char *part; rc == 0 && (part = strsep(&at, ",")); n++) {
		if (n == QUERY_MAX_WITHIN) {
			rc = err_set(err, EINVAL, "%s: more than %d parts", what, QUERY_MAX_WITHIN);
			break;
		}
		rc = parse_part(part, words, what, &out[n], err);
		if (rc == 0)
			rc = check_part(&out[n], n ? &out[n - 1] : NULL, what, err);
	}
	buf_done(&copy);
	return rc < 0 ? rc : n;
}
