/* doctor --data: verifies a store and prints a summary, with each damaged file. */
#include "cmd/doctor/doctor.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "base/str.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/term.h"
#include "store/check.h"

#include <time.h>

enum { NAME_COLUMN = 20, TEXT_MAX = 1024 };

struct day_text {
	char s[24];
};

static struct day_text day_of(int64_t time_ns)
{
	time_t time_s = time_ns / 1000000000;
	struct day_text day;
	struct tm tm;

	gmtime_r(&time_s, &tm);
	strftime(day.s, sizeof day.s, "%Y-%m-%d", &tm);
	return day;
}

/* --- text ------------------------------------------------------------------------------------- */

static void add_count(struct buf *b, uint64_t n, const char *what)
{
	fmt_count(b, n);
	buf_addf(b, " %s%s, ", what, n == 1 ? "" : "s");
}

static void add_contents(struct buf *b, const struct store_check *c,
			 const struct store_file_check *f)
{
	if (f->is_part) {
		add_count(b, f->blocks, "block");
		add_count(b, f->rows, "row");
		buf_addf(b, "%s%s", f->sealed ? "sealed, " : "",
			 f->has_detail ? "" : "no detail, ");
	} else if (strcmp(f->name, "inbox.db") == 0) {
		buf_addf(b, "%llu batches waiting, ", (unsigned long long)c->batches);
	} else if (strcmp(f->name, "meta.db") == 0) {
		buf_addf(b, "%u series, ", c->series);
	}
	fmt_bytes(b, f->bytes);
}

static void add_file(struct buf *b, const struct term *term, const struct store_check *c,
		     const struct store_file_check *f)
{
	bool sound = !f->problem.code;

	buf_addc(b, ' ');
	term_check(b, term, sound ? CHECK_OK : CHECK_MISSING);
	buf_addf(b, " %-*s ", NAME_COLUMN, f->name);
	if (sound)
		add_contents(b, c, f);
	else
		esc_term(b, f->problem.text, strlen(f->problem.text), TEXT_MAX);
	buf_addc(b, '\n');
}

/* convert --data sets no limits: the greatest numbers. */
static void add_asked(struct buf *b, const struct store_asked *a)
{
	if (!a->retention_ns)
		return;
	buf_adds(b, "limits: ");
	if (a->retention_ns >= INT64_MAX)
		buf_adds(b, "any age");
	else
		fmt_duration(b, a->retention_ns);
	if (a->detail_retention_ns < a->retention_ns) {
		buf_adds(b, " (every 10 s: ");
		fmt_duration(b, a->detail_retention_ns);
		buf_addc(b, ')');
	}
	buf_adds(b, ", each sample ");
	fmt_duration(b, a->hot_ns);
	buf_adds(b, ", in ");
	if (a->disk_bytes >= INT64_MAX)
		buf_adds(b, "any size");
	else
		fmt_bytes(b, a->disk_bytes);
	buf_addc(b, '\n');
}

static void add_totals(struct buf *b, const struct store_check *c)
{
	buf_addc(b, '\n');
	add_asked(b, &c->kept.asked);
	buf_addf(b, "days:   %u day%s", c->days, c->days == 1 ? "" : "s");
	if (c->days)
		buf_addf(b, ", %s to %s", day_of(c->from_ns).s, day_of(c->to_ns - 1).s);
	if (c->kept.from_ns > 0)
		buf_addf(b, "; data before %s was deleted%s", day_of(c->kept.from_ns).s,
			 c->kept.is_short ? ", because of --disk" : "");
	buf_adds(b, "\ntotal:  ");
	add_count(b, c->rows, "row");
	add_count(b, c->blocks, "block");
	fmt_bytes(b, c->bytes);
	if (c->lost_rows) {
		buf_adds(b, "\nlost:   ");
		fmt_count(b, c->lost_rows);
		buf_adds(b, " rows of pending batches: their stack or series is missing");
	}
	buf_adds(b, "\n\n");
}

/* States which files others could read, and what to do. */
static void add_modes(struct buf *b, const char *dir, const struct store_modes *m)
{
	if (m->mended)
		buf_addf(b,
			 "fixed:  others could read %u file%s; only the owner and group can now\n",
			 m->mended, m->mended == 1 ? "" : "s");
	if (m->left)
		buf_addf(b,
			 "open:   others may read %u file%s of another user: run this as the owner "
			 "or root\n",
			 m->left, m->left == 1 ? "" : "s");
	if (m->is_open)
		buf_addf(b, "open:   others may enter %s:  chmod o= %s\n", dir, dir);
	if (m->mended || m->left || m->is_open)
		buf_addc(b, '\n');
}

