// tier: live
/* HotSpot read from outside, on each JDK here: every compiled method by the JVM's own list of them (jcmd Compiler.codelist), and inlined functions
 * and lines of each PcDesc by what the compilers themselves print (-XX:+PrintNMethods). */
#include "base/buf.h"
#include "live_java.h"

/* Compiles the program for all versions. Returns whether there is a compiler. */
static bool compile(char dir[32])
{
	temp_dir(dir);
	return system("command -v javac >/dev/null") == 0 &&
	       (shell_do("javac -Xlint:none --release 8 -encoding UTF-8 -d %s "
			 "tests/unit/java/Names.java 2>&1",
			 dir),
		true);
}

/* errors: a file for what the compilers print; NULL: they do not. */
static void start(struct live *l, const struct java *j, const char *dir, const char *errors)
{
	char java[256];
	char *argv[] = { java,
			 "-Xmx64m",
			 "-XX:+UseSerialGC",
			 "-XX:-UseCodeCacheFlushing",
			 "-XX:+UnlockDiagnosticVMOptions",
			 errors ? "-XX:+PrintNMethods" : "-XX:-PrintNMethods",
			 "-XX:+DisplayVMOutputToStderr",
			 "-cp",
			 (char *)dir,
			 "Names",
			 NULL };

	snprintf(java, sizeof java, "%s/bin/java", j->home);
	live_start(l, j->root, argv, errors);
	live_until(l, "ready");
	live_attach(l);
}

/* Runs the test once for each JDK. */
static void each_java(void (*test)(const struct java *j, const char *dir))
{
	struct javas all;
	char dir[32];

	javas_find(&all);
	if (!all.n)
		T_SKIP("no HotSpot here");
	if (!compile(dir)) {
		shell_do("rm -rf %s", dir);
		T_SKIP("no javac here");
	}
	for (size_t i = 0; i < all.n; i++) {
		const char *root = all.v[i].root;

		if (*root)
			shell_do("mkdir -p %s/tmp && cp -a %s %s/tmp", root, dir, root);
		test(&all.v[i], dir);
		if (*root)
			shell_do("rm -rf %s%s", root, dir);
	}
	shell_do("rm -rf %s", dir);
}

/* --- all compiled methods ------------------------------------------------------------------------- */

/* Removes what differs between runs, as names have it: addresses and numbers of hidden classes. */
static void without_address(char *name)
{
	char *address = strstr(name, "/0x"), *number = strstr(name, "$$Lambda$");

	if (address)
		memmove(address, address + 3 + strspn(address + 3, "0123456789abcdef"),
			strlen(address + 3 + strspn(address + 3, "0123456789abcdef")) + 1);
	if (number) {
		number += strlen("$$Lambda");
		memmove(number, number + 1 + strspn(number + 1, "0123456789"),
			strlen(number + 1 + strspn(number + 1, "0123456789")) + 1);
	}
}

static bool is_ascii(const char *text)
{
	while (*text > 0)
		text++;
	return !*text;
}

/* jcmd writes other characters in another form: NULL.
 * "57 3 0 java.lang.String.hashCode()I [0x…, 0x… - 0x…]" */
