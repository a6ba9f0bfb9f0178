/* Finds the module of an address from /proc/kallsyms and /proc/modules. */
#include "collect/walker/kernel_space.h"

#include "base/buf.h"
#include "base/cache_dir.h"
#include "base/clock.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/search.h"
#include "collect/process/symbolize.h"
#include "collect/walker/bpf_names.h"
#include "profile/frame.h"
#include "profile/sink.h"
#include "symbol/kallsyms.h"
#include "symbol/lines.h"
#include "symbol/symbol.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	KALLSYMS_HEAD_LINES = 8192, /* _text comes after the per-CPU symbols, some 1000 lines */
	KERNEL_FILE_MAX_BYTES = 1 << 20,
	KERNEL_FALLBACK_SIZE = 64 << 20,
	NT_GNU_BUILD_ID_TYPE = 3,
};
#define MODULES_AGAIN_NS 1000000000ull

/* --- reading the kernel's files --------------------------------------------------------------- */

uint64_t kernel_text_start(int kallsyms_fd)
{
	struct lines *lines = xcalloc(1, sizeof *lines);
	uint64_t start = 0;
	char *line;
	size_t len;

	lines->fd = kallsyms_fd;
	for (int n = 0; n < KALLSYMS_HEAD_LINES && lines_next(lines, &line, &len, NULL) > 0; n++) {
		char *p = line;

		if (hex_take(&p, &start) && strcmp(p, " T _text") == 0)
			break;
		start = 0;
	}
	free(lines);
	return start;
}

static bool ends_with(const char *s, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(s + len - n, end, n) == 0;
}

/* "  01000000-02209987 : Kernel code", then rodata, data and bss of the same image. */
uint64_t kernel_text_size(const char *iomem)
{
	struct cur c = cur_of(iomem, strlen(iomem));
	uint64_t first = 0, last = 0;
	const char *line;
	size_t line_len;

	while (cur_line(&c, &line, &line_len)) {
		char *end;
		uint64_t from = strtoull(line, &end, 16);

		if (*end != '-' || !memmem(line, line_len, " : Kernel ", 10))
			continue;
		if (ends_with(line, line_len, "code"))
			first = from;
		if (first)
			last = strtoull(end + 1, NULL, 16);
	}
	return last > first ? last - first + 1 : 0;
}

size_t kernel_notes_build_id(const void *notes, size_t len, uint8_t *id, size_t size)
{
	struct cur c = cur_of(notes, len);

	while (cur_left(&c) >= 12) {
		uint32_t name_len = cur_u32(&c), desc_len = cur_u32(&c), type = cur_u32(&c);
		const char *name = cur_take(&c, (name_len + 3ull) & ~3ull);
		const void *desc = cur_take(&c, (desc_len + 3ull) & ~3ull);

		if (!name || !desc)
			break;
		if (type == NT_GNU_BUILD_ID_TYPE && name_len == 4 && !memcmp(name, "GNU", 4) &&
		    desc_len <= size) {
			memcpy(id, desc, desc_len);
			return desc_len;
		}
	}
	return 0;
}

/* Reads the start of a file; empty when it cannot be read. */
static void read_head(const char *path, size_t max, struct buf *b)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	buf_reserve(b, max + 1);
	for (ssize_t n = 1; fd >= 0 && n > 0 && b->len<max; b->len += n> 0 ? n : 0)
		n = read(fd, b->data + b->len, max - b->len);
	buf_cstr(b);
	if (fd >= 0)
		close(fd);
}

/* --- areas ------------------------------------------------------------------------------------ */

static uint64_t read_text_start(void)
{
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);
	uint64_t start = fd < 0 ? 0 : kernel_text_start(fd);

	if (fd >= 0)
		close(fd);
	return start;
}

static uint64_t read_text_size(void)
{
	struct buf iomem = { 0 };

	read_head("/proc/iomem", KERNEL_FILE_MAX_BYTES, &iomem);
	uint64_t size = kernel_text_size(iomem.data);
	buf_done(&iomem);
	return size ? size : KERNEL_FALLBACK_SIZE;
}

void kernel_space_init(struct kernel_space *k, struct sink *sink)
{
	uint64_t start = read_text_start();

	*k = (struct kernel_space){
		.sink = sink,
		.text = { .name = "[kernel]", .end = UINT64_MAX, .mapping = MAPPING_NONE },
		.other = { .name = "[bpf]", .mapping = MAPPING_NONE },
		.hidden = !start,
		.budget = { .per_s_ns = KERNEL_READ_PER_S_NS, .most_ns = KERNEL_READ_MOST_NS },
	};
	if (start) {
		k->text.start = start;
		k->text.end = start + read_text_size();
		k->text.shift = start - KERNEL_LINKED_TEXT;
	}
}

