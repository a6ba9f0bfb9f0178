/* A bit writer and reader for times and values. */
#include "store/codec/metric.h"

#include "base/bits.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"

#include <errno.h>
#include <string.h>

enum {
	METRIC_SHAPE = 1,
	MAX_DIGITS = 9, /* units of up to a second */
	POINT_BITS = 64,
	LEADING_BITS = 5,
	LENGTH_BITS = 6,
	MAX_LEADING = (1 << LEADING_BITS) - 1,
};

/* A difference of differences of class i: i ones, a zero (the last class has none), and a zigzag
 * number of time_bits[i] bits. With one reading a second, the clock's jitter is tens of µs to some
 * ms. */
static const uint8_t time_bits[] = { 0, 7, 14, 20, 26, 64 };
enum { TIME_CLASSES = sizeof time_bits / sizeof *time_bits };

/* State of the encoder and of the decoder after the points so far. */
struct state {
	uint64_t ticks, step;     /* since the first point, in units; previous difference */
	uint64_t value;           /* its bits */
	unsigned leading, length; /* of the last XOR written with its position; length 0: none */
};

static uint64_t value_bits(double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof bits);
	return bits;
}

static double bits_value(uint64_t bits)
{
	double v;
	memcpy(&v, &bits, sizeof v);
	return v;
}

/* --- writing ---------------------------------------------------------------------------------- */

static uint64_t distance(const struct metric_point *points, size_t i)
{
	return (uint64_t)points[i].time_ns - (uint64_t)points[0].time_ns;
}

/* Returns the number of decimal zeros that all differences end in. */
static unsigned find_digits(const struct metric_point *points, size_t n, uint64_t *unit)
{
	unsigned digits = MAX_DIGITS;
	*unit = 1000000000;
	for (size_t i = 1; i < n; i++)
		for (uint64_t d = distance(points, i); digits && d % *unit; digits--)
			*unit /= 10;
	return digits;
}

static void put_time(struct bit_writer *w, struct state *s, uint64_t ticks)
{
	uint64_t step = ticks - s->ticks, code = zigzag((int64_t)(step - s->step));
	unsigned ones = 0;
	while (ones < TIME_CLASSES - 1 && code >> time_bits[ones])
		ones++;
	bits_put(w, ~0ull, ones);
	if (ones < TIME_CLASSES - 1)
		bits_put(w, 0, 1);
	bits_put(w, code, time_bits[ones]);
	s->ticks = ticks;
	s->step = step;
}

/* 0: unchanged; 10: the XOR's bits at the last one's position; 11: position, then bits. */
static void put_value(struct bit_writer *w, struct state *s, uint64_t value)
{
	uint64_t x = value ^ s->value;
	s->value = value;
	if (x == 0) {
		bits_put(w, 0, 1);
		return;
	}
	unsigned leading = __builtin_clzll(x), trailing = __builtin_ctzll(x);
	leading = leading < MAX_LEADING ? leading : MAX_LEADING;
	unsigned kept = 64 - s->leading - s->length;
	if (s->length && leading >= s->leading && trailing >= kept) {
		bits_put(w, 2, 2);
		bits_put(w, x >> kept, s->length);
		return;
	}
	s->leading = leading;
	s->length = 64 - leading - trailing;
	bits_put(w, 3, 2);
	bits_put(w, s->leading, LEADING_BITS);
	bits_put(w, s->length - 1, LENGTH_BITS);
	bits_put(w, x >> trailing, s->length);
}

void metric_encode(const struct metric_point *points, size_t n, struct buf *out)
{
	struct bit_writer w = { .out = out };
	struct state s = { 0 };
	uint64_t unit;
	char count[VARINT_MAX_BYTES];
	buf_addc(out, METRIC_SHAPE);
	buf_addc(out, find_digits(points, n, &unit));
	buf_add(out, count, varint_write(count, n));
	for (size_t i = 0; i < n; i++) {
		if (i == 0) {
			bits_put(&w, points[0].time_ns, POINT_BITS);
			s.value = value_bits(points[0].value);
			bits_put(&w, s.value, POINT_BITS);
			continue;
		}
		put_time(&w, &s, distance(points, i) / unit);
		put_value(&w, &s, value_bits(points[i].value));
	}
	bits_flush(&w);
}

/* --- reading ---------------------------------------------------------------------------------- */

static bool get_time(struct bit_reader *r, struct state *s)
{
	unsigned ones = bits_get_ones(r, TIME_CLASSES - 1);
	s->step += (uint64_t)unzigzag(bits_get_wide(r, time_bits[ones]));
	return s->step != 0 && !__builtin_add_overflow(s->ticks, s->step, &s->ticks);
}

static bool get_value(struct bit_reader *r, struct state *s)
{
	unsigned ones = bits_get_ones(r, 2);
	if (ones == 0)
		return true;
	if (ones == 2) {
		s->leading = bits_get(r, LEADING_BITS);
		s->length = bits_get(r, LENGTH_BITS) + 1;
	}
	if (s->length == 0 || s->leading + s->length > 64)
		return false;
	s->value ^= bits_get_wide(r, s->length) << (64 - s->leading - s->length);
	return true;
}

/* Reads n points into the space after the existing ones. */
static bool get_points(struct bit_reader *r, uint64_t unit, size_t n, struct metric_points *points)
{
	struct state s = { 0 };
	uint64_t first = bits_get_wide(r, POINT_BITS), most = (uint64_t)INT64_MAX - first, past;
	s.value = bits_get_wide(r, POINT_BITS);
	for (size_t i = 0; i < n; i++) {
		if (i && (!get_time(r, &s) || !get_value(r, &s)))
			return false;
		if (__builtin_mul_overflow(s.ticks, unit, &past) || past > most || bits_overrun(r))
			return false;
		points->v[points->n + i] =
			(struct metric_point){ (int64_t)(first + past), bits_value(s.value) };
	}
	return bits_at_end(r);
}

int metric_decode(const void *data, size_t len, struct metric_points *points, struct err *err)
{
	struct cur in = cur_of(data, len);
	uint8_t shape = cur_u8(&in), digits = cur_u8(&in);
	uint64_t n = cur_varint(&in), unit = 1;
	if (in.bad || shape != METRIC_SHAPE || digits > MAX_DIGITS)
		return err_set(err, EBADMSG, "damaged metric block: not of this kind");
	/* each takes at least two bits, except the first */
	if (n > METRIC_MAX_POINTS || n > 4 * cur_left(&in))
		return err_set(err, EBADMSG,
			       "damaged metric block: more points than it has bytes for");
	for (unsigned i = 0; i < digits; i++)
		unit *= 10;
	vec_reserve(points, points->n + n);
	struct bit_reader r = { in.p, cur_left(&in), 0 };
	if (n ? !get_points(&r, unit, n, points) : cur_left(&in) > 0)
		return err_set(err, EBADMSG, "damaged metric block: wrong length");
	points->n += n;
	return 0;
}
