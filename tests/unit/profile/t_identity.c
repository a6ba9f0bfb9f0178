// tier: test
/* What of names, binaries and files stays the same from build to build. */
#include "unit.h"

#include "base/buf.h"
#include "profile/identity.h"
#include "profile/identity_generated.h"

struct pair {
	const char *text, *same; /* same: NULL: unchanged */
};
struct name_pair {
	enum frame_kind kind;
	const char *text, *same;
};

static void assert_same(const char *text, bool differs, struct buf *got, const char *want)
{
	if (!want) {
		ck_assert_msg(!differs, "%s became %s", text, buf_cstr(got));
		ck_assert_uint_eq(got->len, 0);
		return;
	}
	ck_assert_msg(differs, "%s is not changed", text);
	ck_assert_str_eq(buf_cstr(got), want);
}

static void assert_each(const struct pair *pairs, size_t n,
			bool (*identity)(const char *s, size_t len, struct buf *out))
{
	for (size_t i = 0; i < n; i++) {
		struct buf b = { 0 };
		bool differs = identity(pairs[i].text, strlen(pairs[i].text), &b);
		assert_same(pairs[i].text, differs, &b, pairs[i].same);
		buf_done(&b);
	}
}

static const struct name_pair names[] = {
	{ FRAME_NATIVE, "parse", NULL },
	{ FRAME_NATIVE, "parse.isra.0", "parse" },
	{ FRAME_NATIVE, "parse.part.3.isra.0", "parse" },
	{ FRAME_NATIVE, "parse.cold", "parse" },
	{ FRAME_NATIVE, "parse.__part.2", "parse" },
	{ FRAME_NATIVE, "parse.constprop.0.cold", "parse" },
	{ FRAME_NATIVE, "parse.llvm.1234567890123456789", "parse" },
	{ FRAME_NATIVE, "parse.__uniq.12345.llvm.678", "parse" },
	{ FRAME_NATIVE, "parse.cfi", "parse" },
	{ FRAME_NATIVE, "parse.cfi_jt", NULL },
	{ FRAME_NATIVE, "fs.File.read__anon_1234", "fs.File.read__anon" },
	{ FRAME_NATIVE, "main.Queue(u8)__struct_77.push", "main.Queue(u8)__struct.push" },
	{ FRAME_NATIVE, "read__anon_x", NULL },
	{ FRAME_NATIVE, "copy__main_u123", "copy__main" },
	{ FRAME_NATIVE, "copyBin_abc12__system_u77", "copyBin_abc12__system" },
	{ FRAME_NATIVE, "vec__push_u32", NULL },
	{ FRAME_NATIVE, "copy__u12", NULL },
	{ FRAME_NATIVE, "copy_main_u12", NULL },
	{ FRAME_NATIVE, "__pyx_pw_3foo_1bar", "__pyx_pw_3foo_bar" },
	{ FRAME_NATIVE, "__pyx_pf_7package_3mod_3Cls_12method",
	  "__pyx_pf_7package_3mod_3Cls_method" },
	{ FRAME_NATIVE, "__pyx_gb_3foo_3baz_4two", "__pyx_gb_3foo_3baz_two" },
	{ FRAME_NATIVE, "__pyx_pw_3foo_3bar", "__pyx_pw_3foo_bar" },
	{ FRAME_NATIVE, "__pyx_f_3foo_bar", NULL },
	{ FRAME_NATIVE, "__pyx_pw_99999999999999999999999_f", NULL },
	{ FRAME_NATIVE, "__omp_offloading_10302_1a2b3c_main_l12", "__omp_offloading_main_l12" },
	{ FRAME_NATIVE, "__omp_offloading_10302_main_l12", NULL },
	{ FRAME_NATIVE, "App.<Run>d__12.MoveNext", "App.<Run>d__.MoveNext" },
	{ FRAME_JIT, "App.<>c__DisplayClass4_0.<Run>b__1", "App.<>c__DisplayClass0.<Run>b__1" },
	{ FRAME_JIT, "App.<>c.<Run>b__4_0", "App.<>c.<Run>b__0" },
	{ FRAME_NATIVE, "App.<Run>g__Read|4_0", "App.<Run>g__Read|0" },
	{ FRAME_NATIVE, "a|4_0", NULL },
	{ FRAME_NATIVE, "count.7", "count" },
	{ FRAME_NATIVE, "memcpy@@GLIBC_2.14", "memcpy" },
	{ FRAME_NATIVE, "memcpy@GLIBC_2.2.5", "memcpy" },
	{ FRAME_NATIVE, "memcpy@plt", NULL },
	{ FRAME_NATIVE, "crc32.avx2", NULL },
	{ FRAME_NATIVE, "task.resume", NULL },
	{ FRAME_NATIVE, "core::fmt::write::h0123456789abcdef", "core::fmt::write" },
	{ FRAME_NATIVE, "core::fmt::write::h0123456789abcde", NULL },
	{ FRAME_NATIVE, "app::run::habcdef0123456789.llvm.42", "app::run" },
	{ FRAME_NATIVE, "a::f(int) [clone .isra.0]", "a::f(int)" },
	{ FRAME_NATIVE, "a::f(int) [clone .isra.0] [clone .cold]", "a::f(int)" },
	{ FRAME_NATIVE, "a::operator[](int)", NULL },
	{ FRAME_NATIVE, "a::operator[]", NULL },
	{ FRAME_NATIVE, "_cgo_0123456789ab_Cfunc_puts", "_cgo_Cfunc_puts" },
	{ FRAME_NATIVE, ".cold", NULL },
	{ FRAME_NATIVE, ".0", NULL },
	{ FRAME_NATIVE, "0", NULL },
	{ FRAME_NATIVE, "", NULL },
	{ FRAME_NATIVE, "f.specialized.2", "f" },
	{ FRAME_NATIVE, "f.memprof.1.llvm.7", "f" },
	{ FRAME_NATIVE, "a::f(int) (.isra.0)", "a::f(int)" },
	{ FRAME_NATIVE, "a::f(int) (.constprop.0.cold)", "a::f(int)" },
	{ FRAME_NATIVE, "a::f(int) (.resume)", NULL },
	{ FRAME_NATIVE, "f (.x.cold)", NULL },
	{ FRAME_NATIVE, "_ZN4core3fmt5write17h0123456789abcdefE", "_ZN4core3fmt5write" },
	{ FRAME_NATIVE, "_ZN4core3fmt5write17h0123456789abcdefE.llvm.9", "_ZN4core3fmt5write" },
	{ FRAME_NATIVE, "_ZN4core3fmt5writeE", NULL },
	{ FRAME_NATIVE, "<alloc[54b0a6f5e1d3c2aa]::vec::Vec<u8>>::push",
	  "<alloc::vec::Vec<u8>>::push" },
	{ FRAME_NATIVE, "f<[u8; 12345678]>", NULL },
	{ FRAME_NATIVE, "_RNvNtCs1234_4core3fmt5write", "_RNvNtC4core3fmt5write" },
	{ FRAME_NATIVE, "camlMain__loop_274", "camlMain__loop" },
	{ FRAME_NATIVE, "camlStdlib__List.map_310", "camlStdlib__List.map" },
	{ FRAME_NATIVE, "camlMain.fun_274", NULL },
	{ FRAME_NATIVE, "camlMain__fun_310", NULL },
	{ FRAME_NATIVE, "camlMain__fun_310.cold", "camlMain__fun_310" },
	{ FRAME_NATIVE, "camlMain.refun_274", "camlMain.refun" },
	{ FRAME_NATIVE, "caml_alloc_1", NULL },
	{ FRAME_NATIVE, "base-4.17.0.0:GHC.Base.map", "base:GHC.Base.map" },
	{ FRAME_NATIVE, "unordered-containers-0.2:Data.HashMap.f",
	  "unordered-containers:Data.HashMap.f" },
	{ FRAME_NATIVE, "a-1::f", NULL },
	{ FRAME_KERNEL, "finish_task_switch.isra.0", "finish_task_switch" },
	{ FRAME_KERNEL, "bpf_prog_6deef7357e7b4530_on_switch", "bpf_prog_on_switch" },
	{ FRAME_KERNEL, "bpf_trampoline_6442536467", "bpf_trampoline" },
	{ FRAME_KERNEL, "bpf_prog_run", NULL },
	{ FRAME_GO, "main.main.func1.2", NULL },
	{ FRAME_GO, "runtime.memmove.abi0", "runtime.memmove" },
	{ FRAME_GO, "example.com/json/v2.Decode", "example.com/json.Decode" },
	{ FRAME_GO, "example.com/json/v2/scan.(*S).Next", "example.com/json/scan.(*S).Next" },
	{ FRAME_GO, "gopkg.in/yaml%2ev3.Unmarshal", "gopkg.in/yaml.Unmarshal" },
	{ FRAME_GO, "gopkg.in/yaml.v3.Unmarshal", "gopkg.in/yaml.Unmarshal" },
	{ FRAME_GO, "main.v2", NULL },
	{ FRAME_GO, "main.v2.f", NULL },
	{ FRAME_GO, "example.com/v2ray.Run", NULL },
	{ FRAME_GO, "type..eq.main.T", "type.eq.main.T" },
	{ FRAME_GO, "type:.eq.main.T", "type.eq.main.T" },
	{ FRAME_GO, "sort.Max[go.shape.int_0]", "sort.Max[go.shape.int]" },
	{ FRAME_GO, "m.F[go.shape.int_0,go.shape.string_1]", "m.F[go.shape.int,go.shape.string]" },
	{ FRAME_JAVA, "com.acme.Job$$Lambda$14/0x0000000800c8d440.run",
	  "com.acme.Job$$Lambda.run" },
	{ FRAME_JAVA, "com.acme.Job$$Lambda/0x00007f1b5c0a1000.run", "com.acme.Job$$Lambda.run" },
	{ FRAME_JIT, "com.acme.Job$$Lambda$14/1234567890.run", "com.acme.Job$$Lambda.run" },
	{ FRAME_JAVA, "jdk.internal.reflect.GeneratedMethodAccessor12.invoke",
	  "jdk.internal.reflect.GeneratedMethodAccessor.invoke" },
	{ FRAME_JAVA, "jdk.internal.reflect.GeneratedSerializationConstructorAccessor3.newInstance",
	  "jdk.internal.reflect.GeneratedSerializationConstructorAccessor.newInstance" },
	{ FRAME_JAVA, "com.acme.MethodAccessor2.get", NULL },
	{ FRAME_JAVA, "com.acme.Job.run", NULL },
	{ FRAME_JAVA, "java.lang.invoke.LambdaForm$MH.0x0000000800c8d440.invoke",
	  "java.lang.invoke.LambdaForm$MH.invoke" },
	{ FRAME_JAVA, "a.B$ByteBuddy$aB3dE9xZ.f", "a.B$ByteBuddy$.f" },
	{ FRAME_JAVA, "a.B$$SpringCGLIB$$0.f", "a.B$$SpringCGLIB$$.f" },
	{ FRAME_JIT, "julia_sum_1234", "julia_sum" },
	{ FRAME_JIT, "jfptr_sum!_7", "jfptr_sum!" },
	{ FRAME_JIT, "julia_12", NULL },
	{ FRAME_JIT, "void [app] A.B::C(int32)[OptimizedTier1]", "void [app] A.B::C(int32)" },
	{ FRAME_JIT, "void [app] A.B::C(int32[])[PreJIT]", "void [app] A.B::C(int32[])" },
	{ FRAME_JIT, "TRACE_12::f.lua:3", "TRACE_::f.lua:3" },
	{ FRAME_JIT, "TRACE-12$f$3", "TRACE-$f$3" },
	{ FRAME_JIT, "wasm[0]::function[12]::f", "wasm[0]::function[]::f" },
	{ FRAME_JIT, "wasm[0]::function[12]", NULL },
	{ FRAME_JIT, "JS:*render /srv/build-7/app.js:12:34", "JS:render app.js" },
	{ FRAME_JIT, "JS:+'render file:///srv/build-7/app.js:12:34", "JS:render app.js" },
	{ FRAME_JIT, "JS:render /srv/build-7/app.js:12:34", "JS:render app.js" },
	{ FRAME_JIT, "JS: app.js:3:9", NULL },
	{ FRAME_JIT, "JS:~ /srv/build-7/app.js:3:9", "JS: app.js:3:9" },
	{ FRAME_JIT, "LazyCompile:*' /srv/build-7/app.js:3", "LazyCompile: app.js:3" },
	{ FRAME_JIT, "py::run:/srv/build-7/app.py", "py::run:app.py" },
	{ FRAME_JIT, "stub 0x00007f1b5c0a1000", "stub" },
	{ FRAME_PYTHON, "run.0", NULL },
	{ FRAME_GPU_KERNEL, "fusion.12", NULL },
	{ FRAME_MARKER, "bash-12.0", NULL },
};

