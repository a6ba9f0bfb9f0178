// tier: test
/* The address of a thread-local variable, found as for another process, compared with the one in the compiler's own code. */
#include "bpf/trace.h"
#include "collect/proc/proc_maps.h"
#include "collect/proc/process_memory.h"
#include "collect/process/thread_context.h"
#include "shell.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_tls.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

struct record;
typedef struct record *volatile *slot_fn(void);

/* --- a library ---------------------------------------------------------------------------------- */

struct library {
	char path[64];
	int fd;
	void *handle;
	slot_fn *slot;
	uint64_t start, pgoff; /* of its code */
	struct elf_tls tls;
};

static bool is_other(void *ctx, const struct proc_map *m)
{
	struct library *l = ctx;

	if (!m->executable || strcmp(m->name, l->path) != 0)
		return true;
	l->start = m->start;
	l->pgoff = m->pgoff;
	return false;
}

static void build(struct library *l, const char *options)
{
	struct elf_file f;

	*l = (struct library){ .path = "/tmp/cresset-tls-XXXXXX.so" };
	l->fd = mkstemps(l->path, 3);
	ck_assert_int_ge(l->fd, 0);
	shell_do("cc -O1 -shared -fPIC %s -o %s tests/live/prog/trace_lib.c", options, l->path);
	close(l->fd);
	l->fd = open(l->path, O_RDONLY | O_CLOEXEC);
	ck_assert_int_eq(elf_file_open(&f, l->fd, NULL), 0);
	ck_assert_int_eq(elf_tls_find(&f, THREAD_CONTEXT_VARIABLE, &l->tls), 0);
	ck_assert_int_eq(elf_tls_find(&f, "no_such_variable", &(struct elf_tls){ 0 }), -ENODATA);
	elf_file_close(&f);
}

static void load(struct library *l)
{
	l->handle = dlopen(l->path, RTLD_NOW | RTLD_LOCAL);
	ck_assert_msg(l->handle != NULL, "%s", dlerror());
	l->slot = (slot_fn *)dlsym(l->handle, "trace_slot");
	ck_assert_int_eq(proc_maps_read(getpid(), is_other, l), 0);
	ck_assert_uint_ne(l->start, 0);
}

static void done(struct library *l)
{
	if (l->handle)
		dlclose(l->handle);
	close(l->fd);
	unlink(l->path);
}

static int read_self(void *ctx, uint64_t addr, void *out, size_t len)
{
	(void)ctx;
	return process_memory_read(getpid(), addr, out, len);
}
static const struct thread_memory self = { read_self, NULL };

static int recipe_of(const struct library *l, struct trace_recipe *r)
{
	const struct thread_context_place place = { &l->tls, l->start, l->pgoff, false, false };

	return thread_context_recipe(&place, &self, r);
}

/* --- a recipe, followed ------------------------------------------------------------------------ */

/* Returns 0 if this thread has no such block. */
static uint64_t follow(const struct trace_recipe *r)
{
	uint64_t base = (uintptr_t)__builtin_thread_pointer(), vector, head[3], block;

	if (r->proof_at)
		ck_assert_uint_eq(*(uint64_t *)r->proof_at, r->proof);
	if (r->place == TRACE_STATIC)
		return base + r->offset;
	ck_assert_int_eq(read_self(NULL, base + 8, &vector, sizeof vector), 0);
	ck_assert_int_eq(read_self(NULL, vector - 16, head, sizeof head), 0);
	if (r->module > head[0] || head[2] < r->generation)
		return 0;
	ck_assert_int_eq(read_self(NULL, vector + 16ull * r->module, &block, sizeof block), 0);
	return !block || block == UINT64_MAX ? 0 : block + r->offset;
}

struct check {
	const struct library *l;
	const struct trace_recipe *r;
	bool is_static;
};

static void *check_thread(void *arg)
{
	const struct check *c = arg;

	if (!c->is_static)
		ck_assert_uint_eq(follow(c->r), 0); /* a new thread: not touched yet */
	uint64_t at = (uintptr_t)c->l->slot();
	ck_assert_uint_eq(follow(c->r), at);
	return NULL;
}

static void check_library(const char *options, enum elf_tls_words words, enum trace_place place)
{
	struct library l;
	struct trace_recipe r;
	pthread_t thread;

	build(&l, options);
	ck_assert_int_eq(l.tls.words, words);
	load(&l);
	ck_assert_int_eq(recipe_of(&l, &r), 0);
	ck_assert_int_eq(r.place, place);
	struct check c = { &l, &r, place == TRACE_STATIC };
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, check_thread, &c), 0);
		pthread_join(thread, NULL);
	}
	ck_assert_uint_eq((uintptr_t)l.slot(), follow(&r)); /* and of this one */
	done(&l);
}

