// tier: test
/* Demangling: answers from the languages' own documents and compilers, the same as c++filt for thousands of names, and names made to blow up. */
#include "shell.h"
#include "symbol/symbol.h"

static const char *const known[][2] = {
	{ "_Z3fooi", "foo(int)" },
	{ "_ZN9wikipedia7article6formatEv", "wikipedia::article::format()" },
	{ "_ZNSt6vectorIiSaIiEE9push_backEOi",
	  "std::vector<int, std::allocator<int> >::push_back(int&&)" },
	{ "_ZN3FooC2ERKSs", "Foo::Foo(std::string const&)" },
	{ "_ZN3FooD0Ev", "Foo::~Foo()" },
	{ "_ZZ4mainENKUlvE_clEv", "main::{lambda()#1}::operator()() const" },
	{ "_Z3barv.cold", "bar() [clone .cold]" },
	{ "_Z3barv.isra.0", "bar() [clone .isra.0]" },
	{ "_RNvCs1234_7mycrate3foo", "mycrate::foo" },
	{ "_RINvCs1234_7mycrate3fooppE", "mycrate::foo::<_, _>" },
	{ "_RNvMs_NtCs1234_7mycrate3modNtB4_6Struct3new", NULL }, /* compared with c++filt below */
	{ "_ZN4core3ptr13drop_in_place17h0123456789abcdefE", "core::ptr::drop_in_place" },
	{ "_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$"
	  "4drop17h0123456789abcdefE",
	  "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop" },
	{ "_D8demangle4testFaZv", "demangle.test(char)" },
	{ "_D8demangle4testMFNaZv", "demangle.test()" },
	{ "_D8demangle9__T4testZv", NULL },
	{ "_Dmain", "D main" },
};

START_TEST(knows_the_languages)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		char *name = symbol_demangle(known[i][0]);
		if (known[i][1])
			ck_assert_pstr_eq(name, known[i][1]);
		free(name);
	}
}
END_TEST

/* What c++filt of binutils 2.40 leaves as it is: explicit object parameters, packs by index, declarations, reflections, constraints. */
static const char *const newer[][2] = {
	{ "_ZNH2ns2v13BoxIiLi2EE5hot_aERS2_l",
	  "ns::v1::Box<int, 2>::hot_a(ns::v1::Box<int, 2>&, long)" },
	{ "_Z8first_ofIJidEEvlDyT_Lm0E", "first_of<int, double>" },
	{ "_Z6secondIJidEEDyT_Lm1EDpT_", "second<int, double>" },
	{ "_Z4nttpITnDaLi3EEvl", "void nttp<3>(long)" },
	{ "_Z7by_infoILDmtyiEEvv", "void by_info<^^int>()" },
	{ "_Z7by_infoILDmtyPKcEEvv", "void by_info<^^char const*>()" },
	{ "_Z7by_infoILDmdm1S1aEEvv", "void by_info<^^S::a>()" },
	{ "_Z7by_infoILDmns2NSEEvv", "void by_info<^^NS>()" },
	{ "_Z7by_infoILDmvrN2NS1vEEEvv", "void by_info<^^NS::v>()" },
	{ "_Z7by_infoILDmtaSt4meta4info_DmEEvv", "void by_info<^^std::meta::info>()" },
	{ "_Z7by_autoITnDaLDmty1SEEvv", "void by_auto<^^S>()" },
	{ "_ZN2ns3BoxIiLi2EE6middleIiQ1CITL0__EEEvT_l", "ns::Box<int, 2>::middle<...>" },
	/* clang 17 and later, of functions with constrained parameters. */
	{ "_Z1fITkSt8integraliEvT_", "void f<int>(int)" },
	{ "_Z1fITkSt7same_asIiEiEvT_", "void f<int>(int)" },
	{ "_ZN2ns1fITkNS_1CENS_1XEEEvT_S2_", "void ns::f<ns::X>(ns::X, ns::X)" },
	{ "_ZN2ns1fITkNS_1CEiEEvT_S1_", "void ns::f<int>(int, int)" },
	{ "_ZN2ns1S1mITkNS_1CEPNS_1XEEEvT_", "void ns::S::m<ns::X*>(ns::X*)" },
	{ "_ZN2ns1hITpTkNS_1CEJiNS_1XEEEEvDpT_", "void ns::h<int, ns::X>(int, ns::X)" },
	{ "_Z1kITkN2ns1CEiEvT_", "void k<int>(int)" },
	{ "_Z1kITkN2ns1CENS0_1XEEvT_", "k<...>" },
	{ "_ZN2ns1gITkNS_1DIiEENS_1XEEEvT_S2_S2_NS_1YES4_", "ns::g<...>" },
	{ "_Z1fITtTyETtTyE1AEvv", "f<...>" },
	{ "_ZNK1S1mITkN2ns1CENS1_1XEEEvT_", "S::m<...>" },
	{ "_ZNKO1SclITkN2ns1CENS1_1XEEEvT_", "S::operator()<...>" },
	{ "_Z1fITk", "f<...>" },
	{ "_Z1fITkN", "f<...>" },
	{ "_Z1fITkSt", "f<...>" },
	{ "_Z1fITkSt1CI", "f<...>" },
	{ "_Z1fITkSt1CINS_1X", "f<...>" },
	{ "_Z7by_infoILDmty", NULL },
	{ "_Z7by_infoILDmtyi", NULL },
	{ "_ZNH", NULL },
	{ "_ZNHE", NULL },
	{ "_ZTn", NULL },
};

