/* Removes suffixes, versions and paths from names. */
#include "profile/identity.h"

#include "base/buf.h"

#include <ctype.h>
#include <string.h>

/* --- kinds --- */

enum {
	NAME_COMPILED = 1, /* suffixes of compilers and linkers */
	NAME_GO = 2,
	NAME_RUN = 4,    /* run-time systems number or address what they generate */
	NAME_UNIQUE = 8, /* in a program */
	NAME_OF_FILE = 16,
	NAME_NUMBERED = 32,
	NAME_AS_IS = 64, /* no function */
};
static const unsigned char traits[FRAME_KINDS] = {
	[FRAME_NATIVE] = NAME_COMPILED | NAME_NUMBERED,
	[FRAME_KERNEL] = NAME_COMPILED | NAME_NUMBERED,
	[FRAME_JIT] = NAME_RUN,
	[FRAME_PYTHON] = NAME_OF_FILE,
	[FRAME_JAVA] = NAME_RUN | NAME_UNIQUE,
	[FRAME_GO] = NAME_GO | NAME_UNIQUE,
	[FRAME_JS] = NAME_RUN | NAME_OF_FILE,
	[FRAME_RUBY] = NAME_OF_FILE,
	[FRAME_PHP] = NAME_OF_FILE,
	[FRAME_LUA] = NAME_OF_FILE,
	[FRAME_PERL] = NAME_OF_FILE,
	[FRAME_ERLANG] = NAME_UNIQUE,
	[FRAME_GPU_SOURCE] = NAME_COMPILED,
	[FRAME_GPU_KERNEL] = NAME_COMPILED,
	[FRAME_GPU_FUNCTION] = NAME_COMPILED,
	[FRAME_GPU_INSTRUCTION] = NAME_AS_IS,
	[FRAME_GPU_STALL] = NAME_AS_IS,
	[FRAME_INTERPRETED] = NAME_RUN | NAME_OF_FILE,
	[FRAME_MARKER] = NAME_AS_IS,
	[FRAME_REST] = NAME_AS_IS,
};

enum frame_kind identity_language(enum frame_kind kind, const char *file, size_t len)
{
	static const char go[] = ".go", java[] = ".java";
	if (kind != FRAME_NATIVE && kind != FRAME_JIT)
		return kind;
	if (len > strlen(go) && memcmp(file + len - strlen(go), go, strlen(go)) == 0)
		return FRAME_GO;
	if (len > strlen(java) && memcmp(file + len - strlen(java), java, strlen(java)) == 0)
		return FRAME_JAVA;
	return kind;
}

bool identity_is_unique(enum frame_kind kind)
{
	return traits[kind] & NAME_UNIQUE;
}

bool identity_is_of_file(enum frame_kind kind)
{
	return traits[kind] & NAME_OF_FILE;
}

bool identity_is_function(enum frame_kind kind)
{
	return !(traits[kind] & NAME_AS_IS);
}

bool identity_is_address(const char *name, size_t len, const char *binary, size_t binary_len)
{
	const char *plus = binary_len ? NULL : memrchr(name, '+', len);
	if (plus && !memchr(name, ' ', len) && !memchr(name, '(', len))
		binary = name, binary_len = plus - name;
	if (!binary_len)
		return false;
	if (len < binary_len + 4 || memcmp(name, binary, binary_len) != 0 ||
	    memcmp(name + binary_len, "+0x", 3) != 0)
		return false;
	for (size_t i = binary_len + 3; i < len; i++)
		if (!isxdigit((unsigned char)name[i]))
			return false;
	return true;
}

/* --- runs of characters --- */

static size_t run(const char *s, size_t len, int (*is)(int c))
{
	size_t n = 0;
	while (n < len && is((unsigned char)s[n]))
		n++;
	return n;
}

/* The length of the run that ends at s + len. */
static size_t run_before(const char *s, size_t len, int (*is)(int c))
{
	size_t n = 0;
	while (n < len && is((unsigned char)s[len - n - 1]))
		n++;
	return n;
}

