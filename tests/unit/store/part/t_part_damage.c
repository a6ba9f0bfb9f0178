// tier: test
/* Files of a partition, damaged in every page: each block is unchanged, or is counted, or the file is refused. */
#include "part_world.h"
#include "unit.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/hash.h"
#include "base/vec.h"

#include <errno.h>
#include <fcntl.h>

enum { PAGE = 65536, FLIPS_A_PAGE = 4, FLIPS_FIRST = 40 };

/* The content of a block before. */
struct sound_block {
	struct part_ref ref;
	uint64_t summary, windows, rows;
};
struct sound {
	struct world w;
	struct buf day, detail; /* the files */
	VEC(struct sound_block) blocks;
	uint64_t dict;
	uint64_t read, damaged_blocks, refused; /* what became of them */
};

static struct sound_block read_block(struct part *p, const struct part_ref *ref)
{
	int64_t windows[BLOCK_MAX_WINDOWS];
	struct block_sums sums = { 0 };
	struct block_columns rows = { 0 };
	struct sound_block b = { .ref = *ref };
	struct err err = { 0 };

	ck_assert_msg(part_read_summary(p, ref, &sums, &err) == 0, "%s", err.text);
	ck_assert_msg(part_read_windows(p, ref, windows, &err) == 0, "%s", err.text);
	int rc = part_read_columns(p, ref, 0, ref->windows, &rows, &err);
	ck_assert_msg(rc == 0 || rc == -ENODATA, "%s", err.text);
	b.summary = hash_mix(hash_bytes(sums.stack, sums.n * sizeof *sums.stack),
			     hash_bytes(sums.total, sums.n * sizeof *sums.total));
	b.windows = hash_bytes(windows, ref->windows * sizeof *windows);
	b.rows = hash_mix(hash_bytes(rows.stack, rows.n * sizeof *rows.stack),
			  hash_mix(hash_bytes(rows.window, rows.n * sizeof *rows.window),
				   hash_bytes(rows.value, rows.n * sizeof *rows.value)));
	block_sums_done(&sums);
	block_columns_done(&rows);
	return b;
}

static void read_file(const char *path, struct buf *b)
{
	struct err err = { 0 };

	ck_assert_msg(fs_read_at(AT_FDCWD, path, 1 << 28, b, &err) == 0, "%s", err.text);
}

static void write_file(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "w");

	ck_assert(f && fwrite(data, 1, len, f) == len && fclose(f) == 0);
}

static void detail_path(const struct world *w, char *out, size_t size)
{
	snprintf(out, size, "%s/day.det.db", w->dir);
}

/* All stacks by name. */
static uint64_t dict_hash(const struct profile *dict)
{
	uint32_t frames[64];
	uint64_t hash = 0;

	for (uint32_t i = 0; i < dict->stacks.stacks.n; i++) {
		stack_frames(&dict->stacks, i, frames);
		for (uint32_t k = 0; k < stack_depth(&dict->stacks, i); k++) {
			uint32_t name = dict->frames.frames.v[frames[k]].function;
			hash = hash_mix(hash, hash_bytes(profile_str(dict, name),
							 strtab_len(&dict->strings, name)));
		}
	}
	return hash;
}

static void sound_init(struct sound *s)
{
	struct part_ref *refs;
	struct err err = { 0 };
	char detail[64];
	size_t n;

	*s = (struct sound){ 0 };
	world_init(&s->w, 51, false);
	world_add_hours(&s->w, 0, 14, 4000);
	ck_assert_int_eq(part_find(s->w.p, NULL, 0, 0, INT64_MAX, &refs, &n, &err), 0);
	for (size_t i = 0; i < n; i++)
		vec_push(&s->blocks, read_block(s->w.p, &refs[i]));
	free(refs);
	s->dict = dict_hash(part_dict(s->w.p));
	part_close(s->w.p);
	detail_path(&s->w, detail, sizeof detail);
	read_file(s->w.path, &s->day);
	read_file(detail, &s->detail);
	ck_assert(s->day.len > 5 * PAGE && s->detail.len > 4 * PAGE);
}

static void sound_done(struct sound *s)
{
	buf_done(&s->day);
	buf_done(&s->detail);
	vec_done(&s->blocks);
	vec_done(&s->w.rows);
	world_remove(&s->w);
}

static const struct sound_block *find_block(const struct sound *s, const struct part_ref *ref)
{
	for (size_t i = 0; i < s->blocks.n; i++)
		if (memcmp(&s->blocks.v[i].ref, ref, sizeof *ref) == 0)
			return &s->blocks.v[i];
	return NULL;
}

