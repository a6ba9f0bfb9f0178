/* Splits text, and ranks suggestions by edit distance. */
#include "base/str.h"

#include "base/mem.h"

#include <string.h>

/* Longer words have no suggestions: users mistype options and functions. */
enum { NEAREST_MAX_WORD = 64, NEAREST_MAX_DISTANCE = 2 };

char **str_split(const char *s, char sep, size_t *n)
{
	size_t parts = 1, len = strlen(s);
	for (size_t i = 0; i < len; i++)
		parts += s[i] == sep;
	char **list = xmalloc((parts + 1) * sizeof *list + len + 1);
	char *text = memcpy(list + parts + 1, s, len + 1);
	for (size_t i = 0; i < parts; i++) {
		list[i] = text;
		text += strcspn(text, (char[]){ sep, '\0' });
		*text++ = '\0';
	}
	list[parts] = NULL;
	if (n)
		*n = parts;
	return list;
}

bool str_starts(const char *s, const char *prefix)
{
	return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends(const char *s, const char *suffix)
{
	size_t len = strlen(s), tail = strlen(suffix);
	return len >= tail && memcmp(s + len - tail, suffix, tail) == 0;
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;
	return least < c ? least : c;
}

/* Optimal string alignment: insertions, deletions, replacements and swaps of neighbours. Retains
 * three rows of the table of prefixes: the current and the two previous ones. Both words are at
 * most NEAREST_MAX_WORD long. */
static unsigned edit_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned rows[3][NEAREST_MAX_WORD + 1];
	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= na; i++) {
		unsigned *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
		row[0] = i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] =
				min3(up[j] + 1, row[j - 1] + 1, up[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    up2[j - 2] + 1 < row[j])
				row[j] = up2[j - 2] + 1;
		}
	}
	return rows[na % 3][nb];
}

const char *str_nearest(const char *word, const char *const *candidates, size_t n)
{
	size_t len = strlen(word);
	unsigned limit = len / 2 < NEAREST_MAX_DISTANCE ? len / 2 : NEAREST_MAX_DISTANCE;
	const char *best = NULL;
	if (len > NEAREST_MAX_WORD)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t other = strlen(candidates[i]);
		if (other > NEAREST_MAX_WORD)
			continue;
		unsigned distance = edit_distance(word, len, candidates[i], other);
		if (distance > limit || (best && distance == limit))
			continue;
		best = candidates[i];
		limit = distance;
	}
	return best;
}
