/* tools/mkassets/js.h: JavaScript cut into tokens, one after the other, as far as what removes comments and joins modules must know it.
 *
 * Whether a / begins a regular expression or divides depends on what is before it. This decides by the token before and by what opened the
 * bracket that it closes: right for all code but that which divides a function's body or a class. */
#ifndef CRESSET_TOOLS_JS_H
#define CRESSET_TOOLS_JS_H

#include <stdbool.h>
#include <stddef.h>

enum js_kind {
	JS_END,
	JS_SPACE,   /* of any length */
	JS_COMMENT, /* without the newline behind a // */
	JS_WORD,    /* names, keywords, #private */
	JS_NUMBER,
	JS_STRING,
	JS_TEMPLATE, /* a piece: `…` or `…${ or }…${ or }…` */
	JS_REGEX,
	JS_SIGN, /* one character, but for => ++ -- */
};
struct js_token {
	enum js_kind kind;
	const char *s;
	size_t len;
	unsigned depth; /* brackets around it; of a bracket: around the pair */
};

enum { JS_MAX_DEPTH = 256 };
enum js_bracket { JS_PLAIN, JS_CONTROL /* of if, for, while, with */, JS_BLOCK, JS_PIECE };
struct js {
	const char *at, *end;
	struct js_token last; /* neither space nor comment */
	bool after_point;     /* it is a property's name */
	enum js_bracket closed;
	unsigned char open[JS_MAX_DEPTH]; /* of enum js_bracket */
	unsigned depth;
	const char *trouble; /* NULL: none; else the tokens have ended */
};

void js_init(struct js *j, const char *text, size_t len);
/* False: the end, or trouble. */
bool js_next(struct js *j, struct js_token *out);
bool js_is(const struct js_token *t, const char *text);

#endif