void kernel_space_done(struct kernel_space *k)
{
	map_done(&k->text.frames);
	map_done(&k->other.frames);
	for (size_t i = 0; i < k->modules.n; i++)
		map_done(&k->modules.v[i].frames);
	vec_done(&k->modules);
	map_done(&k->named);
	symbol_close(k->symbols);
}

/* Returns the index of the first module that starts after addr. */
static size_t module_after(const struct kernel_space *k, uint64_t addr)
{
	return vec_upper(&k->modules, start, addr);
}

static struct kernel_area *find_module(struct kernel_space *k, uint64_t addr)
{
	size_t i = module_after(k, addr);

	return i && addr < k->modules.v[i - 1].end ? &k->modules.v[i - 1] : NULL;
}

/* The size includes data, which newer kernels keep elsewhere: if it reaches into the next module,
 * the nearer start wins (find_module). A module at the address of an unloaded one retains the old
 * name, because frames have it. */
static void add_module(struct kernel_space *k, const char *name, uint64_t start, uint64_t size)
{
	size_t i = module_after(k, start);
	struct kernel_area m = { .start = start, .shift = start, .mapping = MAPPING_NONE };

	if (!start || k->modules.n >= KERNEL_MAX_MODULES ||
	    __builtin_add_overflow(start, size, &m.end) ||
	    (i && k->modules.v[i - 1].start == start))
		return;
	snprintf(m.name, sizeof m.name, "[%s]", name);
	vec_push(&k->modules, m);
	memmove(k->modules.v + i + 1, k->modules.v + i, (k->modules.n - 1 - i) * sizeof m);
	k->modules.v[i] = m;
}

/* "ext4 737280 2 - Live 0xffffffffc0a00000" */
void kernel_space_add_modules(struct kernel_space *k, const char *modules)
{
	struct cur c = cur_of(modules, strlen(modules));
	const char *line;
	size_t line_len;

	while (cur_line(&c, &line, &line_len)) {
		char name[KERNEL_NAME_MAX - 2], copy[512];
		unsigned long long size, start;

		snprintf(copy, sizeof copy, "%.*s", (int)line_len, line);
		if (sscanf(copy, "%61s %llu %*s %*s %*s %llx", name, &size, &start) == 3)
			add_module(k, name, start, size);
	}
}

static void read_modules(struct kernel_space *k, uint64_t now_ns)
{
	struct buf b = { 0 };

	if (k->modules_read_ns && now_ns < k->modules_read_ns + MODULES_AGAIN_NS)
		return;
	k->modules_read_ns = now_ns;
	read_head("/proc/modules", KERNEL_FILE_MAX_BYTES, &b);
	kernel_space_add_modules(k, b.data);
	buf_done(&b);
}

static struct kernel_area *find_area(struct kernel_space *k, uint64_t addr, uint64_t now_ns)
{
	struct kernel_area *m;

	if (addr >= k->text.start && addr < k->text.end)
		return &k->text;
	m = find_module(k, addr);
	if (!m) {
		read_modules(k, now_ns);
		m = find_module(k, addr);
	}
	return m ? m : &k->other;
}

/* --- frames ----------------------------------------------------------------------------------- */

static uint64_t boot_identity(void)
{
	char id[64];

	fs_read_line("/proc/sys/kernel/random/boot_id", id, sizeof id);
	return hash_bytes(id, strlen(id));
}

/* Addresses of this boot must not be mixed with those of another. */
static uint32_t intern_mapping(struct kernel_space *k, const struct kernel_area *a)
{
	struct mapping m = { .name = sink_string(k->sink, a->name) };
	struct buf notes = { 0 };
	char path[128];

	snprintf(path, sizeof path, "/sys/module/%.*s/notes/.note.gnu.build-id",
		 (int)strlen(a->name) - 2, a->name + 1);
	if (a != &k->other && !k->hidden)
		read_head(a == &k->text ? "/sys/kernel/notes" : path, KERNEL_FILE_MAX_BYTES,
			  &notes);
	m.build_id_len =
		kernel_notes_build_id(notes.data, notes.len, m.build_id, sizeof m.build_id);
	if (!m.build_id_len)
		m.identity = boot_identity();
	buf_done(&notes);
	return k->sink->ops->mapping(k->sink, &m);
}

uint32_t kernel_space_frame(struct kernel_space *k, uint64_t addr, uint64_t now_ns)
{
	struct kernel_area *a = find_area(k, addr, now_ns);
	const uint32_t *known = map_get(&a->frames, addr);

	if (known)
		return *known;
	if (a->mapping == MAPPING_NONE)
		a->mapping = intern_mapping(k, a);
	struct frame f = { .kind = FRAME_KERNEL, .mapping = a->mapping, .offset = addr - a->shift };
	uint32_t frame = k->sink->ops->frame(k->sink, &f);
	map_put(&a->frames, addr, frame);
	k->unnamed += map_get(&k->named, addr) == NULL;
	return frame;
}