static bool starts(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);
	return len >= n && memcmp(s, with, n) == 0;
}

static bool ends(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);
	return len >= n && memcmp(s + len - n, with, n) == 0;
}

/* --- names: what compilers and linkers add at the end --- */

/* Of gcc's and clang's clones and parts of functions. Not the ones that are separate functions:
 * ".resume" of a coroutine, ".avx2" of one function for several processors. */
static const char *const clones[] = {
	".__part", ".isra",   ".constprop",  ".part",     ".cold",
	".hot",    ".warm",   ".unlikely",   ".lto_priv", ".llvm",
	".clone",  ".__uniq", ".localalias", ".startup",  ".exit",
};

/* ".0": numbers tell equal names of one program apart. */
static size_t number_suffix(const char *s, size_t len)
{
	size_t digits = run_before(s, len, isdigit);
	return digits && digits + 1 < len && s[len - digits - 1] == '.' ? digits + 1 : 0;
}

/* ".isra", with a number or without. */
static size_t clone_suffix(const char *s, size_t len)
{
	size_t number = number_suffix(s, len), left = len - number;
	for (size_t i = 0; i < sizeof clones / sizeof *clones; i++)
		if (ends(s, left, clones[i]) && left > strlen(clones[i]))
			return number + strlen(clones[i]);
	return 0;
}

/* " [clone .isra.0]": so demanglers print them. */
static size_t clone_words(const char *s, size_t len)
{
	static const char begin[] = " [clone ";
	const char *open = len && s[len - 1] == ']' ? memrchr(s, '[', len) : NULL;
	size_t at = open && open > s + 1 ? (size_t)(open - 1 - s) : len;
	return starts(s + at, len - at, begin) ? len - at : 0;
}

/* "::h0123456789abcdef" of Rust's older names. */
static size_t rust_hash(const char *s, size_t len)
{
	enum { DIGITS = 16, ALL = DIGITS + 3 };
	if (len <= ALL || memcmp(s + len - ALL, "::h", 3) != 0)
		return 0;
	return run_before(s, len, isxdigit) == DIGITS ? ALL : 0;
}

/* "@GLIBC_2.14" or "@@GLIBC_2.14": versions have an underscore and digits, "@plt" does not. */
static size_t symbol_version(const char *s, size_t len)
{
	const char *at = memrchr(s, '@', len);
	size_t n = at ? s + len - at : 0;
	if (n < 2 || n == len || !memchr(at, '_', n) || !isdigit((unsigned char)s[len - 1]))
		return 0;
	if (memchr(at, ' ', n) || memchr(at, '(', n))
		return 0;
	return at[-1] == '@' && n + 1 < len ? n + 1 : n;
}

static size_t compiled_suffix(const char *s, size_t len)
{
	size_t n = clone_suffix(s, len);
	n = n ? n : clone_words(s, len);
	n = n ? n : rust_hash(s, len);
	return n ? n : symbol_version(s, len);
}

/* "runtime.asmcgocall.abi0" */
static size_t go_suffix(const char *s, size_t len)
{
	return ends(s, len, ".abi0") ? strlen(".abi0") : 0;
}

/* --- names: what is inside --- */

/* A part to remove: n bytes at `at`; n = 0: none. */
struct cut {
	size_t at, n;
};
static const struct cut nothing;

/* "/v2" of "example.com/json/v2.Decode", ".v2" of "gopkg.in/yaml.v2.Decode", where linkers write
 * "%2ev2". Only in the path of the package: not after its last slash and dot. */