static char *listed(const char *list, uint32_t id)
{
	char start[32], *name = NULL;
	const char *at = list;

	snprintf(start, sizeof start, "%u ", id);
	for (; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
		if (strncmp(at, start, strlen(start)) == 0) {
			ck_assert_int_eq(sscanf(at, "%*u %*d %*d %m[^(]", &name), 1);
			if (!is_ascii(name)) {
				free(name);
				return NULL;
			}
			without_address(name);
			return name;
		}
	return NULL;
}

struct compared {
	struct live *live;
	const char *list;
	size_t compiled, named, listed, own;
};

static void compare_name(void *ctx, const struct hotspot_blob *b)
{
	struct compared *c = ctx;
	struct live *l = c->live;
	char kind[HOTSPOT_MAX_BLOB_NAME];
	struct runtime_frames f;

	ck_assert_int_eq(hotspot_blob_name(&l->memory, b->name, kind), 0);
	if (strcmp(kind, "nmethod") != 0 && strcmp(kind, "native nmethod") != 0) {
		ck_assert_int_eq(live_name(l, HOTSPOT_STUB, b->addr, 0, 0, &f), RUNTIME_OWN);
		ck_assert_int_eq(strncmp(f.v[0].name, "[stub: ", 7), 0);
		ck_assert_ptr_nonnull(strstr(f.v[0].name, kind));
		c->own++;
		return;
	}
	uint32_t id = hotspot_get(b->bytes, l->offsets.nmethod_compile_id);
	/* Below its first PcDesc: the method itself. */
	enum runtime_named named = live_name(l, HOTSPOT_COMPILED_LEAF, b->addr, id, 0, &f);
	c->compiled++;
	c->named += named == RUNTIME_NAMED;
	ck_assert_int_eq(live_name(l, HOTSPOT_COMPILED, b->addr, id + 1, 0, &f), RUNTIME_GONE);
	char *theirs = listed(c->list, id);
	if (named == RUNTIME_NAMED && theirs) {
		ck_assert_int_eq(live_name(l, HOTSPOT_COMPILED_LEAF, b->addr, id, 0, &f),
				 RUNTIME_NAMED);
		const char *ours = f.v[f.n - 1].name;
		size_t len = strcspn(ours, "(");

		ck_assert_msg(strlen(theirs) == len && strncmp(ours, theirs, len) == 0,
			      "%u: %s, not %s", id, ours, theirs);
		c->listed++;
	}
	free(theirs);
}

static void check_names(const struct java *j, const char *dir)
{
	struct buf text = { 0 };
	struct live l;

	start(&l, j, dir, NULL);
	/* Programs in other roots are not reached. */
	char *list = *j->root ? xstrdup("")
			      : shell("%s/bin/jcmd %d Compiler.codelist 2>/dev/null || true",
				      j->home, l.pid);
	struct compared c = { .live = &l, .list = list };
	size_t blobs = live_blobs(&l, compare_name, &c);
	enum { MAX_WORDS = 16384 };
	uint64_t(*words)[2] = xcalloc(MAX_WORDS, sizeof *words);
	size_t threads, looked = hotspot_runtime.look(l.process, words, MAX_WORDS, &threads);
	/* The program does not compile much more by now. */
	ck_assert_uint_ge(looked * 100, c.compiled * 95);
	ck_assert_uint_le(looked * 95, c.compiled * 100);
	free(words);
	hotspot_runtime.describe(l.process, &text);
	printf("# %s# %zu blobs, %zu compiled methods, %zu named, %zu as listed, %zu of the VM\n",
	       buf_cstr(&text), blobs, c.compiled, c.named, c.listed, c.own);
	ck_assert_uint_ge(c.compiled, 50);
	ck_assert_uint_ge(c.named * 100, c.compiled * 99);
	if (strstr(list, "java.lang.")) /* jcmd reaches it */
		ck_assert_uint_ge(c.listed * 100, c.compiled * 95);
	buf_done(&text);
	free(list);
	live_end(&l);
}

START_TEST(compiled_methods_as_listed)
{
	each_java(check_names);
}
END_TEST

/* --- scopes and lines ------------------------------------------------------------------------------ */

/* What the compilers print of a method:
 *
 *     Compiled method (c2)     466  193       4       Names::outer (14 bytes)
 *      main code      [0x00007f6e014001c0,0x00007f6e01400340] = 384
 *       0x00007f6e01400250: ; ImmutableOopMap {rsi=Oop }
 *                           ;*invokestatic leaf {reexecute=0 rethrow=0 return_oop=0}
 *                           ; - Names::middle@1 (line 23)
 *                           ; - Names::outer@1 (line 27)
 *
 * An address is that of a piece of code in which the PcDesc is. */
enum { MAX_PRINTED = 200000, MAX_CHAIN = 700 };

struct printed {
	uint32_t id;
	uint64_t at;
	char chain[MAX_CHAIN]; /* "Names::middle 23\nNames::outer 27\n" */
};
struct all_printed {
	struct printed *v;
	size_t n;
	uint32_t id; /* of the method that is being read */
};

static void take_chain(struct all_printed *all, const char *line)
{
	struct printed *p = &all->v[all->n - 1];
	const char *at = strstr(line, "; - ") + 4, *bci, *number;
	size_t len = strlen(p->chain);

	if (strncmp(at, "(reexecute) ", 12) == 0)
		at += 12;
	bci = strrchr(at, '@');
	number = strstr(at, "(line ");
	if (!bci || p->at == 0)
		return;
	snprintf(p->chain + len, sizeof p->chain - len, "%.*s %d\n", (int)(bci - at), at,
		 number ? atoi(number + 6) : 0);
}

static void take_printed(struct all_printed *all, const char *line)
{
	unsigned long at;
	unsigned id;

	if (sscanf(line, "Compiled method (%*[a-z0-9]) %*u %u", &id) == 1) {
		all->id = id;
	} else if (sscanf(line, " 0x%lx: ;", &at) == 1 && strchr(line, ';')) {
		ck_assert_uint_lt(all->n, MAX_PRINTED);
		all->v[all->n++] = (struct printed){ .id = all->id, .at = at };
		if (strstr(line, "; - "))
			take_chain(all, line);
	} else if (strstr(line, "; - ") && all->n) {
		take_chain(all, line);
	}
}

static void read_printed(struct all_printed *all, const char *path)
{
	char *line = NULL;
	size_t cap = 0;
	FILE *f = fopen(path, "r");

	ck_assert_ptr_nonnull(f);
	while (getline(&line, &cap, f) > 0)
		take_printed(all, line);
	fclose(f);
	free(line);
}

static const char *find_printed(const struct all_printed *all, uint32_t id, uint64_t pc)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].id == id && all->v[i].at < pc && all->v[i].at + 4 >= pc &&
		    *all->v[i].chain)
			return all->v[i].chain;
	return NULL;
}

