/* ncurses: colours, keys, mouse and size. */
#define NCURSES_WIDECHAR 1
#include "tui/screen.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"

#include <errno.h>
#include <ncurses.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <unistd.h>
#include <wchar.h>

enum { PAIRS_KEPT = 4096, ESC_MS = 25, NAME_MAX_LEN = 64 };
#define MOUSE_OFF "\033[?1006l\033[?1000l"

struct screen {
	SCREEN *curses;
	int colours;      /* 0, 8, 16, 256, 1 << 24 */
	struct map pairs; /* foreground and background → pair */
	int pairs_max;
};

/* --- opening and closing ---------------------------------------------------------------------- */

static bool wants_truecolour(void)
{
	const char *said = getenv("COLORTERM");
	return said && (strcmp(said, "truecolor") == 0 || strcmp(said, "24bit") == 0);
}

/* Opens "xterm-direct" for "xterm-256color" if terminfo has it; else returns NULL. */
static SCREEN *open_direct(const char *term)
{
	char name[NAME_MAX_LEN];
	const char *suffix = strstr(term, "-256color");
	int status;
	if (!wants_truecolour() || !suffix || suffix - term > NAME_MAX_LEN - 8)
		return NULL;
	snprintf(name, sizeof name, "%.*s-direct", (int)(suffix - term), term);
	if (setupterm(name, STDOUT_FILENO, &status) != OK)
		return NULL;
	del_curterm(cur_term);
	return newterm(name, stdout, stdin);
}

static void set_colours(struct screen *s, bool wanted)
{
	if (!wanted || !has_colors() || start_color() != OK)
		return;
	use_default_colors();
	s->colours = COLORS;
	s->pairs_max = COLOR_PAIRS < PAIRS_KEPT ? COLOR_PAIRS : PAIRS_KEPT;
}

static void set_modes(void)
{
	cbreak();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESC_MS);
	mouseinterval(0);
	mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
}

int screen_open(struct screen **out, bool wants_colour, struct err *err)
{
	const char *term = getenv("TERM");
	int status;
	if (!term || setupterm(term, STDOUT_FILENO, &status) != OK)
		return err_set(err, ENODEV, "unknown terminal '%s'", term ? term : "");
	bool can_move = cursor_address != NULL;
	del_curterm(cur_term);
	if (!can_move)
		return err_set(err, ENODEV, "the terminal '%s' is not supported", term);
	struct screen *s = xcalloc(1, sizeof *s);
	s->curses = open_direct(term);
	if (!s->curses)
		s->curses = newterm(term, stdout, stdin);
	if (!s->curses) {
		free(s);
		return err_set(err, ENODEV, "the terminal '%s' cannot be opened", term);
	}
	set_term(s->curses);
	set_colours(s, wants_colour);
	/* Remove ncurses' handlers: these signals are blocked and arrive through a descriptor. */
	static const int signals[] = { SIGINT, SIGTERM, SIGTSTP, SIGWINCH };
	for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], SIG_DFL);
	set_modes();
	*out = s;
	return 0;
}

void screen_close(struct screen *s)
{
	if (!s)
		return;
	endwin();
	delscreen(s->curses);
	map_done(&s->pairs);
	free(s);
}

void screen_leave(struct screen *s)
{
	(void)s;
	endwin();
}

void screen_return(struct screen *s)
{
	(void)s;
	clearok(curscr, TRUE);
	refresh();
}

bool screen_has_colour(const struct screen *s)
{
	return s->colours >= 8;
}

void screen_size(const struct screen *s, int *rows, int *cols)
{
	(void)s;
	*rows = LINES;
	*cols = COLS;
}

void screen_resized(struct screen *s)
{
	struct winsize size = { 0 };
	(void)s;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row && size.ws_col)
		resizeterm(size.ws_row, size.ws_col);
	clearok(curscr, TRUE);
}

/* Leaves the alternate screen and restores cursor, colours, keypad and mouse. The bytes are fixed;
 * a terminal ignores sequences it does not know. */
void screen_rescue_text(struct buf *b)
{
	buf_adds(b, MOUSE_OFF "\033[?1002l\033[?1003l\033[0m\033[?1l\033>\033[?1049l\033[?25h\r\n");
}

/* --- colours ---------------------------------------------------------------------------------- */

static int channel(uint32_t rgb, int shift)
{
	return (int)(rgb >> shift & 0xff);
}

static int distance(uint32_t a, uint32_t b)
{
	int sum = 0;
	for (int shift = 0; shift <= 16; shift += 8) {
		int d = channel(a, shift) - channel(b, shift);
		sum += d * d;
	}
	return sum;
}

/* xterm's colours: a cube of six steps, then greys. */
static uint32_t rgb_of_256(int i)
{
	static const uint8_t steps[] = { 0, 95, 135, 175, 215, 255 };
	uint32_t grey = (uint32_t)(8 + 10 * (i - 232));
	if (i >= 232)
		return grey << 16 | grey << 8 | grey;
	i -= 16;
	return (uint32_t)steps[i / 36] << 16 | (uint32_t)steps[i / 6 % 6] << 8 | steps[i % 6];
}

static uint32_t rgb_of_16(int i)
{
	static const uint32_t colours[] = { 0x000000, 0xcd0000, 0x00cd00, 0xcdcd00,
					    0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
					    0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00,
					    0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff };
	return colours[i];
}

