// tier: test
/* The sampler may be an NMI, which interrupts any other program on its CPU, also while that holds a lock. So no map with a lock may be written by
 * both. This walks all programs of both objects, as each clang compiles them, with the functions that they call and the maps that they write. */
#include "core_relocations.h"

enum { BY_SAMPLER = 1, BY_OTHERS = 2 };

static uint32_t kind_of(const char *section, const char *name)
{
	(void)name;
	return strcmp(section, "perf_event") ? BY_OTHERS : BY_SAMPLER;
}

/* --- maps ---------------------------------------------------------------------------------------- */

enum { MAPS_MAX = 64 };
struct written {
	char name[64];
	__u32 type;
	uint32_t by; /* BY_… */
	char where[2][64];
};
struct written_maps {
	struct written v[MAPS_MAX];
	size_t n;
};

/* Elements are found by index, and written without a lock. */
static bool has_lock(__u32 type)
{
	static const __u32 free_of[] = { BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_PERCPU_ARRAY,
					 BPF_MAP_TYPE_ARRAY_OF_MAPS, BPF_MAP_TYPE_CGROUP_ARRAY };

	for (size_t i = 0; i < sizeof free_of / sizeof *free_of; i++)
		if (type == free_of[i])
			return false;
	return true;
}

/* Of "__uint(type, …)" in a map's definition. */
static __u32 type_of_map(const struct btf *btf, const char *name)
{
	__s32 id = btf__find_by_name_kind(btf, name, BTF_KIND_VAR);

	ck_assert_msg(id > 0, "%s is no map", name);
	__u32 of = btf__type_by_id(btf, id)->type;
	const struct btf_type *t = core_plain(btf, &of);
	for (int i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = &btf_members(t)[i];

		if (strcmp(btf__name_by_offset(btf, m->name_off), "type"))
			continue;
		const struct btf_type *pointer = btf__type_by_id(btf, m->type);
		return btf_array(btf__type_by_id(btf, pointer->type))->nelems;
	}
	ck_abort_msg("%s has no type", name);
}

static struct written *map_named(struct written_maps *maps, const char *name)
{
	for (size_t i = 0; i < maps->n; i++)
		if (!strcmp(maps->v[i].name, name))
			return &maps->v[i];
	ck_assert_uint_lt(maps->n, MAPS_MAX);
	struct written *w = &maps->v[maps->n++];
	*w = (struct written){ 0 };
	snprintf(w->name, sizeof w->name, "%s", name);
	return w;
}

/* --- the effect of a function on locks ------------------------------------------------------------- */

/* Helpers whose first argument is a map that they write or lock. */
static bool writes_map(int helper)
{
	static const int writers[] = {
		BPF_FUNC_map_update_elem,   BPF_FUNC_map_delete_elem,
		BPF_FUNC_map_push_elem,     BPF_FUNC_map_pop_elem,
		BPF_FUNC_map_peek_elem,     BPF_FUNC_get_stackid,
		BPF_FUNC_ringbuf_output,    BPF_FUNC_ringbuf_reserve,
		BPF_FUNC_task_storage_get,  BPF_FUNC_task_storage_delete,
		BPF_FUNC_inode_storage_get, BPF_FUNC_inode_storage_delete,
		BPF_FUNC_sk_storage_get,    BPF_FUNC_sk_storage_delete,
		BPF_FUNC_perf_event_output,
	};

	for (size_t i = 0; i < sizeof writers / sizeof *writers; i++)
		if (helper == writers[i])
			return true;
	return false;
}

/* Returns the map whose address an instruction loads, or NULL. */
static const char *map_of_insn(struct core_object *o, size_t section, uint64_t at)
{
	GElf_Shdr h, symbols_header;
	Elf_Data *symbols = core_symbols(o, &symbols_header);
	size_t ignored;
	GElf_Rel rel;
	GElf_Sym sym;

	core_section(o, ".maps", &ignored);
	for (Elf_Scn *s = NULL; (s = elf_nextscn(o->elf, s));) {
		gelf_getshdr(s, &h);
		if (h.sh_type != SHT_REL || h.sh_info != section)
			continue;
		for (int i = 0; gelf_getrel(elf_getdata(s, NULL), i, &rel); i++) {
			if (rel.r_offset != at)
				continue;
			gelf_getsym(symbols, GELF_R_SYM(rel.r_info), &sym);
			return sym.st_shndx == ignored
				       ? elf_strptr(o->elf, symbols_header.sh_link, sym.st_name)
				       : NULL;
		}
	}
	return NULL;
}

/* The map that each register and stack word holds, in the order of the instructions. */
enum { REGISTERS = 11, STACK_WORDS = 64 };
struct held {
	const char *in[REGISTERS], *on_stack[STACK_WORDS];
};

