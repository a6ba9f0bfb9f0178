// tier: test
/* What cresset top shows, as rows of text from known data; the effect of keys and clicks; hostile names. No terminal is needed. */
#include "known_feed.h"
#include "rand.h"

#include "base/buf.h"
#include "base/err.h"
#include "tui/plain.h"

/* --- tabs ------------------------------------------------------------------------------------- */

START_TEST(functions_processes_threads_waits)
{
	struct known_feed f;
	struct ui ui;
	open_ui(&ui, &f, 24, 80);
	ROW_HAS(&ui, 0, "cresset top · a test");
	ROW_HAS(&ui, 1, "  0[");
	ROW_HAS(&ui, 1, "25%]");
	ROW_HAS(&ui, 2, " 1 Functions  2 Processes  3 Threads  4 Waits  5 Flame  6 Heatmap");
	ROW_IS(&ui, 3, " ▼self %  total % kind   function                            binary");
	ROW_IS(&ui, 4, "   50.00    50.00 python parse");
	ROW_IS(&ui, 5, "   30.00    30.00 kernel tcp_sendmsg");
	ROW_IS(&ui, 6, "   20.00    20.00 python query");
	ROW_HAS(&ui, 7, "0.00   100.00 python main");
	press(&ui, "2");
	ROW_HAS(&ui, 4, "80.00    40.00    37.50       2       10 web");
	ROW_HAS(&ui, 4, "parse");
	ROW_HAS(&ui, 5, "20.00    10.00     0.00       1       20 db");
	press(&ui, "3");
	ROW_HAS(&ui, 4, "10       10 web             parse");
	ROW_HAS(&ui, 6, "20       20 db");
	press(&ui, "4");
	ROW_HAS(&ui, 4, "80.00    400 ms      1 futex/lock");
	ROW_HAS(&ui, 4, "db (20)");
	ROW_HAS(&ui, 5, "20.00    100 ms      1 disk I/O");
	close_ui(&ui, &f);
}
END_TEST

START_TEST(a_flame_graph_has_boxes_as_wide_as_they_should_be)
{
	struct known_feed f;
	struct ui ui;
	open_ui(&ui, &f, 24, 80);
	press(&ui, "5");
	ROW_IS(&ui, 3, "all");
	ROW_IS(&ui, 4, "main");
	ROW_IS(&ui, 5, "query           serve"); /* 20 % and 80 % of 80 */
	ROW_IS(&ui, 6, "                parse                                   send");
	ROW_HAS(&ui, 22, "all  100.00 % of view");
	press(&ui, "\v\v\v\n"); /* the widest: main, serve, parse; then zooms in */
	ROW_HAS(&ui, 22, "parse  100.00 % of view, 50.00 % of all, self 50.00 %");
	ROW_IS(&ui, 6, "parse");
	press(&ui, "\033");
	ROW_HAS(&ui, 22, "serve  100.00 % of view, 80.00 % of all");
	press(&ui, "/send\n");
	ROW_HAS(&ui, 22, "matched 30.00 %");
	close_ui(&ui, &f);
}
END_TEST

/* A file may have values below 0: then children have more than their parent, and begin before it. */
START_TEST(no_box_leaves_its_parent)
{
	static const struct known_sample odd[] = {
		{ "cpu", "web", "main;a;x", 10, 10, 0, 100, -95 },
		{ "cpu", "web", "main;b;y", 10, 10, 0, 100, 100 },
		{ "cpu", "web", "main;c", 10, 10, 0, 100, 5 },
	};
	struct known_feed f;
	struct ui ui;
	struct err err = { 0 };
	known_open(&f, odd, sizeof odd / sizeof *odd);
	ui_init(&ui, &f.base, false, false);
	ui_resize(&ui, 24, 80);
	ck_assert_int_eq(ui_take(&ui, &err), 0);
	ck_assert_int_eq(ui_set_tab(&ui, "flame"), 0);
	ui_make(&ui);
	ui_draw(&ui);
	ck_assert_uint_gt(ui.pane.flame.boxes.n, 2);
	for (size_t i = 0; i < ui.pane.flame.boxes.n; i++) {
		const struct flame_box *b = &ui.pane.flame.boxes.v[i];
		ck_assert_msg(b->from >= 0 && b->to <= 80 * 8, "a box from %d to %d", b->from,
			      b->to);
	}
	close_ui(&ui, &f);
}
END_TEST