static const char *const codes[][2] = {
	{ "JS:*'hotA /t/prog.js:2:14", "JS:hotA /t/prog.js:2:14" },
	{ "JS:+'hotA /t/prog.js:2:14", "JS:hotA /t/prog.js:2:14" },
	{ "JS:*hotA /t/prog.js:2:14", "JS:hotA /t/prog.js:2:14" },
	{ "JS:+hotA /t/prog.js:2:14", "JS:hotA /t/prog.js:2:14" },
	{ "JS:^hotA /t/prog.js:2:14", "JS:hotA /t/prog.js:2:14" },
	{ "JS:~hotA /t/prog.js:2:14", "JS:hotA /t/prog.js:2:14" },
	{ "JS:~ /t/prog.js:7:131", "JS: /t/prog.js:7:131" },
	{ "LazyCompile:*hotA /t/prog.js:2:14", "LazyCompile:hotA /t/prog.js:2:14" },
	{ "Script:~ file:///t/wasm.mjs:1:1", "Script: file:///t/wasm.mjs:1:1" },
	{ "JS:wasm-function[0]-0-liftoff", "JS:wasm-function[0]-0" },
	{ "JS:wasm-function[0]-0-turbofan", "JS:wasm-function[0]-0" },
	{ "$prog:hot_a/2-CodeInfoPrologue", "prog:hot_a/2" },
	{ "$erts_beamasm:normal_exit/0-CodeInfoPrologue", "erts_beamasm:normal_exit/0" },
	{ "$prog:'-loop/1-fun-0-'/1", "prog:'-loop/1-fun-0-'/1" },
	{ "$global::call_error_handler_shared", NULL },
	{ "$/2", NULL },
	{ "prog:hot_a/2", NULL },
	{ "-CodeInfoPrologue", NULL },
	{ "JS:hotA /t/prog.js:2:14", NULL },
	{ "JS:", NULL },
	{ "Builtin:RegExpPrototypeExec", NULL },
	{ "RegExp.> src: '(x+x+)+y' flags: ''", NULL },
	{ "*'hotA", NULL },
	{ "x-liftoff", NULL },
};