START_TEST(libraries)
{
	check_library("", ELF_TLS_MODULE, TRACE_GLIBC);
	check_library("-mtls-dialect=gnu2 -DOTHERS=4000", ELF_TLS_DESCRIPTOR, TRACE_GLIBC);
	check_library("-mtls-dialect=gnu2", ELF_TLS_DESCRIPTOR, TRACE_STATIC);
	check_library("-ftls-model=initial-exec", ELF_TLS_OFFSET, TRACE_STATIC);
	check_library("-DVISIBLE=protected", ELF_TLS_MODULE, TRACE_GLIBC);
	check_library("-Wl,-s", ELF_TLS_MODULE, TRACE_GLIBC);
}
END_TEST

START_TEST(not_linked_yet)
{
	static const char *const options[] = { "", "-mtls-dialect=gnu2",
					       "-ftls-model=initial-exec" };
	struct trace_recipe r;

	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		struct library l;

		build(&l, options[i]);
		/* Zero words, then unmapped memory. */
		char *at = mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		l.start = (uintptr_t)at;
		ck_assert_int_eq(recipe_of(&l, &r), -EAGAIN);
		munmap(at, 1 << 20);
		ck_assert_int_eq(recipe_of(&l, &r), -EAGAIN);
		l.tls.words = ELF_TLS_NO_WORDS;
		ck_assert_int_eq(recipe_of(&l, &r), -EOPNOTSUPP);
		done(&l);
	}
}
END_TEST

/* A program has its block right below the thread pointer, for any size and alignment. */
START_TEST(programs)
{
	static const char *const options[] = {
		"-rdynamic", "-rdynamic -DOTHERS=4000", "-rdynamic -DALIGN=256 -DOTHERS=3",
		"-static", "-static-pie -Wl,--export-dynamic-symbol=" THREAD_CONTEXT_VARIABLE
	};

	for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
		char path[] = "/tmp/cresset-tls-XXXXXX";
		struct elf_tls tls;
		struct elf_file f;
		int fd = mkstemp(path);

		close(fd);
		shell_do("cc -O1 %s -o %s -x c - <<'END'\n"
			 "#include <stdio.h>\n"
			 "#ifndef OTHERS\n#define OTHERS 1\n#endif\n"
			 "#ifndef ALIGN\n#define ALIGN 8\n#endif\n"
			 "__thread volatile char others[OTHERS] __attribute__((aligned(ALIGN))) = "
			 "{ 1 };\n"
			 "__thread void *volatile " THREAD_CONTEXT_VARIABLE ";\n"
			 "int main(void) { others[0]++; printf(\"%%ld\", (long)((char "
			 "*)&" THREAD_CONTEXT_VARIABLE
			 " - (char *)__builtin_thread_pointer())); }\n"
			 "END",
			 options[i], path);
		char *said = shell("%s", path);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		ck_assert_int_eq(elf_file_open(&f, fd, NULL), 0);
		ck_assert_int_eq(elf_tls_find(&f, THREAD_CONTEXT_VARIABLE, &tls), 0);
		ck_assert_int_eq(tls.program_offset, atol(said));
		ck_assert(!elf_is_musl(&f));
		elf_file_close(&f);
		close(fd);
		unlink(path);
		free(said);
	}
}
END_TEST

/* --- lies ---------------------------------------------------------------------------------------- */

struct words {
	uint64_t v[3];
};

static int read_words(void *ctx, uint64_t addr, void *out, size_t len)
{
	const struct words *w = ctx;

	(void)addr;
	memcpy(out, w->v, len);
	return 0;
}

START_TEST(lies)
{
	const struct {
		enum elf_tls_words words;
		struct words says;
	} cases[] = {
		{ ELF_TLS_OFFSET, { { 0 } } },
		{ ELF_TLS_OFFSET, { { 8 } } },
		{ ELF_TLS_OFFSET, { { (uint64_t)INT64_MIN } } },
		{ ELF_TLS_MODULE, { { 0, 56 } } },
		{ ELF_TLS_MODULE, { { 1 << 16, 56 } } },
		{ ELF_TLS_MODULE, { { 1, 64 } } },
		{ ELF_TLS_DESCRIPTOR, { { 1, 0, 0 } } },
		{ ELF_TLS_DESCRIPTOR,
		  { { 0x7f0000001000, 24, 0 } } }, /* a relocation, of a lazy linker */
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct elf_tls tls = { .value = 56, .words = cases[i].words };
		const struct thread_context_place place = { .tls = &tls };
		const struct thread_memory memory = { read_words, (void *)&cases[i].says };
		struct trace_recipe r = { .module = 77 };

		ck_assert_int_eq(thread_context_recipe(&place, &memory, &r), -EAGAIN);
		ck_assert_uint_eq(r.module, 77);
	}
}
END_TEST

UNIT_MAIN("thread_context", libraries, not_linked_yet, programs, lies)
