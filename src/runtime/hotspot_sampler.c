/* Finds HotSpot's sampler of allocations, and what its probe has to know. */
#include "runtime/hotspot_sampler.h"

#include "base/err.h"
#include "runtime/runtime.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_find.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* --- symbols ---------------------------------------------------------------------------------- */

/* A libjvm has 2.4 MB of symbols, and 7 MB of names. */
enum { SYMBOLS_MAX = 8 << 20, NAMES_MAX = 24 << 20 };

static bool has_symbols(const struct elf_file *f)
{
	GElf_Shdr symbols, names;

	return elf_file_section(f, ".symtab", SHT_SYMTAB, &symbols) &&
	       symbols.sh_size <= SYMBOLS_MAX &&
	       elf_file_section(f, ".strtab", SHT_STRTAB, &names) && names.sh_size <= NAMES_MAX;
}

static uint64_t address_of(const struct elf_file *f, const char *symbol)
{
	GElf_Sym sym;

	return elf_find_static(f, symbol, &sym) ? sym.st_value : 0;
}

int hotspot_sampler_find(const struct elf_file *f, struct hotspot_sampler *out, struct err *err)
{
	*out = (struct hotspot_sampler){ 0 };
	int rc = hotspot_file_read(f, &out->tables, err);
	if (rc)
		return rc;
	if (!has_symbols(f))
		return err_set(err, ENOTSUP, "its libjvm has no symbols");
	out->is_on = address_of(f, "_ZN17ThreadHeapSampler8_enabledE"); /* 11 */
	if (!out->is_on)
		out->is_on = address_of(f, "_ZN11JvmtiExport33_should_post_sampled_object_allocE");
	out->interval = address_of(f, "_ZN17ThreadHeapSampler18_sampling_intervalE");
	out->has_check = address_of(f, JAVA_SAMPLER_CHECK);
	if (!out->is_on || !out->interval ||
	    (!out->has_check && !address_of(f, JAVA_SAMPLER_SAMPLE)))
		return err_set(err, ENOTSUP, "this HotSpot has no known sampler of allocations");
	out->narrow_classes = address_of(f, "UseCompressedClassPointers");
	out->short_headers = address_of(f, "UseCompactObjectHeaders");
	return 0;
}

/* --- layout ----------------------------------------------------------------------------------- */

struct places {
	uint64_t tlab, allocated_bytes; /* in a Thread */
	uint64_t start, top, end, refills;
	uint64_t class_layout;
	uint64_t class_base_at, class_shift_at; /* in the process */
};

#define PLACE(type, field, member) \
	{ \
		type, field, offsetof(struct places, member) \
	}
static const struct {
	const char *type, *field;
	size_t member;
} places[] = {
	PLACE("Thread", "_tlab", tlab),
	PLACE("Thread", "_allocated_bytes", allocated_bytes),
	PLACE("ThreadLocalAllocBuffer", "_start", start),
	PLACE("ThreadLocalAllocBuffer", "_top", top),
	PLACE("ThreadLocalAllocBuffer", "_end", end),
	PLACE("ThreadLocalAllocBuffer", "_number_of_refills", refills),
	PLACE("Klass", "_layout_helper", class_layout),
	PLACE("CompressedKlassPointers", "_narrow_klass._base", class_base_at), /* to 20 */
	PLACE("CompressedKlassPointers", "_narrow_klass._shift", class_shift_at),
	PLACE("CompressedKlassPointers", "_base", class_base_at),
	PLACE("CompressedKlassPointers", "_shift", class_shift_at),
	PLACE("Universe", "_narrow_klass._base", class_base_at), /* to 12 */
	PLACE("Universe", "_narrow_klass._shift", class_shift_at),
};

static void take_field(void *ctx, const struct hotspot_entry *e)
{
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (strcmp(e->type, places[i].type) == 0 && strcmp(e->field, places[i].field) == 0)
			*(uint64_t *)((char *)ctx + places[i].member) =
				e->is_static ? e->address : e->offset;
}

static void no_type(void *ctx, const char *type, uint64_t size)
{
	(void)ctx;
	(void)type;
	(void)size;
}