static void forget(struct kernel_area *a)
{
	a->mapping = MAPPING_NONE;
	map_done(&a->frames);
}

void kernel_space_set_sink(struct kernel_space *k, struct sink *sink)
{
	k->sink = sink;
	forget(&k->text);
	forget(&k->other);
	for (size_t i = 0; i < k->modules.n; i++)
		forget(&k->modules.v[i]);
	k->unnamed = 0;
	if (k->keeps_symbols)
		map_clear(&k->named);
}

/* --- stored names ------------------------------------------------------------------------------
 *
 * The names of the kernel's own functions are stored in the cache directory (base/cache_dir.h), by
 * the kernel's build id. Reading /proc/kallsyms takes 40 to 60 ms of CPU time at the end of each
 * recording, most of it in the kernel; this file 2 ms. It has neither modules nor BPF programs, and
 * no address that the kernel is loaded at. */

#define STORED_CACHE  "kernel-names" /* in the directory of all caches */
#define KERNEL_NOTES  "/sys/kernel/notes"
#define STORED_SUFFIX "-names"
enum { NOTES_MAX_BYTES = 1 << 16, STORED_MAX_BYTES = 64 << 20 };
/* limit: stored names of all kernels */
enum { STORED_ALL_BYTES = 16 << 20 };

/* The notes have the build id. */
static bool kernel_key(uint64_t *key)
{
	struct buf notes = { 0 };
	bool good =
		fs_read_at(AT_FDCWD, KERNEL_NOTES, NOTES_MAX_BYTES, &notes, NULL) == 0 && notes.len;

	if (good)
		*key = hash_bytes(notes.data, notes.len);
	buf_done(&notes);
	return good;
}

static struct symbol_source *read_stored(int fd, uint64_t start)
{
	struct symbol_source *names = NULL;
	struct buf b = { 0 };

	if (fs_read_fd(fd, STORED_MAX_BYTES, &b, NULL) ||
	    kernel_table_read(b.data, b.len, start, &names))
		names = NULL;
	buf_done(&b);
	return names;
}

static struct symbol_source *open_stored(const char *cache_root, uint64_t start)
{
	uint64_t key;
	int dir = cache_root && kernel_key(&key) ? cache_dir_open(cache_root, STORED_CACHE, NULL)
						 : -1;
	int fd = dir < 0 ? -1 : cache_file_open(dir, &key, sizeof key, STORED_SUFFIX);
	struct symbol_source *names = fd < 0 ? NULL : read_stored(fd, start);

	if (fd >= 0)
		close(fd);
	if (dir >= 0)
		close(dir);
	return names;
}

static void write_stored(int dir, uint64_t key, const struct symbol_source *table)
{
	struct cache_file f;
	struct buf b = { 0 };

	kernel_table_write(table, &b);
	if (cache_file_create(dir, &key, sizeof key, STORED_SUFFIX, &f) == 0) {
		if (fs_write_fd(f.fd, b.data, b.len))
			cache_file_abort(&f);
		else if (cache_file_commit(&f, false) == 0)
			cache_dir_trim(dir, STORED_ALL_BYTES);
	}
	buf_done(&b);
}

static void save_stored(const char *cache_root, const struct symbol_source *kallsyms,
			uint64_t start, uint64_t end)
{
	struct symbol_source *table;
	uint64_t key;
	int dir = cache_root && kernel_key(&key) ? cache_dir_open(cache_root, STORED_CACHE, NULL)
						 : -1;

	if (dir < 0)
		return;
	if (kernel_table_of(kallsyms, start, end, &table) == 0) {
		write_stored(dir, key, table);
		symbol_close(table);
	}
	close(dir);
}

/* --- names ------------------------------------------------------------------------------------ */

static struct symbol_source *read_symbols(int (*open_symbols)(int fd, struct symbol_source **out,
							      struct err *err))
{
	struct symbol_source *names = NULL;
	int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && open_symbols(fd, &names, NULL))
		names = NULL;
	if (fd >= 0)
		close(fd);
	return names;
}

/* Ids of programs only grow: one call if no new one exists. If this call is not permitted, a new
 * program is noticed when a frame in it has no symbol. */
static uint32_t latest_program(uint32_t known)
{
	while (bpf_prog_get_next_id(known, &known) == 0)
		;
	return known;
}