static struct cut go_major(const char *s, size_t len, size_t from)
{
	for (size_t i = from; i + 2 < len && s[i] != '(' && s[i] != '['; i++) {
		size_t mark = s[i] == '/' || s[i] == '.'      ? 1
			      : starts(s + i, len - i, "%2e") ? 3
							      : 0;
		size_t v = i + mark;
		if (!mark || !i || v >= len || s[v] != 'v')
			continue;
		size_t digits = run(s + v + 1, len - v - 1, isdigit), end = v + 1 + digits;
		bool is_last = end == len || (s[end] != '.' && s[end] != '/');
		/* ".v2" must not be a method or a variable. */
		if (!digits || is_last || (s[i] != '/' && !starts(s, len, "gopkg.in/")))
			continue;
		return (struct cut){ i, end - i };
	}
	return nothing;
}

const char *identity_major(const char *s, size_t len, size_t *n)
{
	struct cut c = go_major(s, len, 0);
	size_t skip = c.n && s[c.at] == '%' ? 3 : 1;
	*n = c.n ? c.n - skip : 0;
	return c.n ? s + c.at + skip : s;
}

/* "_0" of "F[go.shape.int_0]": Go 1.18 to 1.20 number shapes. */
static struct cut go_shape(const char *s, size_t len, size_t from)
{
	static const char shape[] = "go.shape.";
	const char *p = len > from ? memmem(s + from, len - from, shape, strlen(shape)) : NULL;
	if (!p)
		return nothing;
	for (size_t i = p - s; i + 1 < len; i++) {
		size_t digits = s[i] == '_' ? run(s + i + 1, len - i - 1, isdigit) : 0;
		size_t end = i + 1 + digits;
		if (digits && (end == len || s[end] == ',' || s[end] == ']'))
			return (struct cut){ i, end - i };
	}
	return nothing;
}

/* Prefixes that are followed by a hash or a number: "_cgo_0123456789ab_Cfunc_f",
 * "bpf_prog_6deef7357e7b4530_on_switch", "bpf_trampoline_6442536467". */
static struct cut hashed_prefix(const char *s, size_t len, size_t from)
{
	static const struct {
		const char *prefix;
		size_t least;
	} all[] = { { "_cgo_", 12 }, { "bpf_prog_", 16 }, { "bpf_trampoline_", 1 } };
	for (size_t i = 0; i < sizeof all / sizeof *all && from == 0; i++) {
		size_t n = strlen(all[i].prefix);
		if (!starts(s, len, all[i].prefix))
			continue;
		size_t digits = run(s + n, len - n, isxdigit);
		if (digits >= all[i].least && (n + digits == len || s[n + digits] == '_'))
			return (struct cut){ n - 1, digits + 1 };
	}
	return nothing;
}

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
	return nothing;
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
		{ "MethodAccessor", isdigit },
		{ "ConstructorAccessor", isdigit },
		{ "$Proxy", isdigit },
		{ "CGLIB$$", isxdigit },
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
	return nothing;
}

/* V8's: "~" interpreted, "^" baseline, "+" maglev, "*" turbofan, and "'" after that for code of
 * one context only. */
static struct cut tier_mark(const char *s, size_t len, size_t from)
{
	static const char *const kinds[] = { "JS:", "LazyCompile:", "Function:", "Eval:",
					     "Script:" };
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		size_t at = strlen(kinds[i]);
		if (at < from || at >= len || !starts(s, len, kinds[i]) || !strchr("~^+*", s[at]))
			continue;
		return (struct cut){ at, at + 1 < len && s[at + 1] == '\'' ? 2 : 1 };
	}
	return nothing;
}

