// tier: test
/* The meaning of a server's answer for a batch, and the time to wait. */
#include "unit.h"

#include "agent/http_thread.h"

#define SECOND_NS 1000000000ull

static const char *const words[] = {
	[DELIVERY_SENT] = "sent",   [DELIVERY_WHOLE] = "whole",  [DELIVERY_GZIP] = "gzip",
	[DELIVERY_SPLIT] = "halve", [DELIVERY_RESTART] = "anew", [DELIVERY_REFUSE] = "refuse",
	[DELIVERY_WAIT] = "wait"
};

static const char *of(struct attempt a)
{
	return words[delivery_of(&a)];
}

START_TEST(each_status_has_its_verdict)
{
	static const struct {
		long status;
		const char *whole; /* zstd, from a server that supports it */
	} cases[] = {
		{ 200, "sent" },   { 202, "sent" },   { 0, "wait" },     { 100, "wait" },
		{ 301, "wait" },   { 308, "wait" },   { 400, "refuse" }, { 401, "wait" },
		{ 403, "wait" },   { 404, "wait" },   { 405, "wait" },   { 408, "wait" },
		{ 409, "anew" },   { 411, "refuse" }, { 412, "refuse" }, { 413, "halve" },
		{ 415, "gzip" },   { 421, "wait" },   { 422, "refuse" }, { 429, "wait" },
		{ 431, "refuse" }, { 500, "wait" },   { 502, "wait" },   { 503, "wait" },
		{ 504, "wait" },   { 507, "wait" },
	};

	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		ck_assert_str_eq(of((struct attempt){ .status = cases[i].status,
						      .is_zstd = true,
						      .zstd_works = true }),
				 cases[i].whole);
}
END_TEST

START_TEST(the_kind_of_message_matters)
{
	struct attempt delta = { .is_zstd = true, .is_delta = true, .zstd_works = true };
	struct attempt gzip = { 0 }, first = { .is_zstd = true };

	delta.status = 412;
	ck_assert_str_eq(of(delta), "whole");
	delta.status = 400; /* no longer a cresset server */
	ck_assert_str_eq(of(delta), "whole");
	gzip.status = 415;
	ck_assert_str_eq(of(gzip), "refuse");
	gzip.status = 400;
	ck_assert_str_eq(of(gzip), "refuse");
	first.status = 400; /* from a server that answers zstd with a bad request */
	ck_assert_str_eq(of(first), "gzip");
	first.status = 409;
	first.is_first = true; /* no number is lower */
	ck_assert_str_eq(of(first), "refuse");
}
END_TEST

START_TEST(nothing_breaks_a_server_for_ever)
{
	struct attempt a = { .status = 500 };

	for (a.breaks = 0; a.breaks < DELIVERY_MAX_BREAKS; a.breaks++)
		ck_assert_str_eq(of(a), "wait");
	ck_assert_str_eq(of(a), "refuse");
	a.status = 503; /* the server reports its own fault */
	ck_assert_str_eq(of(a), "wait");
}
END_TEST

START_TEST(waiting_grows_to_a_minute)
{
	for (uint32_t failures = 0; failures < 100; failures++)
		for (uint64_t random = 1; random; random <<= 1) {
			uint64_t ns = backoff_ns(failures, 0, random - 1);
			uint64_t most = failures <= 1  ? 1
					: failures > 6 ? 60
						       : 1u << (failures - 1);
			ck_assert_uint_le(ns, most * SECOND_NS);
			ck_assert_uint_gt(ns, most * SECOND_NS / 2 - 1);
		}
	ck_assert_uint_eq(backoff_ns(UINT32_MAX, 0, 0), 60 * SECOND_NS);
}
END_TEST

START_TEST(a_server_may_say_how_long)
{
	ck_assert_uint_eq(backoff_ns(9, 3, 0), 3 * SECOND_NS);
	ck_assert_uint_lt(backoff_ns(9, 3, UINT64_MAX), 4 * SECOND_NS);
	ck_assert_uint_lt(backoff_ns(1, UINT64_MAX, UINT64_MAX), 700 * SECOND_NS);
}
END_TEST

UNIT_MAIN("verdict", each_status_has_its_verdict, the_kind_of_message_matters,
	  nothing_breaks_a_server_for_ever, waiting_grows_to_a_minute, a_server_may_say_how_long)
