/* Reads addresses, lengths, tags and names of the functions of each program. */
#include "collect/walker/bpf_names.h"

#include "base/arena.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/vec.h"
#include "symbol/symbol.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BPF_MAX_PROGRAMS = 16384, /* limit: BPF programs with named functions */
	BPF_MAX_FUNCTIONS = 256,  /* of a program; the verifier's own limit */
};

struct bpf_function {
	uint64_t start;
	uint32_t size;
	const char *name;
};
struct bpf_names {
	struct symbol_source base;
	VEC(struct bpf_function) all; /* by start */
	struct arena text;
};

static void names_close(struct symbol_source *s)
{
	struct bpf_names *n = (struct bpf_names *)s;

	vec_done(&n->all);
	arena_done(&n->text);
	free(n);
}

static bool names_lookup(struct symbol_source *s, uint64_t addr, struct symbol *out)
{
	const struct bpf_names *n = (struct bpf_names *)s;
	size_t after = vec_upper(&n->all, start, addr);
	const struct bpf_function *f = after ? &n->all.v[after - 1] : NULL;

	if (!f || addr - f->start >= f->size)
		return false;
	*out = (struct symbol){ .name = f->name,
				.linkage = f->name,
				.module = "bpf",
				.start = f->start,
				.size = f->size };
	return true;
}

/* The functions of one program, as the kernel reports them. */
struct program_facts {
	__u64 starts[BPF_MAX_FUNCTIONS];
	__u32 sizes[BPF_MAX_FUNCTIONS];
	__u8 tags[BPF_MAX_FUNCTIONS][BPF_TAG_SIZE];
	struct bpf_func_info functions[BPF_MAX_FUNCTIONS];
};

static uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Returns false if the kernel reports nothing. */
static bool ask(int fd, struct bpf_prog_info *info, struct program_facts *facts)
{
	struct bpf_prog_info n = { 0 };
	__u32 len = sizeof n;

	if (bpf_obj_get_info_by_fd(fd, &n, &len))
		return false;
	*info = (struct bpf_prog_info){
		.nr_jited_ksyms = smaller(n.nr_jited_ksyms, BPF_MAX_FUNCTIONS),
		.nr_jited_func_lens = smaller(n.nr_jited_func_lens, BPF_MAX_FUNCTIONS),
		.nr_prog_tags = smaller(n.nr_prog_tags, BPF_MAX_FUNCTIONS),
		.jited_ksyms = (__u64)(uintptr_t)facts->starts,
		.jited_func_lens = (__u64)(uintptr_t)facts->sizes,
		.prog_tags = (__u64)(uintptr_t)facts->tags,
	};
	if (n.nr_func_info && n.func_info_rec_size == sizeof facts->functions[0]) {
		info->nr_func_info = smaller(n.nr_func_info, BPF_MAX_FUNCTIONS);
		info->func_info_rec_size = sizeof facts->functions[0];
		info->func_info = (__u64)(uintptr_t)facts->functions;
	}
	len = sizeof *info;
	return bpf_obj_get_info_by_fd(fd, info, &len) == 0;
}

/* As the kernel puts it together (bpf_get_prog_name of kernel/bpf/core.c). */
static const char *name_of(struct bpf_names *n, const struct bpf_prog_info *info,
			   const struct program_facts *facts, const struct btf *btf, uint32_t i)
{
	const struct btf_type *t = btf && i < info->nr_func_info
					   ? btf__type_by_id(btf, facts->functions[i].type_id)
					   : NULL;
	const char *function = t ? btf__name_by_offset(btf, t->name_off) : info->name;
	const __u8 *tag = i < info->nr_prog_tags ? facts->tags[i] : info->tag;
	char text[256] = "bpf_prog_";
	size_t len = strlen(text);

	for (int k = 0; k < BPF_TAG_SIZE; k++)
		len += snprintf(text + len, sizeof text - len, "%02x", tag[k]);
	if (function && *function)
		snprintf(text + len, sizeof text - len, "_%s", function);
	return arena_dup(&n->text, text, strlen(text));
}

static void add_program(struct bpf_names *n, int fd, struct program_facts *facts)
{
	struct bpf_prog_info info;

	if (!ask(fd, &info, facts))
		return;
	struct btf *btf = info.btf_id ? btf__load_from_kernel_by_id(info.btf_id) : NULL;
	for (uint32_t i = 0; i < info.nr_jited_ksyms && i < info.nr_jited_func_lens; i++)
		if (facts->starts[i])
			vec_push(&n->all,
				 (struct bpf_function){ facts->starts[i], facts->sizes[i],
							name_of(n, &info, facts, btf, i) });
	btf__free(btf);
}

static int by_start(const void *a, const void *b)
{
	const struct bpf_function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

struct symbol_source *bpf_names_open(void)
{
	static const struct symbol_source_ops ops = { .lookup = names_lookup,
						      .close = names_close };
	struct program_facts *facts = xmalloc(sizeof *facts);
	struct bpf_names *n = xcalloc(1, sizeof *n);
	__u32 id = 0;

	n->base = (struct symbol_source){ .ops = &ops, .origin = "kallsyms" };
	for (int i = 0; i < BPF_MAX_PROGRAMS && bpf_prog_get_next_id(id, &id) == 0; i++) {
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		add_program(n, fd, facts);
		close(fd);
	}
	free(facts);
	if (!n->all.n) {
		names_close(&n->base);
		return NULL;
	}
	qsort(n->all.v, n->all.n, sizeof *n->all.v, by_start);
	return &n->base;
}