static const char **stack_word(struct held *h, int offset)
{
	int word = -offset / 8;

	return offset < 0 && offset % 8 == 0 && word < STACK_WORDS ? &h->on_stack[word] : NULL;
}

static void follow(struct held *h, const struct bpf_insn *insn, const char *loads)
{
	const int class = BPF_CLASS(insn->code);
	const char **word;

	if (loads) {
		h->in[insn->dst_reg] = loads;
	} else if (insn->code == (BPF_ALU64 | BPF_MOV | BPF_X)) {
		h->in[insn->dst_reg] = h->in[insn->src_reg];
	} else if (insn->code == (BPF_LDX | BPF_MEM | BPF_DW) && insn->src_reg == 10) {
		word = stack_word(h, insn->off);
		h->in[insn->dst_reg] = word ? *word : NULL;
	} else if (insn->code == (BPF_STX | BPF_MEM | BPF_DW) && insn->dst_reg == 10) {
		word = stack_word(h, insn->off);
		if (word)
			*word = h->in[insn->src_reg];
	} else if (insn->code == (BPF_JMP | BPF_CALL)) {
		memset(h->in, 0, 6 * sizeof *h->in);
	} else if (class == BPF_ALU || class == BPF_ALU64 || class == BPF_LD || class == BPF_LDX) {
		h->in[insn->dst_reg] = NULL;
	}
}

static void note(struct written_maps *maps, const struct core_object *o, const char *map,
		 const struct core_function *f)
{
	struct written *w = map_named(maps, map);

	w->type = type_of_map(o->btf, map);
	w->by |= f->users;
	for (int i = 0; i < 2; i++)
		if (f->users & 1u << i && !w->where[i][0])
			snprintf(w->where[i], sizeof w->where[i], "%s", f->name);
}

static void walk_function(struct core_object *o, const struct core_function *f,
			  struct written_maps *maps)
{
	const struct bpf_insn *insn = core_code(o, f);
	struct held held = { 0 };

	for (size_t i = 0; i < f->size / 8; i++) {
		bool is_wide = insn[i].code == (BPF_LD | BPF_IMM | BPF_DW);
		const char *loads =
			is_wide ? map_of_insn(o, f->section_at, f->start + i * 8) : NULL;

		if (insn[i].code == (BPF_JMP | BPF_CALL) && !insn[i].src_reg &&
		    writes_map(insn[i].imm)) {
			ck_assert_msg(held.in[1] != NULL,
				      "%s: instruction %zu writes a map that is not known", f->name,
				      i);
			note(maps, o, held.in[1], f);
		}
		follow(&held, &insn[i], loads);
		i += is_wide;
	}
}

static void walk_object(const char *clang, const char *source, struct written_maps *maps)
{
	const char *build = getenv("BUILD");
	struct core_object *o = malloc(sizeof *o);
	char path[256];

	snprintf(path, sizeof path, "%s/unit/bpf-%s/%s.bpf.o", build ? build : "build", clang,
		 source);
	core_open(o, path, kind_of);
	for (size_t i = 0; i < o->n_functions; i++)
		if (o->functions[i].users)
			walk_function(o, &o->functions[i], maps);
	core_close(o);
	free(o);
}

/* --- tests ----------------------------------------------------------------------------------------- */

static void check_clang(const char *clang)
{
	struct written_maps maps = { .n = 0 };
	uint32_t seen = 0;

	walk_object(clang, "sample", &maps);
	walk_object(clang, "gpu", &maps); /* it shares maps of the same name */
	for (size_t i = 0; i < maps.n; i++) {
		const struct written *w = &maps.v[i];

		printf("# clang-%s %-22s type %2u written by%s%s\n", clang, w->name, w->type,
		       w->by & BY_SAMPLER ? " the sampler" : "",
		       w->by & BY_OTHERS ? " others" : "");
		seen |= w->by;
		ck_assert_msg(!has_lock(w->type) || w->by != (BY_SAMPLER | BY_OTHERS),
			      "%s has a lock, and is written by the sampler (in %s) and by others "
			      "(in %s)",
			      w->name, w->where[0], w->where[1]);
	}
	ck_assert_uint_eq(seen, BY_SAMPLER | BY_OTHERS); /* something was found */
}

START_TEST(clang_14)
{
	check_clang("14");
}
END_TEST

START_TEST(clang_19)
{
	check_clang("19");
}
END_TEST

/* The sampler writes only its ring among maps with locks: only its own records can be lost by that. */
START_TEST(the_sampler_writes_its_ring)
{
	struct written_maps maps = { .n = 0 };

	walk_object("14", "sample", &maps);
	for (size_t i = 0; i < maps.n; i++)
		if (maps.v[i].by & BY_SAMPLER && has_lock(maps.v[i].type))
			ck_assert_str_eq(maps.v[i].name, "sample_ring");
}
END_TEST

UNIT_MAIN("bpf_locks", clang_14, clang_19, the_sampler_writes_its_ring)