START_TEST(code_loses_its_tier)
{
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
		struct buf b = { 0 };
		bool has = identity_code(codes[i][0], strlen(codes[i][0]), &b);
		ck_assert_msg(has == (codes[i][1] != NULL), "%s", codes[i][0]);
		if (has)
			ck_assert_str_eq(buf_cstr(&b), codes[i][1]);
		buf_done(&b);
	}
}
END_TEST

/* Of files that have no kinds. */
START_TEST(names_show_their_language)
{
	static const struct {
		const char *name, *file;
		enum frame_kind language;
	} all[] = {
		{ "f", "f.c", FRAME_NATIVE },
		{ "main.f", "/m/f.go", FRAME_GO },
		{ "a.B.f", "B.java", FRAME_JAVA },
		{ "example.com/json/v2.Decode", "", FRAME_GO },
		{ "github.com/a/b.(*T).M", "", FRAME_GO },
		{ "main.f.func1.2", "", FRAME_GO },
		{ "main.init.0", "", FRAME_GO },
		{ "sort.Max[go.shape.int_0]", "", FRAME_GO },
		{ "runtime.memmove.abi0", "", FRAME_GO },
		{ "type..eq.main.T", "", FRAME_GO },
		{ "count.7", "", FRAME_NATIVE },
		{ "main.cold", "", FRAME_NATIVE },
		{ "java/util/List.add", "", FRAME_NATIVE },
		{ "/usr/lib/x.so.1/f.o", "", FRAME_NATIVE },
		{ "a.b/f", "", FRAME_NATIVE },
		{ "operator/(a.b, int)", "", FRAME_NATIVE },
		{ "a.B$$Lambda$14/0x0000000800c8d440.run", "", FRAME_JIT },
		{ "a.LambdaForm$MH/0x0000000800c8d440.invoke", "", FRAME_JIT },
		{ "app at 0x0000000800c8d440", "", FRAME_NATIVE },
		{ "JS:*f /srv/app.js:3:9", "", FRAME_JIT },
		{ "LazyCompile:~f /srv/app.js:3:9", "", FRAME_JIT },
		{ "Function:f /srv/app.js:3", "", FRAME_JIT },
		{ "Function::call", "", FRAME_NATIVE },
		{ "Script::run(int)", "", FRAME_NATIVE },
		{ "py::f:/srv/app.py", "", FRAME_JIT },
		{ "py::<module>:app.py", "", FRAME_JIT },
		{ "py::f", "", FRAME_NATIVE },
		{ "py::list::append(int)", "", FRAME_NATIVE },
		{ "py::list::append", "", FRAME_NATIVE },
		{ "TRACE_2_f", "", FRAME_NATIVE },
		{ "TRACE_2::f.lua:3", "", FRAME_JIT },
		{ "app::MethodAccessor2::get", "", FRAME_NATIVE },
		{ "reflect.GeneratedMethodAccessor2.invoke", "", FRAME_JIT },
		{ "julia_sum_1234", "", FRAME_JIT },
		{ "void [app] A.B::C()[Optimized]", "", FRAME_JIT },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		ck_assert_msg(identity_language(FRAME_NATIVE, all[i].name, strlen(all[i].name),
						all[i].file,
						strlen(all[i].file)) == all[i].language,
			      "%s", all[i].name);
	ck_assert_int_eq(identity_language(FRAME_PYTHON, "JS:*f", 5, "a.go", 4), FRAME_PYTHON);
}
END_TEST

START_TEST(names_lose_what_a_build_adds)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct buf b = { 0 };
		const struct name_pair *n = &names[i];
		bool differs = identity_name(n->kind, n->text, strlen(n->text), &b);
		assert_same(n->text, differs, &b, n->same);
		buf_done(&b);
	}
}
END_TEST

