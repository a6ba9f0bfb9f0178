/* Cuts and pads text by display columns. */
#include "format/common/columns.h"

#include "base/buf.h"
#include "base/escape.h"
#include "base/utf8.h"

#include <string.h>

/* Returns the length in bytes of the first max columns of the NUL-terminated s. Sets *used to the
 * number of columns before that point. */
static size_t columns_prefix(const char *s, size_t max, size_t *used)
{
	size_t i = 0, columns = 0;
	while (s[i]) {
		size_t n = utf8_len(s + i, strnlen(s + i, 4));
		size_t width = n > 1 ? char_width(utf8_char(s + i, n)) : 1;
		n = n ? n : 1;
		if (columns + width > max || i + n > COLUMNS_MAX_BYTES)
			break;
		columns += width;
		i += n;
	}
	*used = columns;
	return i;
}

size_t columns_fit(struct buf *b, const char *s, size_t max)
{
	size_t used, end = columns_prefix(s, max, &used);
	if (!s[end]) {
		esc_term(b, s, end, SIZE_MAX);
		return used;
	}
	if (max == 0)
		return 0;
	end = columns_prefix(s, max - 1, &used);
	esc_term(b, s, end, SIZE_MAX);
	buf_adds(b, "\xe2\x80\xa6");
	return used + 1;
}

static void blanks(struct buf *b, size_t n)
{
	while (n-- > 0)
		buf_addc(b, ' ');
}

void columns_left(struct buf *b, const char *s, size_t width)
{
	blanks(b, width - columns_fit(b, s, width));
}

void columns_right(struct buf *b, const char *s, size_t width)
{
	struct buf text = { 0 };
	size_t used = columns_fit(&text, s, width);
	blanks(b, width - used);
	buf_add(b, text.data, text.len);
	buf_done(&text);
}
