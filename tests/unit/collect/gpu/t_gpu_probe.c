// tier: test
/* The probe for stacks, through the kernel: it fires for each launch, or for one of N with the weight of the others, and is inactive when nobody has
 * attached. */
#include "may_bpf.h"
#include "unit.h"

#include "bpf/launch_probe.h"
#include "gpu/ring/join.h"
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

/* Reads the note: the probe's address and its semaphore. */
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

/* One round of play in a window with a number of stacks per second: the kernel's counts, and the weights in the ring. */
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
	T_NEEDS_BPF();
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
	/* Nobody attached: launches are recorded without stacks. */
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

/* --- the owner of the time --- */

enum { EVEN = 1, ODD, NEITHER, SIDES };
static const char *const side_names[SIDES] = { "/unknown", "/even", "/odd", "/neither" };

struct joined {
	struct gpu_program *p;
	struct gpu_join *join;
	uint64_t from[SIDES], to[SIDES]; /* addresses of the two functions that launch */
	char names[8][32];               /* of work */
	uint64_t estimates;
};

static uint32_t work_of(struct joined *j, const char *name)
{
	uint32_t i = 0;

	while (*j->names[i] && strcmp(j->names[i], name) && i < 7)
		i++;
	snprintf(j->names[i], sizeof j->names[i], "%s", name);
	return i;
}

static void to_join(void *ctx, const union ring_any *r, const char *name)
{
	struct joined *j = ctx;

	if (r->r.type == RING_CALL)
		gpu_join_call(j->join, j->p->pid, r->r.correlation, r->call.tid);
	else if (r->r.type == RING_KERNEL)
		gpu_join_work(j->join, j->p->pid, r->r.correlation, work_of(j, name),
			      r->kernel.start_ns, r->kernel.end_ns - r->kernel.start_ns,
			      clock_mono_ns());
}

static int on_launch_call(void *ctx, void *data, size_t size)
{
	const struct launch_call *call = data;
	struct joined *j = ctx;
	uint32_t side = NEITHER;

	(void)size;
	for (int64_t i = 0; i < call->bytes / 8; i++)
		for (uint32_t s = EVEN; s <= ODD; s++)
			if (call->stack[i] >= j->from[s] && call->stack[i] < j->to[s])
				side = s;
	gpu_join_stack(j->join, j->p->pid, call->correlation, side, call->weight, 0);
	return 0;
}

static void on_share(void *ctx, const struct gpu_share *share)
{
	struct joined *j = ctx;
	char name[64];

	snprintf(name, sizeof name, "%s%s", j->names[share->work], side_names[share->stack]);
	program_add(j->p, name, 0, share->ns);
	j->estimates += !share->is_exact;
}

/* The addresses of the two functions in the running program, from their symbols and the mapping of its file. */
static void find_sides(struct joined *j)
{
	char command[256], name[64];
	uint64_t at, size, base;

	snprintf(command, sizeof command, "/proc/%d/maps", j->p->pid);
	FILE *f = fopen(command, "r");

	ck_assert_int_eq(fscanf(f, "%lx", &base), 1);
	fclose(f);
	snprintf(command, sizeof command, "nm -S %s/live/gpu_play", program_build());
	f = popen(command, "r");
	while (fgets(command, sizeof command, f)) {
		if (sscanf(command, "%lx %lx %*c %63s", &at, &size, name) != 3)
			continue;
		uint32_t s = !strcmp(name, "launch_even")  ? EVEN
			     : !strcmp(name, "launch_odd") ? ODD
							   : 0;

		j->from[s] = base + at;
		j->to[s] = base + at + size;
	}
	pclose(f);
	ck_assert_uint_gt(j->to[EVEN], j->from[EVEN]);
	ck_assert_uint_gt(j->to[ODD], j->from[ODD]);
}

/* Plays in a window with a number of stacks per second; p's sums are then GPU time by kernel and launching function. */
static void play_joined(struct joined *j, uint32_t stacks_per_s)
{
	struct gpu_program *p = j->p;
	struct probe probe;

	attach(&probe, p->pid);
	struct ring_buffer *calls = ring_buffer__new(
		bpf_object__find_map_fd_by_name(probe.object, "calls"), on_launch_call, j, NULL);

	j->join = gpu_join_new(&(struct gpu_join_opts){ 0 }, on_share, j);
	p->also = to_join;
	p->also_ctx = j;
	ck_assert_int_eq(program_open_with(p, RING_WANT_ALL, stacks_per_s).state, RING_OPEN);
	program_play(p, true);
	program_close(p);
	p->also = NULL;
	p->n_sums = 0;
	ck_assert_int_gt(ring_buffer__consume(calls), 0);
	gpu_join_flush(j->join);
	gpu_join_free(j->join);
	ring_buffer__free(calls);
	detach(&probe);
}

static uint64_t kernel_time(struct gpu_program *p, const char *kernel)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < p->n_sums; i++)
		if (!strncmp(p->sums[i].name, kernel, strlen(kernel)))
			ns += p->sums[i].sum;
	return ns;
}

/* From the program's function through the driver into the kernel on the device: with a stack for each launch every nanosecond is attributed exactly;
 * with a hundred a second the sums stay the same. */
START_TEST(time_per_owner)
{
	struct gpu_program p = { 0 };
	struct joined j = { .p = &p };

	if (geteuid())
		T_SKIP("attaching a probe needs root");
	T_NEEDS_BPF();
	program_start(&p,
		      "device 0 name \"First\"\nwait none\nkernel gemm ns 1500\nkernel softmax ns "
		      "333\nplay threads 3\n"
		      "play launches 5000\nplay pace 2000\n",
		      NULL);
	find_sides(&j);
	play_joined(&j, 0);
	ck_assert_uint_eq(j.estimates, 0);
	program_sum(&p, "calls", 0)->count = 3 * 5000;
	program_check_as(&p, "sides");
	uint64_t gemm = kernel_time(&p, "gemm"), softmax = kernel_time(&p, "softmax");

	p.n_sums = 0;
	play_joined(&j, 100);
	ck_assert_uint_gt(j.estimates, 0);
	ck_assert_uint_eq(kernel_time(&p, "gemm"), gemm);
	ck_assert_uint_eq(kernel_time(&p, "softmax"), softmax);
	program_end(&p);
}
END_TEST

UNIT_MAIN("gpu-probe", fires, time_per_owner)