static size_t tier_suffix(const char *s, size_t len)
{
	static const char *const ends_of_all[] = { "-CodeInfoPrologue" };
	static const char *const ends_of_wasm[] = { "-liftoff", "-turbofan" };
	for (size_t i = 0; i < sizeof ends_of_all / sizeof *ends_of_all; i++)
		if (ends(s, len, ends_of_all[i]))
			return strlen(ends_of_all[i]);
	for (size_t i = 0; i < sizeof ends_of_wasm / sizeof *ends_of_wasm; i++)
		if (starts(s, len, "JS:wasm-function[") && ends(s, len, ends_of_wasm[i]))
			return strlen(ends_of_wasm[i]);
	return 0;
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
		return nothing;
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

/* --- names --- */

typedef size_t suffix_fn(const char *s, size_t len);
typedef struct cut cut_fn(const char *s, size_t len, size_t from);

static const struct {
	unsigned char trait;
	suffix_fn *length;
} suffixes[] = {
	{ NAME_COMPILED, compiled_suffix },
	{ NAME_NUMBERED, number_suffix },
	{ NAME_GO, go_suffix },
	{ NAME_RUN, line_suffix },
	{ NAME_RUN, tier_suffix },
};
static const struct {
	unsigned char trait;
	cut_fn *find;
} cuts[] = {
	{ NAME_COMPILED | NAME_GO, hashed_prefix },
	{ NAME_GO, go_major },
	{ NAME_GO, go_shape },
	{ NAME_RUN, tier_mark },
	{ NAME_RUN, run_address },
	{ NAME_RUN, generated_class },
	{ NAME_RUN, place_in_name },
};

static size_t without_suffixes(unsigned trait, const char *s, size_t len)
{
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes;) {
		size_t n = suffixes[i].trait & trait ? suffixes[i].length(s, len) : 0;
		if (n && n < len)
			len -= n, i = 0; /* one may end in another */
		else
			i++;
	}
	return len;
}

static struct cut next_cut(unsigned trait, const char *s, size_t len, size_t from)
{
	struct cut first = { len, 0 };
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		if (!(cuts[i].trait & trait))
			continue;
		struct cut c = cuts[i].find(s, len, from);
		if (c.n && c.at < first.at)
			first = c;
	}
	return first;
}

bool identity_name(enum frame_kind kind, const char *s, size_t len, struct buf *out)
{
	unsigned trait = traits[kind];
	size_t kept = without_suffixes(trait, s, len), start = out->len, from = 0;
	struct cut c = next_cut(trait, s, kept, from);
	if (kept == len && !c.n)
		return false;
	for (; c.n; c = next_cut(trait, s, kept, from)) {
		buf_add(out, s + from, c.at - from);
		from = c.at + c.n;
	}
	buf_add(out, s + from, kept - from);
	return out->len > start;
}

bool identity_code(const char *s, size_t len, struct buf *out)
{
	size_t kept = len - tier_suffix(s, len);
	struct cut mark = tier_mark(s, kept, 0);
	if (!kept || (kept == len && !mark.n))
		return false;
	buf_add(out, s, mark.at);
	buf_add(out, s + mark.at + mark.n, kept - mark.at - mark.n);
	return true;
}

/* --- versions --- */

static int is_separator(int c)
{
	return c == '-' || c == '_' || c == '.' || c == '@' || c == '+' || c == '~';
}

/* "1.2.3": the length of numbers with dots between them. */
static size_t numbers(const char *s, size_t len, bool *has_dot)
{
	size_t n = run(s, len, isdigit);
	*has_dot = false;
	while (n && n + 1 < len && s[n] == '.' && isdigit((unsigned char)s[n + 1])) {
		n += 1 + run(s + n + 1, len - n - 1, isdigit);
		*has_dot = true;
	}
	return n;
}

/* Whether a version may end before s. */
static bool is_end(const char *s, size_t len)
{
	return !len || is_separator((unsigned char)*s) || *s == '/';
}

/* "rc1", "beta2", "SNAPSHOT", "dirty", or a commit's hash. */
static size_t version_word(const char *s, size_t len)
{
	static const char *const words[] = { "rc",      "beta",  "alpha", "SNAPSHOT",
					     "RELEASE", "Final", "dirty", "pre" };
	enum { HASH_MIN = 7, HASH_MAX = 40 };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t n = strlen(words[i]);
		if (!starts(s, len, words[i]))
			continue;
		n += run(s + n, len - n, isdigit);
		return is_end(s + n, len - n) ? n : 0;
	}
	size_t g = len && *s == 'g', n = run(s + g, len - g, isxdigit);
	bool has_digit = false;
	for (size_t i = 0; i < n; i++)
		has_digit |= isdigit((unsigned char)s[g + i]) != 0;
	return n >= HASH_MIN && n <= HASH_MAX && has_digit && is_end(s + g + n, len - g - n) ? g + n
											     : 0;
}

