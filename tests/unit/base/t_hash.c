// tier: test
#include "rand.h"
#include "unit.h"

#include "base/hash.h"

enum { KEYS = 300 };

/* A few keys, some with equal low bits, and 0. */
static uint64_t key_of(unsigned i)
{
	return i % 3 == 0 ? i : i % 3 == 1 ? (uint64_t)i << 40 : 0x5555 + ((uint64_t)i << 32);
}

START_TEST(known_hash)
{
	/* XXH3_64bits of nothing and of "a", as `xxhsum -H3` prints them. */
	ck_assert_uint_eq(hash_bytes("", 0), 0x2d06800538d394c2);
	ck_assert_uint_eq(hash_bytes("a", 1), 0xe6c632b61e964e1f);
}
END_TEST

START_TEST(mix_depends_on_order_and_has_no_collisions_on_small_numbers)
{
	struct map seen = { 0 };
	for (uint64_t a = 0; a < 200; a++)
		for (uint64_t b = 0; b < 200; b++) {
			uint64_t h = hash_mix(a, b);
			ck_assert_ptr_null(map_get(&seen, h));
			map_put(&seen, h, 1);
		}
	ck_assert_uint_eq(seen.n, 200 * 200);
	map_done(&seen);
}
END_TEST

/* Applies the same operations to the map and to a plain array; compares one key after each, and all of them at times. */
static void compare_all(const struct map *m, const bool *has, const uint32_t *value)
{
	uint32_t n = 0, walked = 0;
	for (unsigned i = 0; i < KEYS; i++) {
		uint32_t *found = map_get(m, key_of(i));
		ck_assert_int_eq(found != NULL, has[i]);
		if (found)
			ck_assert_uint_eq(*found, value[i]);
		n += has[i];
	}
	ck_assert_uint_eq(m->n, n);
	map_each (m, s)
		walked++;
	ck_assert_uint_eq(walked, n);
	ck_assert_uint_le((uint64_t)m->n * 10, (uint64_t)m->cap * 7);
}

START_TEST(random_operations_equal_a_plain_array)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct rng r = { seed };
		struct map m = { 0 };
		bool has[KEYS] = { 0 };
		uint32_t value[KEYS] = { 0 };
		for (int step = 0; step < 5000; step++) {
			unsigned i = rng_below(&r, KEYS);
			/* phases of growing and of shrinking */
			if (rng_below(&r, 10) < (step / 1000 % 2 ? 3u : 6u)) {
				value[i] = rng_next(&r);
				has[i] = true;
				map_put(&m, key_of(i), value[i]);
			} else {
				ck_assert_int_eq(map_del(&m, key_of(i)), has[i]);
				has[i] = false;
			}
			if (step % 97 == 0)
				compare_all(&m, has, value);
		}
		compare_all(&m, has, value);
		map_clear(&m);
		memset(has, 0, sizeof has);
		compare_all(&m, has, value);
		map_done(&m);
		map_done(&m);
	}
}
END_TEST

/* The entries of an interning table; most of the hashes collide. */
struct words {
	uint32_t text[1000];
	uint32_t wanted;
};

static bool same_word(const void *ctx, uint32_t value)
{
	const struct words *w = ctx;
	if (w->text[value] % 7 != w->wanted % 7)
		ck_abort_msg("asked about a value under another key");
	return w->text[value] == w->wanted;
}

START_TEST(interning_with_equal_keys)
{
	struct map m = { 0 };
	struct words w = { 0 };
	uint32_t n = 0;
	struct rng r = { 3 };
	for (int step = 0; step < 20000; step++) {
		w.wanted = rng_below(&r, 1000);
		w.text[n] = w.wanted; /* the entry to be stored */
		uint32_t expected = 0;
		while (w.text[expected] != w.wanted)
			expected++;
		uint32_t id = map_intern(&m, w.wanted % 7, n, same_word, &w);
		ck_assert_uint_eq(id, expected);
		n += id == n;
		if (n == 1000)
			break;
	}
	ck_assert_uint_gt(n, 900);
	ck_assert_uint_eq(m.n, n);
	map_done(&m);
}
END_TEST

/* An index calls `same` for any entry with equal 32 bits. */
static bool same_text(const void *ctx, uint32_t i)
{
	const struct words *w = ctx;
	return w->text[i] == w->wanted;
}

START_TEST(indexes_of_ids)
{
	static const uint64_t hashes[] = { 7, 1 << 20,
					   UINT64_MAX }; /* entries per hash; many collide */
	for (size_t k = 0; k < sizeof hashes / sizeof *hashes; k++) {
		struct id_index x = { 0 };
		struct words w = { 0 };
		struct rng r = { 5 };
		uint32_t n = 0, id;
		ck_assert(!id_lookup(&x, 3, same_text, &w, &id) && !id_likely(&x, 3, &id));
		id_prefetch(&x, 3);
		for (int step = 0; step < 20000 && n < 1000; step++) {
			w.wanted = rng_below(&r, 1000);
			uint64_t hash = hash_mix(1, w.wanted) % hashes[k];
			bool known = id_lookup(&x, hash, same_text, &w, &id);
			w.text[n] = w.wanted;
			uint32_t expected = 0;
			while (w.text[expected] != w.wanted)
				expected++;
			ck_assert_int_eq(known, expected < n);
			ck_assert_uint_eq(id_intern(&x, hash, n, same_text, &w), expected);
			ck_assert(id_likely(&x, hash, &id));
			n += expected == n;
		}
		ck_assert_uint_gt(n, 900);
		ck_assert_uint_eq(x.n, n);
		ck_assert_uint_le((uint64_t)x.n * 10, (uint64_t)x.cap * 7);
		ck_assert_uint_eq(id_index_bytes(&x), x.cap * 8ull);
		id_index_done(&x);
	}
}
END_TEST

START_TEST(empty_map)
{
	struct map m = { 0 };
	ck_assert_ptr_null(map_get(&m, 0));
	ck_assert(!map_del(&m, 0));
	map_each (&m, s)
		ck_abort_msg("there is nothing");
	map_clear(&m);
	map_done(&m);
}
END_TEST

/* In pieces of any lengths it is the hash of the whole, whose known answers are in t_container.c. */
START_TEST(sha256_in_pieces)
{
	struct rng r = { 4 };
	uint8_t data[300], whole[SHA256_BYTES], pieces[SHA256_BYTES];
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = rng_below(&r, 256);
	for (int round = 0; round < 2000; round++) {
		size_t len = rng_below(&r, sizeof data + 1), most = 1 + rng_below(&r, 150);
		struct sha256 s;
		sha256(data, len, whole);
		sha256_init(&s);
		for (size_t at = 0, n; at < len; at += n) {
			n = rng_below(&r, most + 1);
			n = n < len - at ? n : len - at;
			sha256_add(&s, data + at, n);
		}
		sha256_add(&s, NULL, 0);
		sha256_end(&s, pieces);
		ck_assert_mem_eq(whole, pieces, SHA256_BYTES);
	}
}
END_TEST

UNIT_MAIN("hash", known_hash, sha256_in_pieces, indexes_of_ids,
	  mix_depends_on_order_and_has_no_collisions_on_small_numbers,
	  random_operations_equal_a_plain_array, interning_with_equal_keys, empty_map)
