/* PC sampling of one context: its memory, switching it on and off, what it has sampled. */
#include "gpu/inject/pc_switch.h"

#include <dlfcn.h>
#include <sys/mman.h>

enum {
	REASONS_MAX = 128,
	PCS = 2048,                /* handed over at a time */
	HARDWARE_BYTES = 32 << 20, /* of the device, for each context; CUPTI's default is 512 MB */
	SCRATCH_BYTES = 4 << 20,
	/* Of the host, for each context, promised: CUPTI's scratch, our two sets of samples. */
	HOST_BYTES_MAX = 16 << 20,
	SM_COUNT = 16, /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, …_CLOCK_RATE */
	CLOCK_KHZ = 13,
	SM_MAJOR = 75,
	SM_MINOR = 76,
};
#define PC_BYTES (sizeof(struct cupti_pc) + REASONS_MAX * sizeof(struct cupti_stall))
_Static_assert(SCRATCH_BYTES + 2 * (sizeof(struct cupti_pcs) + PCS * PC_BYTES) <= HOST_BYTES_MAX,
	       "the promise holds");

static size_t pc_size(void)
{
	return library.version >= CUPTI_WIDE_PCS ? sizeof(struct cupti_pc) : CUPTI_NARROW_PC;
}

static struct cupti_pc *pc_at(const struct cupti_pcs *p, size_t i)
{
	return (struct cupti_pc *)((char *)p->pcs + i * pc_size());
}

static size_t pcs_bytes(void)
{
	return sizeof(struct cupti_pcs) + PCS * PC_BYTES;
}

struct cupti_pcs *pcs_make(void)
{
	struct cupti_pcs *p = map_private(pcs_bytes());

	if (!p)
		return NULL;
	p->size = offsetof(struct cupti_pcs, hardware_full) + 1;
	p->room = PCS;
	p->pcs = (void *)(p + 1);
	struct cupti_stall *stalls = (void *)((char *)p->pcs + PCS * sizeof(struct cupti_pc));

	for (size_t i = 0; i < PCS; i++) {
		pc_at(p, i)->size = pc_size();
		pc_at(p, i)->stalls = stalls + i * REASONS_MAX;
	}
	return p;
}

void pcs_free(struct cupti_pcs *p)
{
	munmap(p, pcs_bytes());
}

static void write_pc(const struct pc_sampled *c, const struct cupti_pc *pc)
{
	struct ring_stall s = {
		.r = { .type = RING_STALL,
		       .correlation = library.version >= CUPTI_WIDE_PCS ? pc->correlation : 0 },
		.crc = pc->crc,
		.offset = pc->offset,
		.name = ring_name(&library.names, pc->name),
		.context = c->id,
	};

	for (size_t i = 0; i < pc->n_stalls && i < REASONS_MAX; i++) {
		s.reason = pc->stalls[i].reason;
		s.samples = pc->stalls[i].samples;
		if (s.samples)
			write_here(&s.r, sizeof s);
	}
}

void pcs_write(const struct pc_sampled *c, const struct cupti_pcs *p)
{
	struct ring_control *control = ring_control();

	if (!control)
		return;
	for (size_t i = 0; i < p->n && i < PCS; i++)
		write_pc(c, pc_at(p, i));
	__atomic_fetch_add(&control->stall_dropped, p->dropped, __ATOMIC_RELAXED);
	__atomic_fetch_add(&control->stall_other, p->other_samples, __ATOMIC_RELAXED);
}

void pcs_clear(struct cupti_pcs *p)
{
	p->n = p->remaining = 0;
	p->samples = p->dropped = p->other_samples = 0;
	p->hardware_full = 0;
}

/* What is left comes into CUPTI's own set. */
void pc_switch_off(struct pc_sampled *c)
{
	struct cupti_pc_context off = { .size = sizeof off, .context = c->context };

	pcs_clear(c->pcs);
	if (!library.cupti.PCSamplingDisable(&off))
		pcs_write(c, c->pcs);
	pcs_free(c->pcs);
	c->pcs = NULL;
}

/* Names and numbers of the reasons, for the reader. */
static int write_names(const struct pc_sampled *c, size_t n)
{
	static char text[REASONS_MAX][CUPTI_STALL_NAME_BYTES];
	static uint32_t indices[REASONS_MAX];
	char *names[REASONS_MAX];
	struct cupti_pc_reasons r = {
		.size = sizeof r, .context = c->context, .n = n, .indices = indices, .names = names
	};

	for (size_t i = 0; i < n; i++)
		names[i] = text[i];
	int rc = library.cupti.PCSamplingGetStallReasons(&r);

	for (size_t i = 0; !rc && i < n; i++) {
		text[i][CUPTI_STALL_NAME_BYTES - 1] = 0;
		struct ring_stall_name name = {
			.r = { .type = RING_STALL_NAME, .correlation = indices[i] },
			.name = ring_name(&library.names, text[i]),
			.context = c->id,
		};

		write_here(&name.r, sizeof name);
	}
	return rc;
}