/* The rest may end in a number that the program has in its source. */
START_TEST(names_lose_one_number_of_a_compiler)
{
	static const struct name_pair all[] = {
		{ FRAME_JIT, "julia_layer_1_1234", "julia_layer_1" },
		{ FRAME_JIT, "julia_layer_2_1234", "julia_layer_2" },
		{ FRAME_NATIVE, "camlMain.loop_1_274", "camlMain.loop_1" },
		{ FRAME_NATIVE, "camlMain.loop_1_274.cold", "camlMain.loop_1" },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct buf b = { 0 };
		bool differs = identity_name(all[i].kind, all[i].text, strlen(all[i].text), &b);
		assert_same(all[i].text, differs, &b, all[i].same);
		buf_done(&b);
	}
}
END_TEST

START_TEST(binaries_lose_directories_and_versions)
{
	static const struct pair pairs[] = {
		{ "app", NULL },
		{ "/usr/bin/app", "app" },
		{ "app (deleted)", "app" },
		{ "/usr/bin/app (deleted)", "app" },
		{ "libc-2.31.so", "libc.so" },
		{ "libc.so.6", "libc.so" },
		{ "libstdc++.so.6.0.30", "libstdc++.so" },
		{ "libpython3.11.so.1.0", "libpython.so" },
		{ "libLLVM-14.so.1", "libLLVM.so" },
		{ "python3.11", "python" },
		{ "python3", NULL },
		{ "base64", NULL },
		{ "x86_64", NULL },
		{ "redis-server", NULL },
		{ "redis-server-7.0.15", "redis-server" },
		{ "app_v2", "app" },
		{ "app_1.2", "app" },
		{ "app@v1.2.3", "app" },
		{ "app-1.2.3-rc1.jar", "app.jar" },
		{ "app-1.2-SNAPSHOT.jar", "app.jar" },
		{ "app-1.2.3-5-g5f308b7", "app" },
		{ "app-deadbeef", NULL }, /* a word */
		{ "vmlinux-6.1.0-13-amd64", "vmlinux-amd64" },
		{ "[kernel]", NULL },
		{ "[vdso]", NULL },
		{ "perf-1234.map", "perf.map" },
		{ "perf-app.map", NULL },
		{ "jitted-12-34.so", "jitted.so" },
		{ "1.2.3", NULL },
		{ "", NULL },
		{ "/", NULL },
	};
	assert_each(pairs, sizeof pairs / sizeof *pairs, identity_binary);
}
END_TEST

