/* SHA-256 (FIPS 180-4), in portable C. */
#include "base/hash.h"

#include <endian.h>
#include <string.h>

enum { BLOCK = SHA256_BLOCK, LENGTH_AT = BLOCK - 8 };

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t rounds[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t turn(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void schedule(const uint8_t block[BLOCK], uint32_t w[64])
{
	for (int i = 0; i < 16; i++) {
		memcpy(&w[i], block + 4 * i, 4);
		w[i] = be32toh(w[i]);
	}
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		uint32_t s0 = turn(a, 7) ^ turn(a, 18) ^ a >> 3;
		uint32_t s1 = turn(b, 17) ^ turn(b, 19) ^ b >> 10;
		w[i] = w[i - 16] + s0 + w[i - 7] + s1;
	}
}

/* Round i of eight. The words stay where they are: each round takes them in another order. */
static inline void turn_words(uint32_t s[8], unsigned i, uint32_t add)
{
	uint32_t a = s[-i & 7], b = s[(1 - i) & 7], c = s[(2 - i) & 7];
	uint32_t e = s[(4 - i) & 7], f = s[(5 - i) & 7], g = s[(6 - i) & 7];
	uint32_t s1 = turn(e, 6) ^ turn(e, 11) ^ turn(e, 25), choice = (e & f) ^ (~e & g);
	uint32_t s0 = turn(a, 2) ^ turn(a, 13) ^ turn(a, 22);
	uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
	uint32_t t1 = s[(7 - i) & 7] + s1 + choice + add;
	s[(3 - i) & 7] += t1;
	s[(7 - i) & 7] = t1 + s0 + majority;
}

static void compress(uint32_t state[8], const uint8_t block[BLOCK])
{
	uint32_t w[64], s[8];
	schedule(block, w);
	memcpy(s, state, sizeof s);
	for (int i = 0; i < 64; i += 8) {
		turn_words(s, 0, rounds[i] + w[i]);
		turn_words(s, 1, rounds[i + 1] + w[i + 1]);
		turn_words(s, 2, rounds[i + 2] + w[i + 2]);
		turn_words(s, 3, rounds[i + 3] + w[i + 3]);
		turn_words(s, 4, rounds[i + 4] + w[i + 4]);
		turn_words(s, 5, rounds[i + 5] + w[i + 5]);
		turn_words(s, 6, rounds[i + 6] + w[i + 6]);
		turn_words(s, 7, rounds[i + 7] + w[i + 7]);
	}
	for (int i = 0; i < 8; i++)
		state[i] += s[i];
}

void sha256_init(struct sha256 *s)
{
	/* The same bits of the square roots of the first 8. */
	static const uint32_t start[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
					   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
	*s = (struct sha256){ 0 };
	memcpy(s->state, start, sizeof start);
}

/* Adds to the block that is not full yet. Returns the number of bytes used. */
static size_t fill_block(struct sha256 *s, const void *data, size_t len)
{
	size_t at = s->len % BLOCK, n = len < BLOCK - at ? len : BLOCK - at;
	if (n)
		memcpy(s->block + at, data, n);
	s->len += n;
	if (n && s->len % BLOCK == 0)
		compress(s->state, s->block);
	return n;
}

void sha256_add(struct sha256 *s, const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t n = s->len % BLOCK ? fill_block(s, p, len) : 0;
	for (; len - n >= BLOCK; n += BLOCK, s->len += BLOCK)
		compress(s->state, p + n);
	fill_block(s, p + n, len - n);
}

void sha256_end(struct sha256 *s, uint8_t out[SHA256_BYTES])
{
	static const uint8_t padding[BLOCK] = { 0x80 };
	uint64_t bits = htobe64(s->len * 8);
	size_t at = s->len % BLOCK;
	sha256_add(s, padding, (at < LENGTH_AT ? LENGTH_AT : LENGTH_AT + BLOCK) - at);
	sha256_add(s, &bits, sizeof bits);
	for (int i = 0; i < 8; i++) {
		uint32_t word = htobe32(s->state[i]);
		memcpy(out + 4 * i, &word, 4);
	}
}

void sha256(const void *data, size_t len, uint8_t out[SHA256_BYTES])
{
	struct sha256 s;
	sha256_init(&s);
	sha256_add(&s, data, len);
	sha256_end(&s, out);
}