static bool is_grey(uint32_t rgb)
{
	enum { GREY_MAX = 48 };
	int r = channel(rgb, 16), g = channel(rgb, 8), b = channel(rgb, 0);
	int most = r > g ? r : g, least = r < g ? r : g;
	most = b > most ? b : most;
	least = b < least ? b : least;
	return most - least < GREY_MAX;
}

/* With few colours a grey is often the nearest, but it loses the hue. Therefore coloured values map
 * to coloured ones only, and greys to greys. */
static int nearest(uint32_t rgb, int first, int end, uint32_t (*rgb_of)(int i))
{
	int best = -1;
	for (int i = first; i < end; i++)
		if (is_grey(rgb_of(i)) == is_grey(rgb) &&
		    (best < 0 || distance(rgb, rgb_of(i)) < distance(rgb, rgb_of(best))))
			best = i;
	return best;
}

static int colour_of(const struct screen *s, uint32_t rgb)
{
	if (rgb == COLOUR_DEFAULT)
		return -1;
	if (s->colours >= 1 << 24)
		return (int)rgb;
	if (s->colours >= 256)
		return nearest(rgb, 16, 256, rgb_of_256);
	return nearest(rgb, 0, s->colours >= 16 ? 16 : 8, rgb_of_16);
}

/* Returns 0, the default colours, once all pairs are in use. */
static int pair_of(struct screen *s, const struct grid_style *style)
{
	if (!s->colours || (style->fg == COLOUR_DEFAULT && style->bg == COLOUR_DEFAULT))
		return 0;
	uint64_t key = (uint64_t)style->fg << 32 | style->bg;
	const uint32_t *known = map_get(&s->pairs, key);
	if (known)
		return (int)*known;
	int pair = (int)s->pairs.n + 1;
	if (pair >= s->pairs_max ||
	    init_extended_pair(pair, colour_of(s, style->fg), colour_of(s, style->bg)) != OK)
		return 0;
	map_put(&s->pairs, key, (uint32_t)pair);
	return pair;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static attr_t attributes(const struct grid_style *s)
{
	return (s->attrs & GRID_BOLD ? A_BOLD : 0) | (s->attrs & GRID_DIM ? A_DIM : 0) |
	       (s->attrs & GRID_REVERSE ? A_REVERSE : 0) |
	       (s->attrs & GRID_UNDERLINE ? A_UNDERLINE : 0);
}

static void show_cell(struct screen *s, int y, int x, const struct grid_cell *c)
{
	wchar_t text[2] = { (wchar_t)c->c, 0 };
	int pair = pair_of(s, &c->style);
	cchar_t cell;
	if (c->c && setcchar(&cell, text, attributes(&c->style), (short)pair, &pair) == OK)
		mvadd_wch(y, x, &cell);
}

void screen_show(struct screen *s, const struct grid *g)
{
	erase();
	for (int y = 0; y < g->rows && y < LINES; y++)
		for (int x = 0; x < g->cols && x < COLS; x++) {
			const struct grid_cell *c = &g->cells[(size_t)y * g->cols + x];
			if (c->c != ' ' || c->style.attrs || c->style.bg != COLOUR_DEFAULT)
				show_cell(s, y, x, c);
		}
	refresh();
}

/* --- input ------------------------------------------------------------------------------------ */

static const struct {
	int curses;
	enum ui_key key;
} keys[] = {
	{ KEY_UP, UI_UP },         { KEY_DOWN, UI_DOWN },
	{ KEY_LEFT, UI_LEFT },     { KEY_RIGHT, UI_RIGHT },
	{ KEY_PPAGE, UI_PAGE_UP }, { KEY_NPAGE, UI_PAGE_DOWN },
	{ KEY_HOME, UI_HOME },     { KEY_END, UI_END },
	{ KEY_ENTER, UI_ENTER },   { KEY_BACKSPACE, UI_BACKSPACE },
};

static struct ui_input mouse(void)
{
	MEVENT e;
	if (getmouse(&e) != OK)
		return (struct ui_input){ .key = UI_NOTHING };
	enum ui_key key = e.bstate & BUTTON4_PRESSED   ? UI_WHEEL_UP
			  : e.bstate & BUTTON5_PRESSED ? UI_WHEEL_DOWN
						       : UI_CLICK;
	return (struct ui_input){ .key = key, .y = e.y, .x = e.x };
}

static struct ui_input special(wint_t c)
{
	if (c == KEY_MOUSE)
		return mouse();
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if ((wint_t)keys[i].curses == c)
			return (struct ui_input){ .key = keys[i].key };
	return (struct ui_input){ .key = UI_CHAR, .c = 0 };
}

struct ui_input screen_input(struct screen *s)
{
	wint_t c;
	(void)s;
	int rc = get_wch(&c);
	if (rc == KEY_CODE_YES)
		return special(c);
	if (rc != OK)
		return (struct ui_input){ .key = UI_NOTHING };
	enum ui_key key = c == '\r' || c == '\n'  ? UI_ENTER
			  : c == 27               ? UI_ESC
			  : c == '\t'             ? UI_TAB
			  : c == 127 || c == '\b' ? UI_BACKSPACE
						  : UI_CHAR;
	return (struct ui_input){ .key = key, .c = c };
}
