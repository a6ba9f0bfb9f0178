/* Names of code that run-time systems generate. */
#include "profile/identity_generated.h"

#include "base/buf.h"
#include "profile/identity_text.h"

/* Addresses: "/0x0000000800c8d440", ".0x…", " 0x…", "@0x…". */
static struct cut run_address(const char *s, size_t len, size_t from)
{
	enum { LEAST = 6 };
	for (size_t i = from; i + 3 < len; i++) {
		if (!strchr("/. @", s[i]) || s[i + 1] != '0' || s[i + 2] != 'x')
			continue;
		size_t digits = run(s + i + 3, len - i - 3, isxdigit);
		if (i > 0 && digits >= LEAST)
			return (struct cut){ i, digits + 3 };
	}
	return no_cut;
}

static int is_counter(int c)
{
	return isxdigit(c) || c == '$' || c == '/' || c == 'x';
}

/* Classes that the JVM and its frameworks generate are numbered in the order of their creation. */
static struct cut generated_class(const char *s, size_t len, size_t from)
{
	static const struct {
		const char *marker;
		int (*is)(int c);
	} all[] = {
		{ "$$Lambda", is_counter },
		{ "GeneratedMethodAccessor", isdigit },
		{ "GeneratedConstructorAccessor", isdigit },
		{ "GeneratedSerializationConstructorAccessor", isdigit },
		{ "$Proxy", isdigit },
		{ "CGLIB$$", isxdigit },
		{ "$ByteBuddy$", isalnum },
		{ "$HibernateProxy$", isalnum },
		{ "$MockitoMock$", isalnum },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		const char *p = len > from ? memmem(s + from, len - from, all[i].marker,
						    strlen(all[i].marker))
					   : NULL;
		size_t at = p ? (size_t)(p - s) + strlen(all[i].marker) : len;
		size_t n = run(s + at, len - at, all[i].is);
		if (n)
			return (struct cut){ at, n };
	}
	return no_cut;
}

/* Returns the length of what V8 writes before names; 0: none. */
static size_t v8_kind(const char *s, size_t len)
{
	static const char *const kinds[] = { "JS:", "LazyCompile:", "Function:", "Eval:",
					     "Script:" };
	return starts_any(s, len, kinds, sizeof kinds / sizeof *kinds);
}

/* V8's: "~" interpreted, "^" baseline, "+" maglev, "*" turbofan, and "'" after that for code of
 * one context only. */
static struct cut tier_mark(const char *s, size_t len, size_t from)
{
	size_t at = v8_kind(s, len);
	if (!at || at < from || at >= len || !strchr("~^+*", s[at]))
		return no_cut;
	return (struct cut){ at, at + 1 < len && s[at + 1] == '\'' ? 2 : 1 };
}

/* "JS:~ /srv/app.js:3:9": such functions of a file differ only in their line. */
static bool is_anonymous_js(const char *s, size_t len)
{
	size_t at = v8_kind(s, len) + tier_mark(s, len, 0).n;
	return at && at < len && s[at] == ' ';
}

static size_t tier_suffix(const char *s, size_t len)
{
	static const char *const wasm[] = { "-liftoff", "-turbofan" };
	static const char prologue[] = "-CodeInfoPrologue";
	if (starts(s, len, "JS:wasm-function["))
		return ends_any(s, len, wasm, sizeof wasm / sizeof *wasm);
	return ends(s, len, prologue) ? strlen(prologue) : 0;
}

static bool is_path_start(const char *s, size_t len)
{
	return starts(s, len, "/") || starts(s, len, "file:///");
}

/* The directory in "JS:*render /srv/build-7/app.js:12:34", as V8 writes it, and in
 * "py::run:/srv/build-7/app.py" of CPython's perf support. */
static struct cut place_in_name(const char *s, size_t len, size_t from)
{
	bool is_py = starts(s, len, "py::") && from < strlen("py::");
	size_t skip = is_py ? strlen("py::") : from;
	const char *mark = memchr(s + skip, is_py ? ':' : ' ', len - skip);
	size_t at = mark ? (size_t)(mark - s) + 1 : len;
	if (!is_path_start(s + at, len - at))
		return no_cut;
	const char *slash = memrchr(s + at, '/', len - at);
	return (struct cut){ at, slash - (s + at) + 1 };
}

