// tier: test
/* Any bytes as what a program says of where its kernels stall: pieces of a kind, a name's number and a record; then, after a piece of kind 255,
 * the memory that its device code is in. What comes out is what went in: no sample is lost but those that are counted. */
#include "collect/gpu/gpu_stall.h"
#include "collect/kernel/gpu_stats.h"
#include "collect/resolve/resolve.h"
#include "gpu/ring/ring_write.h"
#include "profile/profile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PIECE = 50, RAN = 5, CODE = 255, PID = 1 << 30 /* no process has it: nobody's files */ };
static const struct ring_shape shape = { .buffer_lanes = 1,
					 .buffer_size = 4096,
					 .call_lanes = 1,
					 .call_size = 4096,
					 .names_size = 512 };
static const char *const names[] = {
	"",
	"_Z5saxpyPfPKffi",
	"smsp__pcsamp_warps_issue_stalled_wait",
	"smsp__pcsamp_warps_issue_stalled_wait_not_issued",
	"smsp__pcsamp_warps_issue_stalled_a_reason_of_a_later_version_with_a_long_name",
	"_Z",
	"?",
	"_not_issued",
};

static uint8_t *cubins;

static struct ring_reader *make_ring(void)
{
	static struct ring_reader *r;
	struct err err;

	if (r)
		return r;
	int fd = memfd_create(RING_NAME, MFD_ALLOW_SEALING | MFD_CLOEXEC);
	int code = memfd_create(CUBINS_NAME, MFD_ALLOW_SEALING | MFD_CLOEXEC);

	if (ftruncate(fd, ring_size(&shape)) || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) ||
	    ftruncate(code, CUBINS_SIZE) || fcntl(code, F_ADD_SEALS, F_SEAL_SHRINK))
		abort();
	void *ring = mmap(NULL, ring_size(&shape), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	ring_lay_out(ring, &shape, 1);
	((struct ring_control *)ring)->magic = RING_MAGIC;
	cubins = mmap(NULL, CUBINS_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, code, 0);
	if (ring_open_fd(fd, 1, 1, &r, &err) || ring_cubins_fd(r, code))
		abort();
	return r;
}

static void ran(struct gpu_stall *s, const uint8_t *data, const char *name)
{
	struct gpu_share share = { .pid = PID };
	uint32_t words[4];

	memcpy(words, data, sizeof words);
	share.ns = words[0];
	share.low_ns = words[0] < words[1] ? words[0] : words[1];
	share.high_ns = (uint64_t)words[0] + words[2];
	share.is_exact = words[3] & 1;
	gpu_stall_ran(s, &share, words[3] >> 28, *name ? name : NULL);
}

/* Returns the samples that were told of, each a warp's once. */
static uint64_t feed(struct gpu_stall *s, const uint8_t *data, size_t size)
{
	static const uint8_t types[] = { RING_STALL_NAME, RING_STALL_CONFIG, RING_MODULE,
					 RING_STALL, RING_KERNEL };
	uint64_t told = 0;

	for (; size >= PIECE && *data != CODE; data += PIECE, size -= PIECE) {
		const char *name = names[data[1] % (sizeof names / sizeof *names)];
		union ring_any r = { 0 };

		if (*data == RAN) {
			ran(s, data + 2, name);
			continue;
		}
		memcpy(&r, data + 2, PIECE - 2);
		r.r.type = types[*data % sizeof types];
		if (r.r.type == RING_MODULE && r.module.size > 1 << 16)
			r.module.size %= 1 << 16;
		told += r.r.type == RING_STALL ? r.stall.samples : 0;
		gpu_stall_record(s, &(struct gpu_stall_told){ PID, 1, 5, &r, name });
	}
	if (size > 1 && *data == CODE)
		memcpy(cubins + CUBINS_AT, data + 1, size - 1 < 1 << 16 ? size - 1 : 1 << 16);
	return told;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ring_reader *ring = make_ring();
	struct profile *profile = profile_new();
	struct sink *sink = profile_sink(profile);
	struct resolve_links resolve = { .sink = sink };
	struct type type = { .name = sink_string(sink, "gpu-stall") };
	struct gpu_stall_opts opts = { .sink = sink };
	struct gpu_stall_stats stats;
	uint64_t sum = 0;

	memset(&resolve.types, 0xff, sizeof resolve.types);
	opts.type = resolve.types.gpu.stall = sink->ops->type(sink, &type);
	opts.not_issued_type = TYPE_NONE;
	opts.resolver =
		resolver_new(&(struct resolve_opts){ 0 }, &(struct sampler_opts){ 0 }, &resolve);
	struct gpu_stall *s = gpu_stall_new(&opts);
	uint64_t told = feed(s, data, size);

	gpu_stall_read(s, PID, ring);
	gpu_stall_flush(s);
	gpu_stall_get_stats(s, &stats);
	for (size_t i = 0; i < profile->samples.n; i++)
		sum += profile->samples.value[i];
	/* Those that were not issued are among the others, if a program tells of those at all. */
	if (sum != stats.samples || stats.samples + stats.refused > told ||
	    stats.samples + stats.not_issued + stats.refused < told ||
	    stats.exact + stats.estimated + stats.no_stack != stats.samples ||
	    !(stats.estimate_error >= 0))
		abort();
	gpu_stall_free(s);
	resolver_free(opts.resolver);
	profile_free(profile);
	return 0;
}
