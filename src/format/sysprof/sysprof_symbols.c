/* The embedded file of sysprof's symbols, and names of generated code.
 *
 *     rows of 32 bytes, by pid and start:
 *       u64 start, u64 end, u32 pid, u32 name, u32 binary, u32     offsets in the file
 *     a row of zeros, then the texts */
#include "base/buf.h"
#include "base/hash.h"
#include "base/input.h"
#include "base/vec.h"
#include "format/perf_data/perf_data_event.h"
#include "format/sysprof/sysprof.h"

enum { SYSPROF_ROW = 32 };

static bool is_text(const char *s, size_t len, const char *want)
{
	return len == strlen(want) && memcmp(s, want, len) == 0;
}

void sysprof_symbols_add(struct sysprof_symbols *s, const char *file, size_t file_len,
			 struct wire data)
{
	bool is_packed = is_text(file, file_len, "__symbols__.gz");
	if (!is_packed && !is_text(file, file_len, "__symbols__"))
		return;
	s->is_packed |= is_packed;
	buf_add(&s->packed, data.c.p ? (const void *)data.c.p : "", wire_left(&data));
}

static bool unpack(struct sysprof_symbols *s)
{
	struct input *in;
	if (input_open_memory(s->packed.data, s->packed.len, &in, NULL) != 0)
		return false;
	int rc = input_all(in, SYSPROF_MAX_SYMBOLS, &s->table, NULL);
	input_close(in);
	return rc == 0;
}

struct symbol_row {
	uint64_t start, end;
	uint32_t pid, name;
};

static struct symbol_row row_at(const struct sysprof_symbols *s, size_t i)
{
	struct wire w = wire_of(s->table.data + i * SYSPROF_ROW, SYSPROF_ROW, s->big);
	struct symbol_row row = { .start = wire_u64(&w) };
	row.end = wire_u64(&w);
	row.pid = wire_u32(&w);
	row.name = wire_u32(&w);
	return row;
}

bool sysprof_symbols_ready(struct sysprof_symbols *s, bool big)
{
	s->big = big;
	if (!s->packed.len)
		return true;
	bool good = true;
	if (s->is_packed) {
		good = unpack(s);
		buf_done(&s->packed);
	} else {
		s->table = s->packed;
		s->packed = (struct buf){ 0 };
	}
	size_t rows = good ? s->table.len / SYSPROF_ROW : 0;
	while (s->n < rows) {
		struct symbol_row row = row_at(s, s->n);
		if (!(row.start | row.end | row.pid | row.name))
			return true;
		s->n++;
	}
	s->n = 0; /* no end of the rows: damaged */
	return false;
}

/* Returns the number of rows up to this address of the process. */
static size_t rows_until(const struct sysprof_symbols *s, uint32_t pid, uint64_t address)
{
	size_t low = 0, high = s->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct symbol_row row = row_at(s, middle);
		if (row.pid < pid || (row.pid == pid && row.start <= address))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const char *sysprof_symbols_find(const struct sysprof_symbols *s, uint32_t pid, uint64_t address,
				 size_t *len)
{
	size_t n = rows_until(s, pid, address);
	if (!n)
		return NULL;
	struct symbol_row row = row_at(s, n - 1);
	if (row.pid != pid || address >= row.end || row.name >= s->table.len)
		return NULL;
	const char *name = s->table.data + row.name;
	*len = strnlen(name, s->table.len - row.name);
	return *len ? name : NULL;
}

bool sysprof_symbols_add_jits(struct sysprof_symbols *s, struct wire w)
{
	uint32_t n = wire_u32(&w);
	for (; n && wire_left(&w) > 8 && s->jits.n < SYSPROF_MAX_JITS; n--) {
		struct sysprof_jit jit;
		uint64_t address = wire_u64(&w);
		jit.name = wire_text(&w, &jit.len);
		map_put(&s->by_address, address, s->jits.n);
		vec_push(&s->jits, jit);
	}
	return n == 0;
}

const struct sysprof_jit *sysprof_symbols_jit(const struct sysprof_symbols *s, uint64_t address)
{
	const uint32_t *i = map_get(&s->by_address, address);
	return i ? &s->jits.v[*i] : NULL;
}

void sysprof_symbols_done(struct sysprof_symbols *s)
{
	buf_done(&s->packed);
	buf_done(&s->table);
	vec_done(&s->jits);
	map_done(&s->by_address);
}
