/* Zig, Nim, Cython, C# and OpenMP. */
#include "profile/identity_counted.h"

/* "_u123" of "copy__main_u123": Nim counts the symbols of a module. C has such names for types
 * ("get__u32"). */
size_t counted_suffix(const char *s, size_t len)
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

struct cut counted_cut(const char *s, size_t len, size_t from)
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
