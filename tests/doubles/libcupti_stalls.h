/* tests/doubles/libcupti_stalls.h: the part of libcupti.so.13.c that is PC sampling. A kernel that is done in a context that is sampled leaves
 * the samples that the script says. Numbers of reasons are not their places; of a context nothing is told before it is
 * enabled, and of one that is gone nothing may be asked. NO_PC_SAMPLING: a CUPTI that has none of it. */
#ifdef NO_PC_SAMPLING
static void stalls_statement(int n, char **w)
{
	(void)n;
	(void)w;
}
static void stalls_ran(const struct double_cuda_event *e)
{
	(void)e;
}
static void stalls_gone(const void *context)
{
	(void)context;
}
#else

enum { SCRIPTED = 256, SAMPLED = 32, PLACES = 4096, REASONS = 40 };
static const char *const reasons[REASONS / 2] = {
	"barrier",
	"branch_resolving",
	"dispatch_stall",
	"drain",
	"gmma",
	"imc_miss",
	"lg_throttle",
	"long_scoreboard",
	"math_pipe_throttle",
	"membar",
	"mio_throttle",
	"misc",
	"no_instructions",
	"not_selected",
	"selected",
	"short_scoreboard",
	"sleeping",
	"tex_throttle",
	"wait",
	"warpgroup_arrive",
};

struct scripted_stall {
	char kernel[128];
	uint64_t offset;
	uint32_t reason, samples, not_issued;
};
struct place { /* what was sampled at an instruction */
	uint64_t crc, offset;
	char *name;
	uint32_t samples[REASONS];
};
struct sampled {
	void *context;
	uint32_t id, gets;
	bool is_on, is_wedged;
	struct cupti_pcs *own;
	struct place *places;
	size_t n_places;
	uint64_t dropped, other;
};
static struct {
	pthread_mutex_t lock;
	struct scripted_stall stall[SCRIPTED];
	uint32_t n_stalls, period, drop_every, other, kernels, error, spread;
	int memory; /* -1: never */
	bool late, denied;
	struct {
		char kernel[128];
		uint64_t crc;
	} modules[SCRIPTED];
	uint32_t n_modules;
	struct sampled contexts[SAMPLED];
} pc = { .lock = PTHREAD_MUTEX_INITIALIZER, .period = 11, .memory = -1, .spread = 1 };

/* Any number that depends on each byte. */
static uint64_t crc_of(const uint8_t *data, size_t size)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < size; i++)
		h = (h ^ data[i]) * 0x100000001b3ull;
	return h;
}

static uint32_t number_of(uint32_t place)
{
	return 7 + 3 * place;
}

static uint32_t reason_of(const char *word)
{
	for (uint32_t i = 0; i < REASONS / 2; i++)
		if (!strcmp(reasons[i], word))
			return 2 * i;
	forbidden(word);
	return 0;
}

static void module_statement(int n, char **w)
{
	FILE *f = fopen(w[1], "re");
	uint8_t *image = malloc(1 << 20);
	uint64_t crc = f ? crc_of(image, fread(image, 1, 1 << 20, f)) : 0;

	for (int i = 2; i < n && pc.n_modules < SCRIPTED; i++) {
		snprintf(pc.modules[pc.n_modules].kernel, 128, "%s", w[i]);
		pc.modules[pc.n_modules++].crc = crc;
	}
	if (f)
		fclose(f);
	free(image);
}

static void stall_statement(int n, char **w)
{
	struct scripted_stall *s = &pc.stall[pc.n_stalls];

	if (n < 5 || pc.n_stalls == SCRIPTED)
		forbidden("a stall without its words, or too many");
	pc.n_stalls++;
	snprintf(s->kernel, sizeof s->kernel, "%s", w[1]);
	s->offset = strtoull(w[2], NULL, 0);
	s->reason = reason_of(w[3]);
	s->samples = strtoul(w[4], NULL, 0);
	s->not_issued = n > 5 ? strtoul(w[5], NULL, 0) : 0;
}

static void stalls_statement(int n, char **w)
{
	uint32_t v = n > 2 ? strtoul(w[2], NULL, 0) : 0;

	if (n > 2 && !strcmp(w[0], "module"))
		module_statement(n, w);
	else if (n > 1 && !strcmp(w[0], "stall"))
		stall_statement(n, w);
	if (n < 2 || strcmp(w[0], "stalls"))
		return;
	if (!strcmp(w[1], "period"))
		pc.period = v;
	else if (!strcmp(w[1], "spread"))
		pc.spread = v;
	else if (!strcmp(w[1], "drop"))
		pc.drop_every = v;
	else if (!strcmp(w[1], "other"))
		pc.other = v;
	else if (!strcmp(w[1], "late"))
		pc.late = true;
	else if (!strcmp(w[1], "memory"))
		pc.memory = v;
	else if (!strcmp(w[1], "denied"))
		pc.denied = true;
	else if (!strcmp(w[1], "error"))
		pc.error = v;
	else
		forbidden(w[1]);
}

/* --- what kernels leave --- */