static void add_verdict(struct buf *b, const struct term *term, const struct store_check *c)
{
	term_paint(b, term->color_out, PAINT_BOLD,
		   c->unsound ? "the store is damaged" : "no damage found");
	if (c->unsound)
		buf_addf(b, ": %u of %zu files. Queries skip damaged blocks and use the rest.",
			 c->unsound, c->files.n);
	buf_addc(b, '\n');
}

static void add_text(struct buf *b, const struct term *term, const char *dir,
		     const struct store_check *c)
{
	for (size_t i = 0; i < c->files.n; i++)
		add_file(b, term, c, &c->files.v[i]);
	add_totals(b, c);
	add_modes(b, dir, &c->modes);
	add_verdict(b, term, c);
	term_fit(term, b);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void put_day(struct json *j, const char *key, bool is_known, int64_t time_ns)
{
	json_key_str(j, key, is_known ? day_of(time_ns).s : NULL);
}

static void put_bool(struct json *j, const char *key, bool is_known, bool value)
{
	json_key(j, key);
	if (is_known)
		json_bool(j, value);
	else
		json_str(j, NULL);
}

static void put_count(struct json *j, const char *key, bool is_known, uint64_t value)
{
	json_key(j, key);
	if (is_known)
		json_u64(j, value);
	else
		json_str(j, NULL);
}

static void put_file(struct json *j, const struct store_file_check *f)
{
	json_obj(j);
	json_key_str(j, "name", f->name);
	put_bool(j, "sound", true, !f->problem.code);
	json_key_u64(j, "bytes", f->bytes);
	json_key_str(j, "problem", f->problem.code ? f->problem.text : NULL);
	put_day(j, "day", f->is_part, f->day_ns);
	put_bool(j, "sealed", f->is_part, f->sealed);
	put_bool(j, "detail", f->is_part, f->has_detail);
	put_count(j, "blocks", f->is_part, f->blocks);
	put_count(j, "rows", f->is_part, f->rows);
	put_count(j, "bad_blocks", f->is_part, f->bad_blocks);
	json_end(j);
}

static void put_asked(struct json *j, const struct store_asked *a)
{
	bool is_known = a->retention_ns != 0;

	json_key(j, "asked");
	json_obj(j);
	put_count(j, "retention_ns", is_known, a->retention_ns);
	put_count(j, "detail_retention_ns", is_known, a->detail_retention_ns);
	put_count(j, "hot_ns", is_known, a->hot_ns);
	put_count(j, "disk_bytes", is_known, a->disk_bytes);
	json_end(j);
}

static void add_json(struct buf *b, const char *dir, const struct store_check *c)
{
	struct json j = json_to(b);

	json_obj(&j);
	json_key_str(&j, "dir", dir);
	put_bool(&j, "sound", true, c->unsound == 0);
	json_key_u64(&j, "bytes", c->bytes);
	json_key_u64(&j, "rows", c->rows);
	json_key_u64(&j, "blocks", c->blocks);
	json_key_u64(&j, "bad_blocks", c->bad_blocks);
	json_key_u64(&j, "series", c->series);
	json_key_u64(&j, "days", c->days);
	json_key_u64(&j, "batches", c->batches);
	json_key_u64(&j, "bad_batches", c->bad_batches);
	put_day(&j, "from", c->days, c->from_ns);
	put_day(&j, "to", c->days, c->to_ns - 1);
	json_key_u64(&j, "lost_rows", c->lost_rows);
	put_day(&j, "kept_from", c->kept.from_ns > 0, c->kept.from_ns);
	put_bool(&j, "kept_short", true, c->kept.is_short);
	json_key_u64(&j, "mended_files", c->modes.mended);
	json_key_u64(&j, "open_files", c->modes.left);
	put_bool(&j, "open_to_others", true, c->modes.is_open);
	put_asked(&j, &c->kept.asked);
	json_key(&j, "files");
	json_arr(&j);
	for (size_t i = 0; i < c->files.n; i++)
		put_file(&j, &c->files.v[i]);
	json_end(&j);
	json_end(&j);
	buf_addc(b, '\n');
}

int doctor_data(struct cmd_line *line, const char *dir)
{
	struct store_check check;
	struct err err = { 0 };
	struct buf b = { 0 };

	if (store_check(dir, &check, &err) < 0)
		return cmd_fail(CMD_BAD_INPUT, &err);
	if (line->globals.json)
		add_json(&b, dir, &check);
	else
		add_text(&b, &line->term, dir, &check);
	bool unsound = check.unsound || check.modes.left;
	store_check_done(&check);
	int status = cmd_print(&b);
	return status == CMD_OK && unsound ? CMD_BAD_INPUT : status;
}
