/* The probe that stacks are taken at, by the kernel: it fires for each launch, or for one of N that carries the
 * others' weight, and is nothing when nobody has attached. */
#include "unit.h"

#include "gpu_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct sums {
	uint64_t hits, weights, correlations, launches;
};
struct probe {
	struct bpf_object *object;
	struct bpf_link *link;
	int sums; /* map */
};

static uint64_t file_offset(const Elf64_Ehdr *e, uint64_t address)
{
	const Elf64_Phdr *p = (void *)((char *)e + e->e_phoff);

	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr &&
		    address - p[i].p_vaddr < p[i].p_filesz)
			return address - p[i].p_vaddr + p[i].p_offset;
	ck_abort_msg("no segment holds %lx", address);
	return 0;
}

/* What the note says: where the probe is, and its semaphore. */
static void find_probe(const char *path, uint64_t *place, uint64_t *semaphore)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	const Elf64_Ehdr *e = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	const Elf64_Shdr *s = (void *)((char *)e + e->e_shoff);
	const char *names = (char *)e + s[e->e_shstrndx].sh_offset;
	int found = 0;

	for (int i = 0; i < e->e_shnum; i++) {
		if (strcmp(names + s[i].sh_name, ".note.stapsdt"))
			continue;
		const uint64_t *body =
			(void *)((char *)e + s[i].sh_offset + sizeof(Elf64_Nhdr) + 8);

		*place = file_offset(e, body[0]);
		*semaphore = file_offset(e, body[2]);
		ck_assert_str_eq((char *)(body + 3), "cresset");
		ck_assert_str_eq((char *)(body + 3) + 8, "launch");
		found++;
	}
	ck_assert_int_eq(found, 1);
	ck_assert_int_eq(memcmp((char *)e + *place, "\x0f\x1f\x44\x00\x00", 5), 0);
	close(fd);
}

static void attach(struct probe *p, pid_t pid)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts);
	char path[512], library[512];
	uint64_t place = 0, semaphore = 0;

	snprintf(path, sizeof path, "%s/unit/launch_probe.bpf.o", program_build());
	snprintf(library, sizeof library, "%s/libcresset-cuda.so", program_build());
	find_probe(library, &place, &semaphore);
	p->object = bpf_object__open_file(path, NULL);
	ck_assert_ptr_nonnull(p->object);
	ck_assert_int_eq(bpf_object__load(p->object), 0);
	opts.ref_ctr_offset = semaphore;
	p->link = bpf_program__attach_uprobe_opts(
		bpf_object__find_program_by_name(p->object, "launch"), pid, library, place, &opts);
	ck_assert_ptr_nonnull(p->link);
	struct bpf_map *map = bpf_object__find_map_by_name(p->object, ".bss");

	ck_assert_uint_eq(bpf_map__value_size(map), sizeof(struct sums));
	p->sums = bpf_map__fd(map);
}

static void detach(struct probe *p)
{
	bpf_link__destroy(p->link);
	bpf_object__close(p->object);
}

#define SCENARIO \
	"device 0 name \"First\"\nwait none\nkernel gemm ns 1500\nkernel softmax ns 333\nplay " \
	"threads 3\nplay launches 6000\n" \
	"play copy 10 64\nplay pace 2000\n"

/* One round of play in a window with so many stacks a second: what the kernel counted, and what the ring says. */
static struct sums play(struct gpu_program *p, uint32_t stacks_per_s, uint64_t *ring_weights)
{
	struct probe probe;
	struct sums sums;

	attach(&probe, p->pid);
	p->weights = p->n_sums = 0;
	ck_assert_int_eq(program_open_with(p, RING_WANT_ALL, stacks_per_s).state, RING_OPEN);
	program_play(p, true);
	program_close(p);
	program_check(p);
	ck_assert_int_eq(bpf_map_lookup_elem(probe.sums, &(uint32_t){ 0 }, &sums), 0);
	*ring_weights = p->weights;
	detach(&probe);
	return sums;
}

START_TEST(fires)
{
	struct gpu_program p = { 0 };
	uint64_t weights;

	if (geteuid())
		T_SKIP("attaching a probe needs root");
	program_start(&p, SCENARIO, NULL);
	struct sums all = play(&p, 0, &weights);

	ck_assert_uint_eq(all.hits, 3 * 6600);
	ck_assert_uint_eq(all.launches, 3 * 6000);
	ck_assert_uint_eq(all.weights, 3 * 6600);
	ck_assert_uint_eq(weights, 3 * 6600);
	ck_assert_uint_gt(all.correlations, 0);
	/* Some hundred stacks a second of three threads: far fewer, and each stands for others. */
	struct sums some = play(&p, 100, &weights);

	ck_assert_uint_gt(some.hits, 0);
	ck_assert_uint_lt(some.hits, 3 * 6600 / 4);
	ck_assert_uint_eq(some.weights, weights);
	ck_assert_uint_le(some.weights, 3 * 6600);
	ck_assert_uint_gt(some.weights, 3 * 6600 * 3 / 4);
	/* Nobody attached: launches are recorded, none has a stack. */
	p.weights = p.n_sums = 0;
	program_open(&p, RING_WANT_ALL);
	program_play(&p, true);
	struct ring_state_now now = program_close(&p);

	program_check(&p);
	ck_assert_uint_eq(p.weights, 0);
	ck_assert_uint_eq(now.probes, all.hits + some.hits);
	program_end(&p);
}
END_TEST

UNIT_MAIN("gpu-probe", fires)