START_TEST(files_lose_versions_of_directories)
{
	static const struct pair pairs[] = {
		{ "/src/app/main.c", NULL },
		{ "main-1.2.c", NULL },
		{ "/src/main-1.2.c", NULL },
		{ "/srv/dist/main.3f2a1b9c.js", "/srv/dist/main.js" },
		{ "chunk-3f2a1b9c77.mjs", "chunk.mjs" },
		{ "/srv/app-1.2/dist/main.3f2a1b9c.js", "/srv/app/dist/main.js" },
		{ "/src/main.3f2a1b9c.c", NULL },
		{ "/src/facade-decade00.js", "/src/facade.js" },
		{ "/src/day-20240101.js", NULL },
		{ "/src/a-defaced.js", NULL },
		{ "3f2a1b9c.js", NULL },
		{ "/go/pkg/mod/example.com/json@v1.2.3/decode.go",
		  "/go/pkg/mod/example.com/json/decode.go" },
		{ "/usr/lib/python3.11/json/decoder.py", "/usr/lib/python/json/decoder.py" },
		{ "/r/index.crates.io-6f17d22bba15001f/serde-1.0.188/src/lib.rs",
		  "/r/index.crates.io/serde/src/lib.rs" },
		{ "/srv/releases/20240101/app.py", "/srv/releases//app.py" },
		{ "/go/pkg/mod/example.com/json/v2@v2.1.0/decode.go",
		  "/go/pkg/mod/example.com/json/v2/decode.go" },
		{ "", NULL },
	};
	assert_each(pairs, sizeof pairs / sizeof *pairs, identity_file);
}
END_TEST