/* The names as the compilers print them: two colons, no signature, addresses of hidden classes. */
static void chain_of(const struct runtime_frames *f, char *out, size_t size)
{
	size_t len = 0;

	*out = '\0';
	for (uint32_t i = 0; i < f->n && len < size; i++) {
		const char *name = f->v[i].name, *end = strchr(name, '(');
		const char *dot = memrchr(name, '.', end - name);

		len += snprintf(out + len, size - len, "%.*s::%.*s %u\n", (int)(dot - name), name,
				(int)(end - dot - 1), dot + 1, f->v[i].line);
	}
}

struct scopes_compared {
	struct live *live;
	struct all_printed printed;
	size_t descs, equal, absent, inlined;
};

static void compare_desc(struct scopes_compared *c, const struct hotspot_blob *b, uint32_t id,
			 int32_t offset)
{
	const char *theirs = find_printed(&c->printed, id, b->code + offset);
	char ours[MAX_CHAIN], plain[MAX_CHAIN];
	struct runtime_frames f;

	c->descs++;
	/* Characters beyond ASCII are printed as their code units. */
	if (!theirs || strstr(theirs, "\\u")) {
		c->absent++;
		return;
	}
	ck_assert_int_eq(live_name(c->live, HOTSPOT_COMPILED, b->addr, id, offset, &f),
			 RUNTIME_NAMED);
	chain_of(&f, ours, sizeof ours);
	snprintf(plain, sizeof plain, "%s", theirs);
	while (strstr(plain, "/0x") || strstr(plain, "$$Lambda$"))
		without_address(plain);
	ck_assert_msg(strncmp(ours, plain, sizeof ours - 64) == 0, "%u+%d:\n%snot\n%s", id, offset,
		      ours, plain);
	c->equal++;
	c->inlined += f.n > 1;
}

static void compare_scopes(void *ctx, const struct hotspot_blob *b)
{
	struct scopes_compared *c = ctx;
	struct live *l = c->live;
	const struct hotspot_offsets *o = &l->offsets;
	uint32_t id = hotspot_get(b->bytes, o->nmethod_compile_id);
	char kind[HOTSPOT_MAX_BLOB_NAME];
	uint8_t desc[HOTSPOT_MAX_HEADER];
	struct hotspot_nmethod n;

	if (hotspot_blob_name(&l->memory, b->name, kind) < 0 || strcmp(kind, "nmethod") != 0 ||
	    hotspot_nmethod_read(o, l->layout.version, &l->memory, b->addr, id, &n) < 0)
		return;
	for (uint32_t i = 1; i + 1 < n.n_pcs; i++) {
		ck_assert_int_eq(live_read(l, n.pcs + i * o->pc_bytes, desc, o->pc_bytes), 0);
		if (hotspot_get(desc, o->pc_scope))
			compare_desc(c, b, id, hotspot_get(desc, o->pc_offset));
	}
}

static void check_scopes(const struct java *j, const char *dir)
{
	struct scopes_compared c = { .printed.v = xcalloc(MAX_PRINTED, sizeof *c.printed.v) };
	char printed[64];
	struct live l;

	snprintf(printed, sizeof printed, "%s/printed", dir);
	start(&l, j, dir, printed);
	read_printed(&c.printed, printed);
	c.live = &l;
	live_blobs(&l, compare_scopes, &c);
	printf("# %s: %zu PcDescs, %zu as printed, %zu of them inlined, %zu not printed\n", j->home,
	       c.descs, c.equal, c.inlined, c.absent);
	fflush(stdout);
	ck_assert_uint_ge(c.equal, 200);
	ck_assert_uint_ge(c.inlined, 20);
	/* The others were compiled after the last ones were printed. */
	ck_assert_uint_ge(c.equal * 2, c.descs);
	free(c.printed.v);
	live_end(&l);
}

START_TEST(scopes_as_printed)
{
	each_java(check_scopes);
}
END_TEST

UNIT_MAIN("hotspot_live", compiled_methods_as_listed, scopes_as_printed)