START_TEST(keys_work_as_in_help)
{
	struct known_feed f;
	struct ui ui;
	open_ui(&ui, &f, 24, 80);
	press(&ui, "/QUE\n");
	ROW_IS(&ui, 4, "   20.00    20.00 python query");
	ROW_IS(&ui, 5, "");
	press(&ui, "/\b\b\b/^(send|parse)$/\n");
	ROW_HAS(&ui, 4, "parse");
	ROW_HAS(&ui, 5, "send");
	ROW_IS(&ui, 6, "");
	press(&ui, "/(\n");
	ck_assert_str_ne(ui.message, "");
	ck_assert_str_eq(ui.filter.text, "/^(send|parse)$/");
	press(&ui, "\033"); /* without a zoom: clears the filter */
	ck_assert(!match_is_on(&ui.filter));
	press(&ui, "s");
	ck_assert_int_eq(ui.tabs[0].sort, 1);
	ROW_HAS(&ui, 4, "main");
	press(&ui, "sss");
	ck_assert_int_eq(ui.tabs[0].sort, 0);
	press(&ui, "k");
	ROW_HAS(&ui, 4, "parse");
	ROW_HAS(&ui, 5, "30.00    30.00 python send");
	press(&ui, "k2\n"); /* into process 10 */
	ROW_HAS(&ui, 23, "in process 10");
	ROW_HAS(&ui, 4, "62.50    62.50 python parse");
	press(&ui, "\033");
	ck_assert_int_eq(ui.tab, 1);
	press(&ui, "1\n"); /* into parse */
	ck_assert_str_eq(ui.pane.view->name, "flame");
	ROW_HAS(&ui, 22, "all  100.00 % of view, 100.00 % of all");
	ROW_HAS(&ui, 6, "parse");
	press(&ui, "\033\033");
	ck_assert_int_eq(ui.tab, 0);
	press(&ui, "e");
	ROW_HAS(&ui, 5, "100.00 %  serve");
	ROW_HAS(&ui, 6, "100.00 %  main");
	press(&ui, "e");
	ROW_HAS(&ui, 5, "tcp_sendmsg");
	press(&ui, "p");
	ROW_HAS(&ui, 2, "off-cpu");
	press(&ui, "p ");
	ck_assert(f.held && ui.is_paused);
	press(&ui, " h");
	ck_assert(!f.held);
	ROW_HAS(&ui, 3, "tabs, from left to right");
	press(&ui, "xq");
	ck_assert(ui.is_done);
	close_ui(&ui, &f);
}
END_TEST

START_TEST(reset_and_zero_forget)
{
	struct known_feed f;
	struct ui ui;
	struct err err = { 0 };
	open_ui(&ui, &f, 24, 80);
	press(&ui, "r");
	ck_assert_int_eq(ui.reset_ns, 2000 * MS);
	f.span_ns = 3000 * MS;
	ck_assert_int_eq(ui_take(&ui, &err), 0);
	ui_draw(&ui);
	ROW_HAS(&ui, 4, "No data yet.");
	ui.reset_ns = 0;
	press(&ui, "z");
	ck_assert_int_eq(ui_from_ns(&ui), 2000 * MS);
	close_ui(&ui, &f);
}
END_TEST

START_TEST(clicks)
{
	struct known_feed f;
	struct ui ui;
	open_ui(&ui, &f, 24, 80);
	ui_input(&ui, &(struct ui_input){ .key = UI_CLICK, .y = 2, .x = 15 });
	ck_assert_str_eq(ui.pane.view->name, "processes");
	ui_input(&ui, &(struct ui_input){ .key = UI_CLICK, .y = 5, .x = 15 });
	ck_assert_int_eq(ui.tabs[1].selected, 1);
	ui_input(&ui, &(struct ui_input){ .key = UI_CLICK, .y = 5, .x = 15 });
	ck_assert_uint_eq(ui.zooms.n, 1);
	ck_assert_uint_eq(ui.zooms.v[0].pid, 20);
	ui_input(&ui, &(struct ui_input){ .key = UI_ESC });
	ui_input(&ui, &(struct ui_input){ .key = UI_CHAR, .c = '1' });
	ui_input(&ui, &(struct ui_input){ .key = UI_CLICK, .y = 3, .x = 12 }); /* head: total */
	ck_assert_int_eq(ui.tabs[0].sort, 1);
	ui_input(&ui, &(struct ui_input){ .key = UI_CHAR, .c = '5' });
	ui_draw(&ui);
	ui_input(&ui, &(struct ui_input){ .key = UI_CLICK, .y = 5, .x = 40 });
	ui_draw(&ui);
	ROW_HAS(&ui, 22, "serve  100.00 % of view, 80.00 % of all");
	/* Anywhere, with any meaning: nothing breaks. */
	for (int y = -1; y < 26; y++)
		for (int x = -1; x < 82; x += 3)
			for (int key = UI_CLICK; key <= UI_WHEEL_DOWN; key++) {
				ui_input(&ui, &(struct ui_input){
						      .key = (enum ui_key)key, .y = y, .x = x });
				ui_draw(&ui);
			}
	close_ui(&ui, &f);
}
END_TEST