static void no_constant(void *ctx, const char *name, int32_t value)
{
	(void)ctx;
	(void)name;
	(void)value;
}

/* A TLAB ends with counters, and the sampler follows the bytes that its thread has allocated. */
static bool is_plausible(const struct places *p)
{
	return p->tlab && p->allocated_bytes > p->tlab && p->end > p->top && p->top > p->start &&
	       p->refills > p->end && p->refills < HOTSPOT_MAX_OFFSET &&
	       p->tlab + p->refills < p->allocated_bytes &&
	       p->allocated_bytes < HOTSPOT_MAX_OFFSET && p->class_layout &&
	       p->class_layout < HOTSPOT_MAX_OFFSET;
}

/* at: the file's address; 0: not in this version. */
static int read_flag(const struct runtime_memory *m, uint64_t bias, uint64_t at, bool *out)
{
	uint8_t flag = 0;
	int rc = at ? m->read(m->ctx, at + bias, &flag, sizeof flag) : 0;

	*out = flag;
	return rc;
}

static int read_header(const struct hotspot_sampler *s, uint64_t bias,
		       const struct runtime_memory *m, uint32_t *out)
{
	bool is_narrow, is_short;
	int rc = read_flag(m, bias, s->narrow_classes, &is_narrow);

	rc = rc ? rc : read_flag(m, bias, s->short_headers, &is_short);
	if (rc == 0)
		*out = is_short    ? JAVA_HEADER_SHORT
		       : is_narrow ? JAVA_HEADER_NARROW
				   : JAVA_HEADER_WIDE;
	return rc;
}

/* The VM sets the base first. */
static int read_classes(const struct runtime_memory *m, const struct places *p,
			struct java_heap *out)
{
	enum { SHIFT_MAX = 16 };
	uint32_t shift = UINT32_MAX;

	if (!p->class_base_at || !p->class_shift_at)
		return -ENOTSUP;
	int rc = m->read(m->ctx, p->class_shift_at, &shift, sizeof shift);
	rc = rc ? rc : m->read(m->ctx, p->class_base_at, &out->class_base, sizeof out->class_base);
	out->class_shift = shift;
	return rc ? rc : shift <= SHIFT_MAX ? 0 : -EAGAIN; /* -1: the VM has not set it */
}

static int fill(const struct hotspot_sampler *s, uint64_t bias, const struct runtime_memory *m,
		const struct places *p, struct java_heap *out)
{
	enum { WORD = 8 };
	uint32_t now;

	*out = (struct java_heap){
		.tlab_below = p->allocated_bytes + WORD - p->tlab,
		.tlab_start = p->start,
		.tlab_top = p->top,
		.tlab_end = p->end,
		.class_layout = p->class_layout,
	};
	if (s->has_check)
		out->tlab_since = p->refills - WORD;
	int rc = read_header(s, bias, m, &out->header);
	if (rc == 0 && out->header != JAVA_HEADER_WIDE)
		rc = read_classes(m, p, out);
	/* Once the VM has set the classes, the flags stay. */
	rc = rc ? rc : read_header(s, bias, m, &now);
	return rc ? rc : now == out->header ? 0 : -EAGAIN;
}

int hotspot_sampler_read(const struct hotspot_sampler *s, uint64_t bias,
			 const struct runtime_memory *memory, struct java_heap *out,
			 struct err *err)
{
	struct places p = { 0 };
	const struct hotspot_at at = { &s->tables, bias };
	const struct hotspot_reader r = { take_field, no_type, no_constant, &p };
	int rc = hotspot_tables_read(&at, memory, &r, err);

	if (rc)
		return rc;
	rc = is_plausible(&p) ? fill(s, bias, memory, &p, out) : -ENOTSUP;
	if (rc == -EAGAIN)
		return err_set(err, EAGAIN, "HotSpot has not started yet");
	return rc == -ENOTSUP ? err_set(err, ENOTSUP, "the layout of its threads is unknown")
	       : rc           ? err_set(err, -rc, "its memory cannot be read: %s", strerror(-rc))
			      : 0;
}
