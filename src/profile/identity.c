/* Removes suffixes, versions and paths from names. */
#include "profile/identity.h"

#include "base/buf.h"
#include "profile/identity_generated.h"
#include "profile/identity_text.h"

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

bool identity_is_unknown(const char *name, size_t len)
{
	static const char *const words[] = {
		"[unknown]", "[Unknown]", "<unknown>", "(unknown)", "??", "???",
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (len == strlen(words[i]) && memcmp(name, words[i], len) == 0)
			return true;
	return false;
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

/* --- names: what compilers and linkers add at the end --- */

/* Of gcc's and clang's clones and parts of functions. Not the ones that are separate functions:
 * ".resume" of a coroutine, ".avx2" of one function for several processors. */
static const char *const clones[] = {
	".__part",     ".isra",        ".constprop", ".part",    ".cold",    ".hot",
	".warm",       ".unlikely",    ".lto_priv",  ".llvm",    ".clone",   ".__uniq",
	".localalias", ".startup",     ".exit",      ".argprom", ".argelim", ".retelim",
	".memprof",    ".specialized", ".extracted", ".cfi",
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

/* " (.isra.0)": so LLVM's demangler prints them. */
static size_t clone_in_parentheses(const char *s, size_t len)
{
	static const char begin[] = " (.";
	const char *open = len && s[len - 1] == ')' ? memrchr(s, '(', len) : NULL;
	size_t at = open && open > s + 1 ? (size_t)(open - 1 - s) : len, inner = len - at - 2, n;
	if (at == len || !starts(s + at, len - at, begin))
		return 0;
	while ((n = clone_suffix(s + at + 1, inner)))
		inner -= n;
	return inner == 1 ? len - at : 0; /* nothing but the parenthesis is left */
}

/* "::h0123456789abcdef" of Rust's older names, "17h0123456789abcdefE" if they are mangled. */
static size_t rust_hash(const char *s, size_t len)
{
	enum { DIGITS = 16, ALL = DIGITS + 3, MANGLED = DIGITS + 4 };
	if (len > MANGLED && s[len - 1] == 'E' && starts(s, len, "_ZN") &&
	    memcmp(s + len - MANGLED, "17h", 3) == 0 && run_before(s, len - 1, isxdigit) == DIGITS)
		return MANGLED;
	if (len <= ALL || memcmp(s + len - ALL, "::h", 3) != 0)
		return 0;
	return run_before(s, len, isxdigit) == DIGITS ? ALL : 0;
}

/* "camlMain.fun", "camlMain__fun" of older versions: such functions of a module differ only in
 * their number. */
static bool is_anonymous_ocaml(const char *s, size_t len)
{
	static const char *const names[] = { ".fun", "__fun", ".anon_fn", "__anon_fn" };
	return ends_any(s, len, names, sizeof names / sizeof *names);
}

/* "_274" of "camlMain.loop_274": OCaml numbers all functions of a program. */
static size_t ocaml_number(const char *s, size_t len)
{
	static const char caml[] = "caml";
	size_t n = strlen(caml), digits = run_before(s, len, isdigit);
	if (len <= n + digits + 2 || !starts(s, len, caml) || !isupper((unsigned char)s[n]))
		return 0;
	if (!digits || s[len - digits - 1] != '_' || is_anonymous_ocaml(s, len - digits - 1))
		return 0;
	return digits + 1;
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
	n = n ? n : clone_in_parentheses(s, len);
	n = n ? n : rust_hash(s, len);
	return n ? n : symbol_version(s, len);
}

/* "runtime.asmcgocall.abi0" */
static size_t go_suffix(const char *s, size_t len)
{
	return ends(s, len, ".abi0") ? strlen(".abi0") : 0;
}

/* --- names: what is inside --- */

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
	return no_cut;
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
		return no_cut;
	for (size_t i = p - s; i + 1 < len; i++) {
		size_t digits = s[i] == '_' ? run(s + i + 1, len - i - 1, isdigit) : 0;
		size_t end = i + 1 + digits;
		if (digits && (end == len || s[end] == ',' || s[end] == ']'))
			return (struct cut){ i, end - i };
	}
	return no_cut;
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
	return no_cut;
}

/* The hash of a crate in Rust's newer names: "[54b0a6f5e1d3c2aa]" of "alloc[54b0a6f5e1d3c2aa]::f",
 * "s1234_" of "_RNvCs1234_5alloc1f". */
static struct cut rust_crate(const char *s, size_t len, size_t from)
{
	enum { LEAST = 8, MOST = 16 };
	bool is_mangled = starts(s, len, "_R");
	for (size_t i = from + 1; i + 1 < len; i++) {
		size_t digits = s[i] == '[' ? run(s + i + 1, len - i - 1, isxdigit) : 0;
		size_t end = i + 1 + digits;
		if (digits >= LEAST && digits <= MOST && starts(s + end, len - end, "]::") &&
		    (isalnum((unsigned char)s[i - 1]) || s[i - 1] == '_'))
			return (struct cut){ i, digits + 2 };
		if (!is_mangled || s[i - 1] != 'C' || s[i] != 's')
			continue;
		end = i + 1 + run(s + i + 1, len - i - 1, isalnum);
		if (end + 1 < len && s[end] == '_' && isdigit((unsigned char)s[end + 1]))
			return (struct cut){ i, end + 1 - i };
	}
	return no_cut;
}

static int is_of_package(int c)
{
	return isalnum(c) || c == '-';
}

static int is_of_version(int c)
{
	return isdigit(c) || c == '.';
}

/* "-4.17.0.0" of "base-4.17.0.0:GHC.Base.map". */
static struct cut haskell_version(const char *s, size_t len, size_t from)
{
	size_t n = from ? 0 : run(s, len, is_of_package), digits = run_before(s, n, isdigit);
	size_t at = n - digits, end = n + run(s + n, len - n, is_of_version);
	if (!digits || at < 2 || s[at - 1] != '-' || end == n || end + 1 >= len || s[end] != ':' ||
	    !isupper((unsigned char)s[end + 1]))
		return no_cut;
	return (struct cut){ at - 1, end - at + 1 };
}

/* The mark before functions that Go's linker makes: "type..eq.T", "type:.eq.T" since Go 1.20. */
static struct cut go_type(const char *s, size_t len, size_t from)
{
	bool is_type = starts(s, len, "type..") || starts(s, len, "type:.");
	return is_type && from == 0 ? (struct cut){ strlen("type"), 1 } : no_cut;
}

/* --- names: numbers that the compilers of Zig, Nim, Cython, C# and OpenMP add --- */

/* "_u123" of "copy__main_u123": Nim counts the symbols of a module. C has such names for types
 * ("get__u32"). */
static size_t counted_suffix(const char *s, size_t len)
{
	static const char *const bits[] = { "_u8", "_u16", "_u32", "_u64", "_u128" };
	size_t digits = run_before(s, len, isdigit), left = len - digits;
	if (!digits || left < 2 || !ends(s, left, "_u") || ends_any(s, len, bits, 5))
		return 0;
	left -= 2;
	const char *module = left ? memmem(s, left, "__", 2) : NULL;
	return module > s && module + 2 < s + left ? digits + 2 : 0;
}

/* The number after this text, with the bytes of the text that go with it. */
static struct cut number_behind(const char *s, size_t len, size_t from, const char *text,
				size_t also)
{
	size_t n = strlen(text);
	for (size_t at = from; at + n < len; at++) {
		const char *found = memmem(s + at, len - at, text, n);
		if (!found)
			break;
		at = found - s;
		size_t digits = run(s + at + n, len - at - n, isdigit);
		if (digits && at)
			return (struct cut){ at + n - also, digits + also };
	}
	return no_cut;
}

/* "_1234" of "fs.File.read__anon_1234": Zig's instances of functions, and types without a name. */
static struct cut zig_cut(const char *s, size_t len, size_t from)
{
	static const char *const words[] = { "__anon_", "__struct_", "__enum_", "__union_" };
	struct cut first = no_cut;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct cut c = number_behind(s, len, from, words[i], 1);
		if (c.n && (!first.n || c.at < first.at))
			first = c;
	}
	return first;
}

/* The number of a method in the names of its parts: "<Run>d__12", "<>c__DisplayClass4_0",
 * "<Run>b__4_0", "<Run>g__Read|4_0". The second number, of a closure in its method, stays. */
static struct cut csharp_cut(const char *s, size_t len, size_t from)
{
	static const struct {
		const char *text;
		bool has_second;
	} all[] = {
		{ ">d__", false }, { ">c__DisplayClass", true }, { ">b__", true }, { "|", true }
	};
	struct cut first = no_cut;
	for (size_t i = 0; i < sizeof all / sizeof *all && memchr(s, '>', len); i++) {
		struct cut c = number_behind(s, len, from, all[i].text, 0);
		bool is_first = c.n && c.at + c.n < len && s[c.at + c.n] == '_';
		if (all[i].has_second ? !is_first : is_first)
			continue;
		c.n += all[i].has_second;
		if (c.n && (!first.n || c.at < first.at))
			first = c;
	}
	return first;
}

/* "12" of "__pyx_pw_4pack_3Cls_12method": Cython counts the functions of a module. The names of
 * modules and classes before it have their lengths; a part that looks like one stays. */
static struct cut cython_cut(const char *s, size_t len, size_t from)
{
	static const char *const begins[] = { "__pyx_pw_", "__pyx_pf_", "__pyx_gb_" };
	size_t at = from ? 0 : starts_any(s, len, begins, sizeof begins / sizeof *begins);
	size_t first = at;
	while (at && at < len) {
		size_t digits = run(s + at, len - at, isdigit), n = 0;
		for (size_t i = 0; i < digits && n < len; i++)
			n = 10 * n + (s[at + i] - '0');
		size_t end = at + digits + n;
		if (!digits || at + digits == len)
			break;
		if (!n || end >= len || s[end] != '_')
			return at > first ? (struct cut){ at, digits } : no_cut;
		at = end + 1;
	}
	return no_cut;
}

/* "_10302_1234567" of "__omp_offloading_10302_1234567_main_l12": device and inode of the source. */
static struct cut offload_cut(const char *s, size_t len, size_t from)
{
	static const char begin[] = "__omp_offloading";
	size_t at = strlen(begin), end = at;
	if (from || !starts(s, len, begin))
		return no_cut;
	for (int i = 0; i < 2; i++) {
		size_t n =
			end < len && s[end] == '_' ? run(s + end + 1, len - end - 1, isxdigit) : 0;
		if (!n)
			return no_cut;
		end += n + 1;
	}
	return end < len && s[end] == '_' ? (struct cut){ at, end - at } : no_cut;
}

static struct cut counted_cut(const char *s, size_t len, size_t from)
{
	static struct cut (*const all[])(const char *s, size_t len, size_t from) = {
		zig_cut,
		csharp_cut,
		cython_cut,
		offload_cut,
	};
	struct cut first = no_cut;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct cut c = all[i](s, len, from);
		if (c.n && (!first.n || c.at < first.at))
			first = c;
	}
	return first;
}

