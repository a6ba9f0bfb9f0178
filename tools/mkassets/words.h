/* tools/mkassets/words.h: the tokens of a script, and which of its words name variables.
 *
 * A word is a variable's name wherever it stands, unless it is a keyword, stands behind a point, or is a key: of an object, a pattern, a class.
 * That is told by the brackets around it and by its neighbours, so no syntax tree is needed. Not known: labels, and a { behind `case x:`. */
#ifndef CRESSET_TOOLS_WORDS_H
#define CRESSET_TOOLS_WORDS_H

#include "base/vec.h"
#include "js.h"

#include <stdint.h>

enum word_role {
	WORD_OTHER,
	WORD_NAME,
	WORD_PAIR, /* {a}: a key and the variable of the same name */
};
enum { WORDS_NONE = UINT32_MAX };
struct word {
	struct js_token t;
	enum word_role role;
	uint32_t inside; /* the bracket around it; WORDS_NONE */
	uint32_t pair;   /* of a bracket: the other one */
	bool opens, closes;
	bool is_class, is_object; /* what a { opens */
};
typedef VEC(struct word) word_list;

/* Without blanks and comments; they point into text. What is wrong, or NULL. */
const char *words_read(const char *text, size_t len, word_list *out);

#endif