static size_t line_suffix(const char *s, size_t len)
{
	size_t n = 0;
	for (int i = 0; i < 2; i++) {
		size_t digits = run_before(s, len - n, isdigit);
		if (!digits || digits + n >= len || s[len - n - digits - 1] != ':')
			break;
		n += digits + 1;
	}
	return n && memchr(s, ' ', len) ? n : 0;
}

/* "12" of "TRACE_12::f.lua:3" (LuaJIT) and "TRACE-12$f$3" (PHP). */
static struct cut trace_number(const char *s, size_t len, size_t from)
{
	static const char trace[] = "TRACE";
	size_t n = strlen(trace) + 1;
	if (from >= n || len <= n || !starts(s, len, trace) || !strchr("_-", s[n - 1]))
		return no_cut;
	size_t digits = run(s + n, len - n, isdigit), end = n + digits;
	bool has_name = starts(s + end, len - end, s[n - 1] == '_' ? "::" : "$");
	return has_name ? (struct cut){ n, digits } : no_cut;
}

/* "12" of "wasm[0]::function[12]::f": functions without a name have only a number. */
static struct cut wasm_number(const char *s, size_t len, size_t from)
{
	static const char function[] = "::function[";
	const char *p = from == 0 && starts(s, len, "wasm[")
				? memmem(s, len, function, strlen(function))
				: NULL;
	size_t at = p ? (size_t)(p - s) + strlen(function) : len;
	size_t n = run(s + at, len - at, isdigit);
	return n && starts(s + at + n, len - at - n, "]::") ? (struct cut){ at, n } : no_cut;
}

/* "_1234" of "julia_sum_1234": Julia numbers all that it compiles. */
size_t generated_number(const char *s, size_t len)
{
	static const char *const begins[] = { "julia_", "japi1_", "japi3_",
					      "jfptr_", "jlsys_", "gfptr_" };
	size_t n = starts_any(s, len, begins, sizeof begins / sizeof *begins);
	size_t digits = n ? run_before(s, len, isdigit) : 0;
	bool is_last = digits && len > n + digits + 1 && s[len - digits - 1] == '_';
	return is_last ? digits + 1 : 0;
}

/* "[OptimizedTier1]": how .NET compiled a method. */
static size_t dotnet_tier(const char *s, size_t len)
{
	static const char *const tiers[] = {
		"[Unknown]",
		"[MinOptJitted]",
		"[Optimized]",
		"[QuickJitted]",
		"[OptimizedTier1]",
		"[OptimizedTier1OSR]",
		"[InstrumentedTier]",
		"[InstrumentedTierOptimized]",
		"[ReadyToRun]",
		"[PreJIT]",
		"[Tier0]",
		"[Tier1]",
	};
	return ends_any(s, len, tiers, sizeof tiers / sizeof *tiers);
}

const char *identity_place(const char *s, size_t len, size_t *n)
{
	size_t kept = len - line_suffix(s, len);
	struct cut dir = place_in_name(s, kept, 0);
	*n = dir.n ? kept - dir.at : 0;
	return dir.n ? s + dir.at : s;
}

size_t generated_suffix(const char *s, size_t len)
{
	size_t n = is_anonymous_js(s, len) ? 0 : line_suffix(s, len);
	n = n ? n : tier_suffix(s, len);
	return n ? n : dotnet_tier(s, len);
}

struct cut generated_cut(const char *s, size_t len, size_t from)
{
	static struct cut (*const cuts[])(const char *s, size_t len, size_t from) = {
		tier_mark, run_address, generated_class, trace_number, wasm_number, place_in_name,
	};
	struct cut first = { len, 0 };
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		struct cut c = cuts[i](s, len, from);
		if (c.n && c.at < first.at)
			first = c;
	}
	return first;
}

/* "$" of "$prog:hot_a/2": only perf maps of Erlang have it, jitdumps do not. */
static struct cut erlang_mark(const char *s, size_t len)
{
	size_t digits = run_before(s, len, isdigit);
	bool is = digits && digits < len && *s == '$' && s[len - digits - 1] == '/' &&
		  memchr(s, ':', len);
	return is ? (struct cut){ 0, 1 } : no_cut;
}