/* --- names: all of it --- */

typedef size_t suffix_fn(const char *s, size_t len);
typedef struct cut cut_fn(const char *s, size_t len, size_t from);

static const struct {
	unsigned char trait;
	bool is_single; /* the rest may end alike: "f_1" of "julia_f_1_1234" */
	suffix_fn *length;
} suffixes[] = {
	{ NAME_COMPILED, false, compiled_suffix },
	{ NAME_COMPILED, true, ocaml_number },
	{ NAME_COMPILED, true, counted_suffix },
	{ NAME_NUMBERED, false, number_suffix },
	{ NAME_GO, false, go_suffix },
	{ NAME_RUN, false, generated_suffix },
	{ NAME_RUN, true, generated_number },
};
static const struct {
	unsigned char trait;
	cut_fn *find;
} cuts[] = {
	{ NAME_COMPILED | NAME_GO, hashed_prefix },
	{ NAME_GO, go_major },
	{ NAME_GO, go_shape },
	{ NAME_GO, go_type },
	{ NAME_COMPILED, rust_crate },
	{ NAME_COMPILED, haskell_version },
	{ NAME_COMPILED | NAME_RUN, counted_cut },
	{ NAME_RUN, generated_cut },
};

static size_t without_suffixes(unsigned trait, const char *s, size_t len)
{
	unsigned done = 0;
	for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes;) {
		bool may = suffixes[i].trait & trait && !(done & 1u << i);
		size_t n = may ? suffixes[i].length(s, len) : 0;
		if (n && n < len) {
			done |= suffixes[i].is_single ? 1u << i : 0;
			len -= n, i = 0; /* one may end in another */
		} else {
			i++;
		}
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
