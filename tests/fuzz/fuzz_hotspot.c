// tier: test
/* Any bytes as the memory of a process that runs HotSpot: the tables of its structures, heaps, blobs, scopes, methods, names and line tables. The
 * first byte is the form: 0: all of it from the tables on, their variables at the start; 8, 17, 25: frames only, with the offsets of that version's
 * form. Then comes the memory, with the words of frames at a fixed place. */
#include "../unit/hotspot_image.h"
#include "base/buf.h"
#include "memory_file.h"

enum { MAX_READS = 100000 };

struct memory {
	const uint8_t *data;
	size_t size;
	unsigned reads;
};

static int read_memory(void *ctx, uint64_t addr, void *out, size_t len)
{
	struct memory *m = ctx;

	if (++m->reads > MAX_READS)
		abort();
	if (addr < IMAGE_BASE || addr - IMAGE_BASE > m->size || len > m->size - (addr - IMAGE_BASE))
		return -EFAULT;
	memcpy(out, m->data + (addr - IMAGE_BASE), len);
	return 0;
}

static int put(void *ctx, const char *map, uint32_t key, const void *value, size_t size)
{
	const struct hotspot_process *p = value;

	(void)ctx, (void)key;
	if (strcmp(map, HOTSPOT_PROCESSES) == 0 &&
	    (size != sizeof *p || !p->n_ranges || p->n_ranges > HOTSPOT_MAX_RANGES ||
	     p->interpreter_end < p->interpreter_start))
		abort();
	return 0;
}

static int drop(void *ctx, const char *map, uint32_t key)
{
	(void)ctx, (void)map, (void)key;
	return 0;
}

static void check_text(const char *text)
{
	/* Types of one letter become words; others have at most three bytes for each of theirs. */
	if (!*text || strlen(text) > HOTSPOT_MAX_SYMBOL * 16)
		abort();
}

/* --- from the tables on --------------------------------------------------------------------------- */

static void name_frames(struct runtime_process *p, const struct memory *m)
{
	uint64_t words[IMAGE_N_FRAMES][2] = { { 0 } };
	struct runtime_frames f;

	if (m->size >= IMAGE_HEAD)
		memcpy(words, m->data + IMAGE_FRAMES, sizeof words);
	for (size_t i = 0; i < IMAGE_N_FRAMES; i++) {
		enum runtime_named named = hotspot_runtime.name_frame(p, words[i], &f);

		if (named > RUNTIME_OWN)
			continue;
		if (!f.n || f.n > RUNTIME_MAX_INLINED)
			abort();
		for (uint32_t k = 0; k < f.n; k++)
			check_text(f.v[k].name);
	}
}

static void read_all(struct memory *m)
{
	const struct runtime_maps maps = { put, drop, NULL };
	const struct runtime_memory memory = { read_memory, m };
	struct runtime_object object = { .file.code = { { { 0x1000, 0x1000, 0 } }, 1 } };
	const struct runtime_place place = { &object, 0x1000, 0x1000, 0x2000 };
	struct runtime *r = hotspot_runtime.open(&maps);
	struct runtime_process *p = NULL;
	struct buf text = { 0 };

	for (size_t i = 0; i < HOTSPOT_SYMBOLS; i++)
		object.file.symbols[i] = IMAGE_BASE + i * 8;
	if (hotspot_runtime.attach(r, 1, &place, 1, &memory, &p, NULL) == 0) {
		name_frames(p, m);
		hotspot_runtime.describe(p, &text);
		check_text(buf_cstr(&text));
	}
	hotspot_runtime.detach(p);
	hotspot_runtime.close(r);
	buf_done(&text);
}

/* --- frames only ---------------------------------------------------------------------------------- */

static void offsets_of(uint16_t version, struct hotspot_offsets *out)
{
	static struct image image;
	const struct runtime_memory memory = { image_read, &image };
	const struct hotspot_at at = { .file = &image.file };

	image_make(&image, version);
	if (hotspot_offsets_read(&at, &memory, out, NULL) < 0)
		abort();
}

static void read_method(const struct hotspot_offsets *o, uint16_t version,
			const struct runtime_memory *memory, uint64_t addr)
{
	static struct hotspot_method_head head;
	struct hotspot_method method;

	if (hotspot_method_head_read(o, memory, addr, NULL, &head) < 0 ||
	    hotspot_method_read(o, version, memory, &head, &method) < 0)
		return;
	check_text(method.name);
	if (method.lines_size > HOTSPOT_MAX_LINES)
		abort();
	for (int32_t bci = -1; bci < 64 && method.lines; bci += 5)
		if (hotspot_line(version, method.lines, method.lines_size, bci) > UINT16_MAX)
			abort();
	hotspot_method_done(&method);
}

static void read_frames(struct memory *m, uint16_t version, const struct hotspot_offsets *o)
{
	const struct runtime_memory memory = { read_memory, m };
	struct hotspot_scope scopes[RUNTIME_MAX_INLINED];
	struct hotspot_nmethod nmethod;
	uint64_t words[IMAGE_N_FRAMES][2] = { { 0 } };
	uint32_t n;

	if (m->size >= IMAGE_HEAD)
		memcpy(words, m->data + IMAGE_FRAMES, sizeof words);
	for (size_t i = 0; i < IMAGE_N_FRAMES; i++) {
		uint64_t addr = RUNTIME_ADDRESS_OF(words[i][0]);

		read_method(o, version, &memory, addr);
		if (hotspot_nmethod_read(o, version, &memory, addr, RUNTIME_STAMP_OF(words[i][1]),
					 &nmethod) < 0 ||
		    hotspot_scopes_read(o, version, &memory, &nmethod,
					RUNTIME_OFFSET_OF(words[i][1]), i & 1, scopes, &n) < 0)
			continue;
		if (!n || n > RUNTIME_MAX_INLINED || scopes[n - 1].method != nmethod.method)
			abort();
		for (uint32_t k = 0; k < n; k++)
			read_method(o, version, &memory, scopes[k].method);
	}
}

/* --- text and lines ------------------------------------------------------------------------------- */

static void read_text(uint16_t version, const uint8_t *data, size_t size)
{
	struct hotspot_symbol_text parts[3] = { { 0 } };
	struct buf name = { 0 };

	for (size_t i = 0; i < 3; i++) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t len = end ? (size_t)(end - data) : size;

		parts[i].is_cut = len > HOTSPOT_MAX_SYMBOL;
		parts[i].len = parts[i].is_cut ? HOTSPOT_MAX_SYMBOL : len;
		memcpy(parts[i].text, data, parts[i].len);
		data += end ? len + 1 : len;
		size -= end ? len + 1 : len;
	}
	if (hotspot_method_name(&name, &parts[0], &parts[1], &parts[2]))
		check_text(buf_cstr(&name));
	buf_done(&name);
	if (hotspot_lines_size(version, data, size) > size)
		abort();
	for (int32_t bci = -1; bci < 200; bci += 40)
		hotspot_line(version, data, size, bci);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t versions[] = { 8, 17, 25 };
	static struct hotspot_offsets offsets[3];

	if (!offsets[0].block_bytes)
		for (size_t i = 0; i < 3; i++)
			offsets_of(versions[i], &offsets[i]);
	if (size < 1)
		return 0;
	struct memory m = { data + 1, size - 1, 0 };
	if (!*data)
		read_all(&m);
	for (size_t i = 0; i < 3; i++)
		if (*data == versions[i])
			read_frames(&m, versions[i], &offsets[i]);
	read_text(*data & 31, data + 1, size - 1);
	return 0;
}
