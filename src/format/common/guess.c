/* Rules from names and file name endings to frame kinds. */
#include "format/common/guess.h"

#include "profile/state.h"

#include <string.h>

static const struct {
	const char *ending;
	enum frame_kind kind;
} guess_languages[] = { { ".go", FRAME_GO },    { ".py", FRAME_PYTHON },  { ".java", FRAME_JAVA },
			{ ".kt", FRAME_JAVA },  { ".scala", FRAME_JAVA }, { ".clj", FRAME_JAVA },
			{ ".js", FRAME_JS },    { ".mjs", FRAME_JS },     { ".cjs", FRAME_JS },
			{ ".ts", FRAME_JS },    { ".tsx", FRAME_JS },     { ".jsx", FRAME_JS },
			{ ".rb", FRAME_RUBY },  { ".php", FRAME_PHP },    { ".lua", FRAME_LUA },
			{ ".pl", FRAME_PERL },  { ".pm", FRAME_PERL },    { ".erl", FRAME_ERLANG },
			{ ".ex", FRAME_ERLANG } };

static bool guess_starts(const char *s, size_t len, const char *prefix)
{
	size_t n = strlen(prefix);
	return len >= n && memcmp(s, prefix, n) == 0;
}

enum frame_kind guess_kind(const char *name, size_t name_len, const char *file, size_t file_len)
{
	bool in_brackets = name_len && name[0] == '[';
	if (guess_starts(name, name_len, "[truncated: ") || (name_len == 1 && name[0] == '-') ||
	    guess_starts(name, name_len, STATE_WOKEN_BY) ||
	    (in_brackets && state_of_marker(name, name_len)))
		return FRAME_MARKER;
	if (guess_starts(name, name_len, "[GPU_Kernel]"))
		return FRAME_GPU_KERNEL;
	for (size_t i = 0; i < sizeof guess_languages / sizeof *guess_languages; i++) {
		size_t n = strlen(guess_languages[i].ending);
		if (file_len > n && !memcmp(file + file_len - n, guess_languages[i].ending, n))
			return guess_languages[i].kind;
	}
	return FRAME_NATIVE;
}