START_TEST(knows_what_is_newer)
{
	for (size_t i = 0; i < sizeof newer / sizeof *newer; i++) {
		char *name = symbol_demangle(newer[i][0]);
		ck_assert_pstr_eq(name, newer[i][1]);
		free(name);
	}
}
END_TEST

START_TEST(leaves_other_names_alone)
{
	static const char *const plain[] = { "",
					     "_",
					     "main",
					     "_start",
					     "_D",
					     "_Z",
					     "_R",
					     "_Dynamic",
					     "_Z3fo",
					     "_ZN",
					     "_Rust",
					     "Zfoo",
					     "__Z3foov",
					     "_GLOBAL_OFFSET_TABLE_",
					     "Java_org_Foo_bar",
					     "system__os_lib__close",
					     "_RNvCs1234_7mycrate3fo" };
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
		char *name = symbol_demangle(plain[i]);
		ck_assert_msg(!name, "%s became %s", plain[i], name);
	}
}
END_TEST

/* Lines "mangled" on one side, those of c++filt on the other. */
static size_t compare_with_cxxfilt(const char *command, const char *style)
{
	char *mangled = shell("%s", command);
	char *wanted = shell("%s | c++filt --no-verbose --format=%s", command, style);
	char *m_save, *w_save;
	char *m = strtok_r(mangled, "\n", &m_save), *w = strtok_r(wanted, "\n", &w_save);
	size_t n = 0;
	for (; m && w; m = strtok_r(NULL, "\n", &m_save), w = strtok_r(NULL, "\n", &w_save), n++) {
		char *name = symbol_demangle(m);
		ck_assert_str_eq(name ? name : m, w);
		free(name);
	}
	ck_assert(!m && !w);
	free(mangled);
	free(wanted);
	return n;
}

START_TEST(agrees_with_cxxfilt)
{
	char dir[32], command[64];
	size_t n = sizeof known / sizeof *known, n_d = 0;
	temp_dir(dir);
	snprintf(command, sizeof command, "cat %s/d", dir);
	for (int d = 0; d < 2; d++) {
		char path[64];
		snprintf(path, sizeof path, "%s/%s", dir, d ? "d" : "others");
		FILE *f = fopen(path, "w");
		for (size_t i = 0; i < n; i++)
			if ((strncmp(known[i][0], "_D", 2) == 0) == d)
				n_d += fprintf(f, "%s\n", known[i][0]) > 0 && d;
		fclose(f);
	}
	ck_assert_uint_eq(compare_with_cxxfilt(command, "dlang"), n_d);
	snprintf(command, sizeof command, "cat %s/others", dir);
	ck_assert_uint_eq(compare_with_cxxfilt(command, "auto"), n - n_d);
	shell_do("rm -r %s", dir);
	/* Some 4000 names of the C++ library. */
	ck_assert_uint_gt(compare_with_cxxfilt("nm -D --defined-only --without-symbol-versions "
					       "$(gcc -print-file-name=libstdc++.so.6) | "
					       "awk '{print $3}' | grep '^_Z'",
					       "auto"),
			  1000);
}
END_TEST

/* head, then body n times, then tail. */
static char *repeat(const char *head, const char *body, size_t n, const char *tail)
{
	size_t len = strlen(body), at = strlen(head);
	char *text = malloc(at + n * len + strlen(tail) + 1);
	memcpy(text, head, at);
	for (size_t i = 0; i < n; i++, at += len)
		memcpy(text + at, body, len);
	memcpy(text + at, tail, strlen(tail) + 1);
	return text;
}

static void stays_small(char *mangled)
{
	char *name = symbol_demangle(mangled);
	ck_assert(!name || strlen(name) <= 64 << 10);
	free(name);
	free(mangled);
}

START_TEST(long_names_stay)
{
	char *ident = repeat("_Z65600", "a", 65600, "v");
	ck_assert_ptr_null(symbol_demangle(ident));
	free(ident);
	stays_small(repeat("_Z3foo", "P", 60000, "i"));
	stays_small(repeat("_Z3foo", "P", 4000, "i"));
	stays_small(repeat("_ZN", "1a", 2000, "Ev"));
	stays_small(repeat("_RNvC3foo3bar", "I", 60000, "E"));
	stays_small(repeat("_RINvC3foo3bar", "R", 60000, "uE"));
	stays_small(repeat("_D3foo3barFP", "P", 4000, "iZv"));
	stays_small(repeat("_D3foo3barF", "P", 60000, "iZv"));
}
END_TEST