static struct sampled *sampled_of(const void *context)
{
	for (int i = 0; i < SAMPLED; i++)
		if (pc.contexts[i].context == context && pc.contexts[i].is_on)
			return &pc.contexts[i];
	return NULL;
}

static struct place *place_of(struct sampled *c, uint64_t crc, uint64_t offset, const char *name)
{
	for (size_t i = 0; i < c->n_places; i++)
		if (c->places[i].offset == offset && c->places[i].crc == crc &&
		    !strcmp(c->places[i].name, name))
			return &c->places[i];
	if (c->n_places == PLACES)
		forbidden("more places than this double keeps");
	struct place *p = &c->places[c->n_places++];

	*p = (struct place){ .crc = crc, .offset = offset, .name = (char *)name };
	return p;
}

static uint64_t crc_of_kernel(const char *name)
{
	for (uint32_t i = 0; i < pc.n_modules; i++)
		if (!strcmp(pc.modules[i].kernel, name))
			return pc.modules[i].crc;
	return crc_of((const uint8_t *)name, strlen(name));
}

static void add_samples(struct sampled *c, const char *kernel, bool drop)
{
	for (uint32_t i = 0; i < pc.n_stalls; i++) {
		const struct scripted_stall *s = &pc.stall[i];

		if (strcmp(s->kernel, kernel))
			continue;
		if (drop) {
			c->dropped += s->samples;
			continue;
		}
		for (uint32_t k = 0; k < pc.spread; k++) {
			struct place *p =
				place_of(c, crc_of_kernel(kernel), s->offset + 16 * k, s->kernel);

			p->samples[s->reason] += s->samples;
			p->samples[s->reason + 1] += s->not_issued;
		}
	}
	c->other += pc.other;
}

static void stalls_ran(const struct double_cuda_event *e)
{
	pthread_mutex_lock(&pc.lock);
	for (int i = 0; i < SAMPLED; i++) {
		struct sampled *c = &pc.contexts[i];

		if (!c->is_on || c->is_wedged || c->id != e->context)
			continue;
		add_samples(c, e->name, pc.drop_every && ++pc.kernels % pc.drop_every == 0);
	}
	pthread_mutex_unlock(&pc.lock);
}

static void stalls_gone(const void *context)
{
	pthread_mutex_lock(&pc.lock);
	if (sampled_of(context))
		forbidden("a context is gone that was sampled");
	pthread_mutex_unlock(&pc.lock);
}

/* --- the interface --- */

/* Reads a context's number from where the driver's double has it. */
static uint32_t id_of_context(const void *context)
{
	return *(const uint32_t *)context;
}
static uint32_t device_of_context(const void *context)
{
	return ((const uint32_t *)context)[1];
}

static struct sampled *must_be_on(const void *context, const char *what)
{
	struct sampled *c = sampled_of(context);

	if (!c)
		forbidden(what);
	return c;
}

API int cuptiGetDeviceId(void *context, uint32_t *device);
API int cuptiGetDeviceId(void *context, uint32_t *device)
{
	*device = device_of_context(context);
	return 0;
}

API int cuptiPCSamplingEnable(struct cupti_pc_context *p);
API int cuptiPCSamplingEnable(struct cupti_pc_context *p)
{
	struct sampled *c = pc.contexts;

	if (p->size != sizeof *p || p->reserved || !p->context)
		return 1;
	if (pc.denied)
		return CUPTI_INSUFFICIENT_PRIVILEGES;
	if (pc.memory == 0)
		return CUPTI_OUT_OF_MEMORY;
	pthread_mutex_lock(&pc.lock);
	if (sampled_of(p->context))
		forbidden("a context that is sampled already");
	while (c->is_on)
		if (++c == pc.contexts + SAMPLED)
			forbidden("more contexts than this double keeps");
	*c = (struct sampled){ .context = p->context, .id = id_of_context(p->context) };
	c->places = calloc(PLACES, sizeof *c->places);
	c->is_on = true;
	pthread_mutex_unlock(&pc.lock);
	return 0;
}

/* How far apart the places of an array are: what its owner was built with. */
static size_t stride_of(const struct cupti_pcs *p)
{
	size_t stride = p->pcs->size;

	if (stride != CUPTI_NARROW_PC && stride != sizeof(struct cupti_pc))
		forbidden("PCs of no known size");
	if (state.version < CUPTI_WIDE_PCS && stride != CUPTI_NARROW_PC)
		forbidden("PCs wider than this version's");
	return stride;
}

static void fill_pc(struct cupti_pc *to, const struct place *from)
{
	to->crc = from->crc;
	to->offset = from->offset;
	to->name = from->name;
	to->n_stalls = 0;
	for (uint32_t i = 0; i < REASONS; i++)
		if (from->samples[i])
			to->stalls[to->n_stalls++] =
				(struct cupti_stall){ number_of(i), from->samples[i] };
}