/* Returns the length of a version at s[at], with the separator before it: "-1.2.3", "@v1.2",
 * ".so" is none; 0 if none exists. A number right after a letter is a version only with a dot:
 * "python3.11", not "base64". */
static size_t version_at(const char *s, size_t len, size_t at)
{
	size_t sep = at < len && is_separator((unsigned char)s[at]);
	if (!at && !sep) {
		bool dot;
		size_t n = numbers(s, len, &dot);
		return n && is_end(s + n, len - n) ? n : 0;
	}
	if (!sep && !(isalpha((unsigned char)s[at - 1]) && isdigit((unsigned char)s[at])))
		return 0;
	size_t word = sep && at ? version_word(s + at + 1, len - at - 1) : 0;
	if (word)
		return 1 + word;
	size_t v = sep && at + 1 < len && s[at + 1] == 'v', from = at + sep + v;
	bool has_dot;
	size_t n = numbers(s + from, len - from, &has_dot);
	if (!n || !is_end(s + from + n, len - from - n))
		return 0;
	if ((!sep || (s[at] == '_' && !v)) && !has_dot)
		return 0;
	return sep + v + n;
}

/* Appends s without versions; returns whether there was one. */
static bool put_unversioned(struct buf *out, const char *s, size_t len)
{
	bool any = false;
	for (size_t i = 0; i < len;) {
		size_t n = version_at(s, len, i);
		any |= n > 0;
		if (!n)
			buf_addc(out, s[i++]);
		i += n;
	}
	return any;
}

/* --- binaries --- */

/* Files whose names have the pid of the process that wrote them. */
static bool put_of_process(struct buf *out, const char *s, size_t len)
{
	static const struct {
		const char *begin, *end, *as;
	} all[] = {
		{ "perf-", ".map", "perf.map" },
		{ "jitted-", ".so", "jitted.so" },
		{ "jna", ".tmp", "jna.tmp" },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		size_t b = strlen(all[i].begin), e = strlen(all[i].end);
		if (len <= b + e || !starts(s, len, all[i].begin) || !ends(s, len, all[i].end))
			continue;
		for (size_t at = b; at < len - e; at++)
			if (!isdigit((unsigned char)s[at]) && s[at] != '-')
				return false;
		buf_adds(out, all[i].as);
		return true;
	}
	return false;
}

bool identity_binary(const char *s, size_t len, struct buf *out)
{
	static const char deleted[] = " (deleted)";
	size_t start = out->len;
	bool is_other = ends(s, len, deleted);
	if (is_other)
		len -= strlen(deleted);
	const char *slash = memrchr(s, '/', len);
	if (slash && slash + 1 < s + len) {
		is_other = true;
		len -= slash + 1 - s;
		s = slash + 1;
	}
	if (put_of_process(out, s, len))
		return true;
	bool has_version = put_unversioned(out, s, len);
	if (out->len == start) /* nothing but a version */
		buf_add(out, s, len);
	else
		is_other |= has_version;
	if (!is_other)
		out->len = start;
	return is_other;
}

/* --- source files --- */

bool identity_file(const char *s, size_t len, struct buf *out)
{
	const char *slash = memrchr(s, '/', len);
	size_t dir = slash ? (size_t)(slash - s) : 0, start = out->len, from = 0;
	bool any = false;
	while (from < dir) {
		const char *end = memchr(s + from, '/', dir - from);
		size_t n = end ? (size_t)(end - s) - from : dir - from;
		any |= put_unversioned(out, s + from, n);
		from += n;
		if (end) {
			buf_addc(out, '/');
			from++;
		}
	}
	if (any)
		buf_add(out, s + dir, len - dir);
	else
		out->len = start;
	return any;
}