/* A number in one mangling's notation: its digits, last one first. */
static void add_digits(char *text, size_t n, const char *digits)
{
	char reversed[16];
	size_t base = strlen(digits), i = 0, len = strlen(text);
	do
		reversed[i++] = digits[n % base];
	while ((n /= base) > 0);
	while (i > 0)
		text[len++] = reversed[--i];
	text[len] = '\0';
}

#define ADD(text, more) strncat(text, more, sizeof(text) - strlen(text) - 1)

static const char alnum[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/* Each of these makes a name of n types. By back references, each type contains the one before it twice. */
static char *doubling_cxx(int n)
{
	char text[8192] = "_Z1f1AI1BS0_E";
	for (int i = 0; i < n; i++) {
		ADD(text, "S_I");
		for (int twice = 0; twice < 2; twice++) {
			ADD(text, "S");
			add_digits(text, i + 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
			ADD(text, "_");
		}
		ADD(text, "E");
	}
	return strdup(text);
}

static char *doubling_rust(int n)
{
	char text[8192] = "_RINvC3foo3bar";
	size_t before = strlen(text) - strlen("_R");
	ADD(text, "TuuE");
	for (int i = 0; i < n; i++) {
		size_t here = strlen(text) - strlen("_R");
		ADD(text, "T");
		for (int twice = 0; twice < 2; twice++) {
			ADD(text, "B");
			add_digits(text, before - 1, alnum);
			ADD(text, "_");
		}
		ADD(text, "E");
		before = here;
	}
	ADD(text, "E");
	return strdup(text);
}

static char *doubling_d(int n)
{
	char text[8192] = "_D3foo3barF";
	size_t before = strlen(text);
	ADD(text, "Hii");
	for (int i = 0; i < n; i++) {
		size_t here = strlen(text);
		ADD(text, "H");
		for (int twice = 0; twice < 2; twice++) {
			char last[] = { 'a' + (strlen(text) - before) % 26, '\0' };
			ADD(text, "Q");
			ADD(text, last); /* distances here are below 26 */
		}
		before = here;
	}
	ADD(text, "Zv");
	return strdup(text);
}

static void becomes(char *mangled, const char *wanted)
{
	char *name = symbol_demangle(mangled);
	ck_assert_pstr_eq(name, wanted);
	free(name);
	free(mangled);
}

START_TEST(doubling_names_stay_small)
{
	becomes(doubling_cxx(1), "f(A<B, B>, A<A<B, B>, A<B, B> >)");
	becomes(doubling_rust(1), "foo::bar::<((), ()), (((), ()), ((), ()))>");
	becomes(doubling_d(1), "foo.bar(int[int], int[int][int[int]])");
	/* 2^60 letters and more; without limits this exhausts all memory. */
	becomes(doubling_cxx(60), NULL);
	becomes(doubling_rust(100), NULL);
	becomes(doubling_d(60), NULL);
}
END_TEST

/* A function without arguments, because its parameter pack is empty. To find that out, the library searches for the pack in a type of n levels, each
 * made of the two levels before it. */
static char *silent_cxx(int n)
{
	char text[4096] = "1B", outer[4200];
	for (int i = 1; i <= n; i++) {
		char before[16] = "S";
		add_digits(before, i, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ");
		snprintf(outer, sizeof outer, "%sI%.4000s%s_%sE", i == n ? "1A" : "S0_", text,
			 before, i == n ? "T_" : "");
		memcpy(text, outer, sizeof text - 1);
	}
	snprintf(outer, sizeof outer, "_Z1fIJEEvDp%.4000s", text);
	return strdup(outer);
}

/* Names that keep c++filt busy for ages before it prints a letter. */
START_TEST(silent_names_end)
{
	/* Rust: a function type that binds 62^8 lifetimes, in a part of the name that is not printed. */
	becomes(strdup("_RNvMIC1aFG0_EuEu3new"), "<()>::new");
	becomes(strdup("_RNvMIC1aFGzzzzzzzz_EuEu3new"), NULL);
	becomes(strdup("_RNvMIC1aDGzzzzzzzz_EL_Eu3new"), NULL);
	becomes(strdup("_RNvMIC1aFGzzzzzzzz_1malformed"), NULL);
	/* An identifier and a hash that only look similar. */
	becomes(strdup("_RNvXsD_NtNtCs3TffaVLKYX7_13rustc_session6config12dep_trackingNtB7_"
		       "7CFGuardNtB5_15DepTrackingHash4hash"),
		"<rustc_session::config::CFGuard as "
		"rustc_session::config::dep_tracking::DepTrackingHash>::hash");
	becomes(strdup("_RNvCsaFGabcdefgh_1a1b"), "a::b");
	becomes(strdup("_RINvC1a1bFG0_RL0_uRL1_hEuE"), "a::b::<for<'a, 'b> fn(&'b (), &'a u8)>");
	becomes(silent_cxx(5), "void f<>()");
	becomes(silent_cxx(60), NULL);
}
END_TEST

UNIT_MAIN("demangle", knows_the_languages, knows_what_is_newer, leaves_other_names_alone,
	  agrees_with_cxxfilt, long_names_stay, doubling_names_stay_small, silent_names_end)