bool identity_code(const char *s, size_t len, struct buf *out)
{
	size_t kept = len - tier_suffix(s, len);
	struct cut mark = tier_mark(s, kept, 0);
	if (!mark.n)
		mark = erlang_mark(s, kept);
	if (!kept || (kept == len && !mark.n))
		return false;
	buf_add(out, s, mark.at);
	buf_add(out, s + mark.at + mark.n, kept - mark.at - mark.n);
	return true;
}

/* --- languages --- */

static bool is_javascript(const char *s, size_t len)
{
	size_t n = v8_kind(s, len);
	return n && n < len && s[n] != ':'; /* no C++ */
}

/* "py::run:/srv/app.py" of CPython. Not "py::list::append(int)": C++ may have such namespaces. */
static bool is_python(const char *s, size_t len)
{
	static const char begin[] = "py::";
	size_t n = strlen(begin);
	const char *colon = starts(s, len, begin) ? memchr(s + n, ':', len - n) : NULL;
	return colon && colon + 1 < s + len && colon[1] != ':';
}

/* Native names have no '$' before an address. */
static bool has_class_address(const char *s, size_t len)
{
	struct cut c = run_address(s, len, 0);
	return c.n && memchr(s, '$', c.at);
}

static bool has_generated_class(const char *s, size_t len)
{
	static const char accessor[] = "Accessor";
	if (!memchr(s, '$', len) && !memmem(s, len, accessor, strlen(accessor)))
		return false;
	return generated_class(s, len, 0).n || has_class_address(s, len);
}

/* Whether only generated code has such names. This is called for each native function. */
static bool is_generated(const char *s, size_t len)
{
	return is_javascript(s, len) || is_python(s, len) || tier_suffix(s, len) ||
	       generated_number(s, len) || (s[len - 1] == ']' && dotnet_tier(s, len)) ||
	       trace_number(s, len, 0).n || wasm_number(s, len, 0).n || has_generated_class(s, len);
}

static int is_of_host(int c)
{
	return isalnum(c) || c == '.' || c == '-' || c == '_';
}

/* "example.com/json.Decode": the path of a package starts with the name of a host. */
static bool has_go_path(const char *s, size_t len)
{
	size_t n = run(s, len, is_of_host), end = n;
	if (!n || n == len || s[n] != '/' || *s == '.' || !memchr(s, '.', n))
		return false;
	while (end < len && !strchr("([ ", s[end]))
		end++;
	const char *slash = memrchr(s, '/', end);
	return memchr(slash, '.', s + end - slash);
}

/* "main.f.func1.2" is a closure, "main.init.0" one of several functions, not clones of one. */
static bool has_go_number(const char *s, size_t len)
{
	static const char closure[] = ".func", init[] = ".init";
	size_t digits = run_before(s, len, isdigit), left = len;
	for (; digits && digits < left && s[left - digits - 1] == '.';
	     digits = run_before(s, left, isdigit))
		left -= digits + 1;
	if (left == len)
		return false;
	return ends(s, left, init) || (digits && ends(s, left - digits, closure));
}

static bool is_go(const char *s, size_t len)
{
	static const char shape[] = "go.shape.";
	return has_go_path(s, len) || has_go_number(s, len) || ends(s, len, ".abi0") ||
	       starts(s, len, "type..") || starts(s, len, "type:.") ||
	       (memchr(s, '[', len) && memmem(s, len, shape, strlen(shape)));
}

enum frame_kind identity_language(enum frame_kind kind, const char *name, size_t len,
				  const char *file, size_t file_len)
{
	if (kind != FRAME_NATIVE && kind != FRAME_JIT)
		return kind;
	if (ends(file, file_len, ".go"))
		return FRAME_GO;
	if (ends(file, file_len, ".java"))
		return FRAME_JAVA;
	if (kind == FRAME_JIT || !len)
		return kind;
	return is_go(name, len) ? FRAME_GO : is_generated(name, len) ? FRAME_JIT : kind;
}