START_TEST(addresses_do_not_count_as_names)
{
	static const struct {
		const char *name, *binary;
		bool is;
	} all[] = {
		{ "app+0x1f", "", true },          { "+0x1f", "", false },
		{ "a b+0x1f", "", false },         { "app+0x1f", "app", true },
		{ "app+0x", "app", false },        { "app+0x1g", "app", false },
		{ "app", "app", false },           { "lib.so+0x1", "app", false },
		{ "app.main+0x12", "app", false },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		ck_assert_int_eq(identity_is_address(all[i].name, strlen(all[i].name),
						     all[i].binary, strlen(all[i].binary)),
				 all[i].is);
}
END_TEST

START_TEST(words_for_missing_names)
{
	ck_assert(identity_is_unknown("[unknown]", 9));
	ck_assert(identity_is_unknown("???", 3));
	ck_assert(!identity_is_unknown("????", 4));
	ck_assert(!identity_is_unknown("unknown", 7));
	ck_assert(!identity_is_unknown("", 0));
}
END_TEST

START_TEST(the_rest_has_nothing_to_remove)
{
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct buf b = { 0 }, again = { 0 };
		const struct name_pair *n = &names[i];
		if (identity_name(n->kind, n->text, strlen(n->text), &b))
			ck_assert_msg(!identity_name(n->kind, b.data, b.len, &again), "%s: %s",
				      n->text, buf_cstr(&again));
		buf_done(&b);
		buf_done(&again);
	}
}
END_TEST

UNIT_MAIN("identity", code_loses_its_tier, names_show_their_language, names_lose_what_a_build_adds,
	  names_lose_one_number_of_a_compiler, binaries_lose_directories_and_versions,
	  files_lose_versions_of_directories, addresses_do_not_count_as_names,
	  words_for_missing_names, the_rest_has_nothing_to_remove)
