// tier: test
/* Cells of the terminal: hostile, wide and ASCII names. */
#include "base/buf.h"
#include "known_feed.h"

/* --- cells ------------------------------------------------------------------------------------ */

START_TEST(hostile_names_are_plain_characters)
{
	static const char *const names[] = { "\033[2J\033]0;x\a",
					     "a\nb\rc\td",
					     "\x9b"
					     "31m",
					     "\xc2\x9b"
					     "31m",
					     "x\xe2\x80\xae"
					     "evil",
					     "\xff\xfe",
					     "\x7f",
					     "e\xcc\x81\xcc\x81" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct grid g;
		struct buf b = { 0 };
		grid_init(&g, 1, 40, false);
		grid_put(&g, 0, 0, 40, GRID_PLAIN, names[i]);
		for (int x = 0; x < 40; x++) {
			uint32_t c = g.cells[x].c;
			ck_assert_msg(c == 0 ||
					      (c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0)),
				      "%x", c);
			ck_assert(!(c >= 0x202a && c <= 0x202e) && !(c >= 0x2066 && c <= 0x2069));
		}
		grid_row_text(&g, 0, &b);
		ck_assert(b.len > 0);
		buf_done(&b);
		grid_done(&g);
	}
}
END_TEST

START_TEST(wide_characters_are_never_halved)
{
	static const struct {
		int n;
		const char *text, *shown;
	} cases[] = {
		{ 6, "日本語", "日本語" }, { 5, "日本語", "日本…" }, { 4, "日本語", "日…" },
		{ 3, "日本語", "日…" },    { 2, "日本語", "…" },     { 1, "日本語", "…" },
		{ 3, "abc", "abc" },       { 2, "abc", "a…" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct grid g;
		struct buf b = { 0 };
		grid_init(&g, 1, 8, false);
		ck_assert_int_le(grid_put(&g, 0, 0, cases[i].n, GRID_PLAIN, cases[i].text),
				 cases[i].n);
		grid_row_text(&g, 0, &b);
		ck_assert_str_eq(buf_cstr(&b), cases[i].shown);
		buf_done(&b);
		grid_done(&g);
	}
}
END_TEST

START_TEST(half_of_a_wide_character_goes_when_the_other_does)
{
	struct grid g;
	struct buf b = { 0 };
	grid_init(&g, 1, 8, false);
	grid_put(&g, 0, 0, 8, GRID_PLAIN, "日本");
	grid_set(&g, 0, 1, 'x', GRID_PLAIN);
	grid_set(&g, 0, 2, 'y', GRID_PLAIN);
	grid_row_text(&g, 0, &b);
	ck_assert_str_eq(buf_cstr(&b), " xy");
	buf_done(&b);
	grid_done(&g);
}
END_TEST

START_TEST(ascii_is_ascii)
{
	struct grid g;
	struct buf b = { 0 };
	grid_init(&g, 1, 20, true);
	grid_put(&g, 0, 0, 10, GRID_PLAIN, "é日x█·…");
	grid_row_text(&g, 0, &b);
	ck_assert_str_eq(buf_cstr(&b), "???x#-.");
	buf_done(&b);
	grid_done(&g);
}
END_TEST

UNIT_MAIN("tui_grid", hostile_names_are_plain_characters, wide_characters_are_never_halved,
	  half_of_a_wide_character_goes_when_the_other_does, ascii_is_ascii)