/* How many blocks have changed. */
static uint64_t count_changed(const struct sound *s, struct part *p, const struct part_ref *refs,
			      size_t n, bool has_detail)
{
	uint64_t same = 0;

	for (size_t i = 0; i < n; i++) {
		struct sound_block got = read_block(p, &refs[i]);
		const struct sound_block *was = find_block(s, &refs[i]);
		same += was && was->summary == got.summary && was->windows == got.windows &&
			(!has_detail || was->rows == got.rows);
	}
	return s->blocks.n - same;
}

/* Opens what is in the directory. */
static void check(struct sound *s, bool foreign)
{
	const struct part_opts opts = { .read_only = true, .foreign = foreign };
	struct part_ref *refs = NULL;
	struct part_info info;
	struct err err = { 0 };
	struct part *p = NULL;
	size_t n = 0;

	int rc = part_open(s->w.path, WORLD_DAY_NS, &opts, &p, &err);
	if (rc == 0)
		rc = part_find(p, NULL, 0, 0, INT64_MAX, &refs, &n, &err);
	if (rc) {
		ck_assert_msg(rc == -EBADMSG && err.code == EBADMSG && *err.text, "%d: %s", rc,
			      err.text);
		s->refused++;
		part_close(p);
		return;
	}
	part_get_info(p, &info);
	uint64_t changed = count_changed(s, p, refs, n, info.has_detail);
	part_get_info(p, &info);
	ck_assert_msg(changed <= info.bad_blocks, "%lu blocks changed, %lu counted",
		      (unsigned long)changed, (unsigned long)info.bad_blocks);
	ck_assert_uint_le(info.bad_blocks, changed + !info.has_detail);
	s->damaged_blocks += changed;
	s->read += s->blocks.n - changed;
	rc = part_load(p, &err);
	ck_assert(rc == 0 ? dict_hash(part_dict(p)) == s->dict : rc == -EBADMSG && *err.text);
	s->refused += rc != 0;
	rc = part_verify(p, &err);
	ck_assert(rc == 0 || (rc == -EBADMSG && *err.text));
	ck_assert(rc == -EBADMSG || changed == 0);
	free(refs);
	part_close(p);
}

/* Damages every page several times: one byte of it, or a piece, is replaced. */
static void flip_pages(struct sound *s, const char *path, const struct buf *whole, struct rng *rng)
{
	struct buf b = { 0 };

	for (size_t page = 0; page < whole->len / PAGE; page++) {
		for (int i = 0; i < (page ? FLIPS_A_PAGE : FLIPS_FIRST); i++) {
			/* More often where a page's structure is. */
			size_t in = rng_below(rng, i % 2 ? PAGE : 100), len = i % 4 == 3 ? 64 : 1;
			size_t at = page * PAGE + in;
			buf_clear(&b);
			buf_add(&b, whole->data, whole->len);
			for (size_t k = 0; k < len && at + k < whole->len; k++)
				b.data[at + k] ^= (char)(1 + rng_below(rng, 255));
			write_file(path, b.data, b.len);
			check(s, i % 4 < 2);
		}
	}
	buf_done(&b);
	write_file(path, whole->data, whole->len);
}

START_TEST(flipped_bytes_are_noticed)
{
	struct rng rng = { 61 };
	struct sound s;
	char detail[64];

	sound_init(&s);
	detail_path(&s.w, detail, sizeof detail);
	flip_pages(&s, s.w.path, &s.day, &rng);
	flip_pages(&s, detail, &s.detail, &rng);
	ck_assert(s.read > 20 * s.damaged_blocks && s.damaged_blocks > 0 && s.refused > 0);
	sound_done(&s);
}
END_TEST

static void cut_at_pages(struct sound *s, const char *path, const struct buf *whole)
{
	for (size_t page = 0; page < whole->len / PAGE; page++) {
		write_file(path, whole->data, page * PAGE);
		check(s, page % 2);
	}
	write_file(path, whole->data, whole->len);
}

START_TEST(cut_files_are_noticed)
{
	struct sound s;
	char detail[64];

	sound_init(&s);
	detail_path(&s.w, detail, sizeof detail);
	cut_at_pages(&s, s.w.path, &s.day);
	ck_assert_uint_ge(s.refused, s.day.len / PAGE - 1);
	cut_at_pages(&s, detail, &s.detail);
	check(&s, true);
	sound_done(&s);
}
END_TEST

UNIT_MAIN("part damage", flipped_bytes_are_noticed, cut_files_are_noticed)