/* Returns false when it would cost too much now. */
static bool read_again(struct kernel_space *k)
{
	uint64_t begin_ns = clock_thread_ns();

	if (cpu_budget_left(&k->budget, clock_mono_ns()) <= 0)
		return false;
	symbol_close(k->symbols);
	k->symbols_modules = k->modules.n;
	k->symbols_program = latest_program(k->symbols_program);
	k->symbols = read_symbols(symbol_open_kernel_table);
	k->symbols_read++;
	mem_trim();
	cpu_budget_spend(&k->budget, clock_mono_ns(), clock_thread_ns() - begin_ns);
	return true;
}

static bool has_unnamed(const struct kernel_space *k, const struct kernel_area *a)
{
	map_each (&a->frames, slot)
		if (!map_get(&k->named, slot->key))
			return true;
	return false;
}

/* A new program may be where another one was. */
static bool has_changed(struct kernel_space *k)
{
	return !k->symbols || k->symbols_modules != k->modules.n ||
	       (has_unnamed(k, &k->other) &&
		latest_program(k->symbols_program) != k->symbols_program);
}

/* The kernel's own text does not change: an address there without a symbol never gets one. */
static bool waits_for_symbol(const struct kernel_space *k, struct symbol_source *names,
			     const struct kernel_area *a, uint64_t addr)
{
	struct symbol sym;

	return !names || (a != &k->text && !symbol_lookup(names, addr, &sym));
}

/* is_last: an address without a symbol in `names` is not looked up again. Returns how many frames
 * wait. */
static size_t name_area(struct kernel_space *k, struct symbolize *s, struct symbol_source *names,
			const struct kernel_area *a, bool is_last)
{
	struct map unnamed = { 0 };
	size_t waiting = 0;

	map_each (&a->frames, slot) {
		if (map_get(&k->named, slot->key))
			continue;
		if (!is_last && waits_for_symbol(k, names, a, slot->key))
			waiting++;
		else
			map_put(&unnamed, slot->key, slot->value);
	}
	symbolize_frames(s, names, a->mapping, &unnamed);
	map_each (&unnamed, slot)
		map_put(&k->named, slot->key, 1);
	map_done(&unnamed);
	return waiting;
}

static size_t name_areas(struct kernel_space *k, struct symbolize *s, struct symbol_source *names,
			 bool is_last)
{
	size_t waiting = name_area(k, s, names, &k->text, is_last);

	waiting += name_area(k, s, names, &k->other, is_last);
	for (size_t i = 0; i < k->modules.n; i++)
		waiting += name_area(k, s, names, &k->modules.v[i], is_last);
	return waiting;
}

static void symbolize_by_table(struct kernel_space *k, struct symbolize *s)
{
	bool is_new = has_changed(k) && read_again(k);
	size_t waiting = name_areas(k, s, k->symbols, is_new);

	if (waiting && !is_new && read_again(k))
		waiting = name_areas(k, s, k->symbols, true);
	k->unnamed = waiting;
}

/* Names frames without /proc/kallsyms: in the kernel's own functions, if they are stored, and in
 * BPF programs. Returns whether they are stored. */
static bool name_stored(struct kernel_space *k, struct symbolize *s)
{
	struct symbol_source *own = k->hidden ? NULL : open_stored(k->cache_root, k->text.start);
	struct symbol_source *programs = own && has_unnamed(k, &k->other) ? bpf_names_open() : NULL;

	if (own)
		name_area(k, s, own, &k->text, true);
	if (programs)
		name_area(k, s, programs, &k->other, false);
	symbol_close(own);
	symbol_close(programs);
	return own != NULL;
}

static bool has_any_unnamed(const struct kernel_space *k)
{
	bool has = has_unnamed(k, &k->text) || has_unnamed(k, &k->other);

	for (size_t i = 0; i < k->modules.n; i++)
		has |= has_unnamed(k, &k->modules.v[i]);
	return has;
}

static void symbolize_once(struct kernel_space *k, struct symbolize *s)
{
	bool is_stored = k->unnamed && name_stored(k, s);
	struct symbol_source *names = NULL;

	if (k->unnamed && has_any_unnamed(k)) {
		names = read_symbols(symbol_open_kallsyms);
		k->symbols_read++;
	}
	if (names && !is_stored && !k->hidden)
		save_stored(k->cache_root, names, k->text.start, k->text.end);
	name_areas(k, s, names, true);
	k->unnamed = 0;
	symbol_close(names);
}

void kernel_space_symbolize(struct kernel_space *k, struct symbolize *s)
{
	uint64_t begin_ns = clock_thread_ns();

	if (k->named.n >= KERNEL_MAX_NAMED)
		map_clear(&k->named);
	if (!k->keeps_symbols)
		symbolize_once(k, s);
	else if (k->unnamed)
		symbolize_by_table(k, s);
	k->naming_ns += clock_thread_ns() - begin_ns;
}