START_TEST(any_keys_at_any_size)
{
	static const int sizes[][2] = { { 24, 80 }, { 12, 60 },  { 10, 40 },
					{ 1, 1 },   { 50, 200 }, { 3, 500 } };
	struct rng rng = { .state = 7 };
	struct known_feed f;
	struct ui ui;
	struct err err = { 0 };
	open_ui(&ui, &f, 24, 80);
	for (int i = 0; i < 4000; i++) {
		struct ui_input in = { .key = (enum ui_key)(rng_below(&rng, UI_WHEEL_DOWN + 1)),
				       .c = rng_below(&rng, 128),
				       .y = (int)rng_below(&rng, 30),
				       .x = (int)rng_below(&rng, 90) };
		int size = (int)rng_below(&rng, 6);
		if (ui.prompt == PROMPT_WRITE) /* nothing may be written here */
			in.key = UI_ESC;
		ui_input(&ui, &in);
		if (i % 50 == 0)
			ui_resize(&ui, sizes[size][0], sizes[size][1]);
		if (i % 20 == 0)
			ck_assert_int_eq(ui_take(&ui, &err), 0);
		ui_draw(&ui);
	}
	close_ui(&ui, &f);
}
END_TEST

START_TEST(too_small_is_reported)
{
	struct known_feed f;
	struct ui ui;
	open_ui(&ui, &f, 10, 40);
	ROW_IS(&ui, 0, "40 x 10 is too small:");
	ROW_IS(&ui, 1, "make it 60 x 12.");
	ui_resize(&ui, 24, 80);
	ui_draw(&ui);
	ROW_HAS(&ui, 2, "1 Functions");
	close_ui(&ui, &f);
}
END_TEST

START_TEST(tabs_are_there_when_their_data_is)
{
	static const struct known_sample gpu = { "gpu-time", "train", "main;launch;matmul", 7, 7, 0,
						 0,          50 };
	struct known_feed f;
	struct ui ui;
	struct err err = { 0 };
	known_open(&f, &gpu, 1);
	ui_init(&ui, &f.base, false, false);
	ck_assert_int_eq(ui_take(&ui, &err), 0);
	ui_draw(&ui);
	ROW_HAS(&ui, 1, "5 Heatmap  6 GPU"); /* no waits; no CPU's share is known, so no bars */
	press(&ui, "6");
	ROW_HAS(&ui, 3, "100.00   100.00 python matmul");
	close_ui(&ui, &f);
}
END_TEST

START_TEST(hostile_names_on_the_screen)
{
	static const struct known_sample bad = {
		"cpu", "\033[31mred\n", "ma\033[2Jin;\xff\xfe\x9b", 7, 7, 0, 0, 50
	};
	struct known_feed f;
	struct ui ui;
	struct err err = { 0 };
	known_open(&f, &bad, 1);
	f.base.what = "\033]0;title\a";
	ui_init(&ui, &f.base, false, false);
	ck_assert_int_eq(ui_take(&ui, &err), 0);
	for (const char *tab = "123456"; *tab; tab++) {
		press(&ui, (char[]){ *tab, '\0' });
		for (int i = 0; i < ui.grid.rows * ui.grid.cols; i++)
			ck_assert(!ui.grid.cells[i].c || ui.grid.cells[i].c >= 0x20);
	}
	struct buf out = { 0 };
	plain_text(&ui, &(struct plain_opts){ .rows = 5 }, &out);
	for (size_t i = 0; i < out.len; i++)
		ck_assert((unsigned char)out.data[i] >= 0x20 || out.data[i] == '\n');
	buf_done(&out);
	close_ui(&ui, &f);
}
END_TEST

UNIT_MAIN("tui", functions_processes_threads_waits,
	  a_flame_graph_has_boxes_as_wide_as_they_should_be, no_box_leaves_its_parent,
	  keys_work_as_in_help, reset_and_zero_forget, clicks, any_keys_at_any_size,
	  too_small_is_reported, tabs_are_there_when_their_data_is, hostile_names_on_the_screen)