static int configure(struct pc_sampled *c)
{
	struct cupti_pc_attribute attributes[] = {
		{ .attribute = CUPTI_PC_MODE, .number = CUPTI_PC_CONTINUOUS },
		{ .attribute = CUPTI_PC_SCRATCH_SIZE, .size = SCRATCH_BYTES },
		{ .attribute = CUPTI_PC_HARDWARE_SIZE, .size = HARDWARE_BYTES },
		{ .attribute = CUPTI_PC_FORMAT, .number = CUPTI_PC_PARSED },
		{ .attribute = CUPTI_PC_BUFFER, .buffer = c->pcs },
	};
	struct cupti_pc_configuration p = { .size = sizeof p,
					    .context = c->context,
					    .n = sizeof attributes / sizeof *attributes,
					    .attributes = attributes };

	return library.cupti.PCSamplingSetConfigurationAttribute(&p);
}

/* The period in force, whatever was asked for. */
static uint32_t period_of(const struct pc_sampled *c)
{
	struct cupti_pc_attribute a = { .attribute = CUPTI_PC_PERIOD };
	struct cupti_pc_configuration p = {
		.size = sizeof p, .context = c->context, .n = 1, .attributes = &a
	};

	return library.cupti.PCSamplingGetConfigurationAttribute(&p) ? 0 : a.number;
}

/* 0: the driver does not say. */
static uint32_t device_attribute(uint32_t device, int attribute)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	int (*ask)(int *, int, int) =
		driver ? (int (*)(int *, int, int))dlsym(driver, "cuDeviceGetAttribute") : NULL;
	int value = 0;

	if (!ask || ask(&value, attribute, device) || value < 0)
		return 0;
	return value;
}

static void write_config(const struct pc_sampled *c, size_t reasons)
{
	struct ring_stall_config config = {
		.r = { .type = RING_STALL_CONFIG },
		.time_ns = monotonic_ns(),
		.device = c->device,
		.context = c->id,
		.period = period_of(c),
		.mode = CUPTI_PC_CONTINUOUS,
		.reasons = reasons,
		.multiprocessors = device_attribute(c->device, SM_COUNT),
		.clock_khz = device_attribute(c->device, CLOCK_KHZ),
		.model = 10 * device_attribute(c->device, SM_MAJOR) +
			 device_attribute(c->device, SM_MINOR),
	};

	write_here(&config.r, sizeof config);
}

/* All of it, or CUPTI's code and nothing. CUPTI answers nothing about a context before Enable. */
int pc_switch_on(struct pc_sampled *c)
{
	struct cupti_pc_context on = { .size = sizeof on, .context = c->context };
	size_t n = 0;
	struct cupti_pc_reason_count count = { .size = sizeof count,
					       .context = c->context,
					       .n = &n };

	c->device = UINT32_MAX;
	if (library.cupti.GetDeviceId)
		library.cupti.GetDeviceId(c->context, &c->device);
	c->pcs = pcs_make();
	int rc = c->pcs ? library.cupti.PCSamplingEnable(&on) : CUPTI_OUT_OF_MEMORY;
	bool is_on = c->pcs && !rc;

	if (!rc)
		rc = library.cupti.PCSamplingGetNumStallReasons(&count);
	if (!rc && n > REASONS_MAX)
		rc = CUPTI_UNKNOWN;
	if (!rc)
		rc = configure(c);
	if (!rc)
		rc = write_names(c, n);
	if (!rc) {
		write_config(c, n);
		return 0;
	}
	if (is_on)
		library.cupti.PCSamplingDisable(&on);
	if (c->pcs)
		pcs_free(c->pcs);
	c->pcs = NULL;
	return rc;
}

bool pc_has_functions(void)
{
	const struct cupti *c = &library.cupti;

	return c->PCSamplingEnable && c->PCSamplingDisable &&
	       c->PCSamplingSetConfigurationAttribute && c->PCSamplingGetConfigurationAttribute &&
	       c->PCSamplingGetData && c->PCSamplingGetNumStallReasons &&
	       c->PCSamplingGetStallReasons && c->GetCubinCrc;
}