/* As many as there is room for. */
static void hand_out_places(struct sampled *c, struct cupti_pcs *to)
{
	size_t n = c->n_places < to->room ? c->n_places : to->room, stride = stride_of(to);

	for (size_t i = 0; i < n; i++)
		fill_pc((void *)((char *)to->pcs + i * stride), &c->places[i]);
	memmove(c->places, c->places + n, (c->n_places - n) * sizeof *c->places);
	c->n_places -= n;
	to->n = n;
	to->remaining = c->n_places;
	to->dropped = c->dropped;
	to->other_samples = c->other;
	c->dropped = c->other = 0;
}

API int cuptiPCSamplingDisable(struct cupti_pc_context *p);
API int cuptiPCSamplingDisable(struct cupti_pc_context *p)
{
	if (state.driver_flush)
		state.driver_flush(1); /* what was begun before is recorded */
	pthread_mutex_lock(&pc.lock);
	struct sampled *c = must_be_on(p->context, "a context that is not sampled is disabled");

	if (c->own)
		hand_out_places(c, c->own);
	free(c->places);
	*c = (struct sampled){ 0 };
	pthread_mutex_unlock(&pc.lock);
	return 0;
}

API int cuptiPCSamplingGetData(struct cupti_pc_get *p);
API int cuptiPCSamplingGetData(struct cupti_pc_get *p)
{
	int rc = 0;

	if (p->size != sizeof *p || p->pcs->size < offsetof(struct cupti_pcs, other_samples))
		return 1;
	pthread_mutex_lock(&pc.lock);
	struct sampled *c = must_be_on(p->context, "a context that is not sampled is read");

	if (!c->own)
		forbidden("data before the configuration");
	if (pc.memory > 0 && (int)++c->gets >= pc.memory) {
		c->is_wedged = true;
		c->n_places = 0;
		rc = CUPTI_OUT_OF_MEMORY;
	}
	if (!pc.late || rc)
		hand_out_places(c, p->pcs);
	pthread_mutex_unlock(&pc.lock);
	return rc;
}

API int cuptiPCSamplingGetNumStallReasons(struct cupti_pc_reason_count *p);
API int cuptiPCSamplingGetNumStallReasons(struct cupti_pc_reason_count *p)
{
	must_be_on(p->context, "reasons of a context that is not sampled");
	*p->n = REASONS;
	return p->size == sizeof *p ? 0 : 1;
}

API int cuptiPCSamplingGetStallReasons(struct cupti_pc_reasons *p);
API int cuptiPCSamplingGetStallReasons(struct cupti_pc_reasons *p)
{
	must_be_on(p->context, "reasons of a context that is not sampled");
	if (p->size != sizeof *p || p->n > REASONS)
		return 1;
	for (uint32_t i = 0; i < p->n; i++) {
		p->indices[i] = number_of(i);
		snprintf(p->names[i], CUPTI_STALL_NAME_BYTES,
			 "smsp__pcsamp_warps_issue_stalled_%s%s", reasons[i / 2],
			 i % 2 ? "_not_issued" : "");
	}
	return 0;
}

API int cuptiPCSamplingSetConfigurationAttribute(struct cupti_pc_configuration *p);
API int cuptiPCSamplingSetConfigurationAttribute(struct cupti_pc_configuration *p)
{
	struct sampled *c = must_be_on(p->context, "a context that is not sampled is configured");
	size_t device = 512 << 20, host = 1 << 20;

	if (p->size != sizeof *p || p->reserved)
		return 1;
	for (size_t i = 0; i < p->n; i++) {
		const struct cupti_pc_attribute *a = &p->attributes[i];

		if (a->attribute == CUPTI_PC_HARDWARE_SIZE)
			device = a->size;
		else if (a->attribute == CUPTI_PC_SCRATCH_SIZE)
			host = a->size;
		else if (a->attribute == CUPTI_PC_BUFFER)
			c->own = a->buffer;
		else if (a->attribute == CUPTI_PC_PERIOD)
			pc.period = a->number;
		else if ((a->attribute == CUPTI_PC_MODE && a->number != CUPTI_PC_CONTINUOUS) ||
			 (a->attribute == CUPTI_PC_FORMAT && a->number != CUPTI_PC_PARSED))
			return 7;
	}
	if (device > 32 << 20 || host > 16 << 20)
		forbidden("more memory than was promised");
	return pc.error;
}

API int cuptiPCSamplingGetConfigurationAttribute(struct cupti_pc_configuration *p);
API int cuptiPCSamplingGetConfigurationAttribute(struct cupti_pc_configuration *p)
{
	must_be_on(p->context, "the configuration of a context that is not sampled");
	for (size_t i = 0; i < p->n; i++)
		if (p->attributes[i].attribute == CUPTI_PC_PERIOD)
			p->attributes[i].number = pc.period;
	return 0;
}

API int cuptiGetCubinCrc(struct cupti_cubin_crc *p);
API int cuptiGetCubinCrc(struct cupti_cubin_crc *p)
{
	if (p->size != sizeof *p || !p->cubin || !p->cubin_size)
		return 1;
	p->crc = crc_of(p->cubin, p->cubin_size);
	return 0;
}
#endif
