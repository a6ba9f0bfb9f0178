// tier: test
/* The time in a file's name, compared with times from date(1). */
#include "unit.h"

#include "cmd/files/load.h"

#include <stdint.h>

#define S INT64_C(1000000000)

START_TEST(known_names)
{
	static const struct {
		const char *path;
		int64_t ns; /* 0: none */
	} cases[] = {
		{ "cpu-2026-11-21T10:15:00Z.pprof", 1795256100 * S },
		{ "2026-11-21_10-15-00.folded", 1795256100 * S },
		{ "cpu-20261121-101500", 1795256100 * S },
		{ "20261121T101500Z.pb.gz", 1795256100 * S },
		{ "x/20261121101500.pb", 1795256100 * S },
		{ "a.2026.11.21.10.15.00.b", 1795256100 * S },
		{ "2026-11-21 10:15:00.5Z.pb", 1795256100 * S + S / 2 },
		{ "cpu-2026-11-21T10:15:00.250Z", 1795256100 * S + S / 4 },
		{ "cpu-2026-11-21T10:15:00.7z", 1795256100 * S }, /* an ending */
		{ "heap.1795256100.pb.gz", 1795256100 * S },
		{ "heap.1795256100123.pb.gz", 1795256100 * S + 123000000 },
		{ "heap.1795256100123456", 1795256100 * S + 123456000 },
		{ "1795256100123456789", 1795256100 * S + 123456789 },
		{ "17-1795256100-20261121-101600", 1795256160 * S }, /* a date takes precedence */
		{ "v2-pid12345-2024-02-29T00:00:00Z", 1709164800 * S },
		{ "2026-11-21T10:15:00Z/cpu.pprof", 0 }, /* a directory is not the name */
		{ "cpu-2026-11-21.pprof", 0 },
		{ "2026-13-21T10:15:00", 0 },
		{ "2026-11-21T24:15:00", 0 },
		{ "2026-11-21T10:15:0", 0 },
		{ "202611211015001", 0 },
		{ "12345", 0 },
		{ "9795256100", 0 },
		{ "17952561001", 0 },
		{ "", 0 },
		{ "profile", 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t ns = 0;
		bool is_time = name_time(cases[i].path, &ns);
		ck_assert_msg(ns == cases[i].ns && is_time == (ns != 0), "%s is %lld",
			      cases[i].path, (long long)ns);
	}
}
END_TEST

/* Truncated anywhere, and with any byte changed, parsing ends. */
START_TEST(any_name)
{
	static const char name[] = "cpu-2026-11-21T10:15:00.250Z-1795256100123.pprof";
	char text[sizeof name];
	int64_t ns;

	for (size_t at = 0; at < sizeof name - 1; at++) {
		memcpy(text, name, sizeof name);
		text[at] = '\0';
		name_time(text, &ns);
		for (int c = 1; c < 256; c++) {
			memcpy(text, name, sizeof name);
			text[at] = (char)c;
			name_time(text, &ns);
		}
	}
}
END_TEST

UNIT_MAIN("name_time", known_names, any_name)
