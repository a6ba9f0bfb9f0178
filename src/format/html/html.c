/* Writes the page: policy, style, table, data and script. */
#include "format/html/html.h"

#include "assets.h"
#include "base/asset.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/hash.h"
#include "format/common/headline.h"
#include "format/common/value.h"
#include "format/html/container.h"
#include "format/picture/svg_page.h"
#include "profile/change/signed.h"
#include "profile/tree/top.h"

#include <string.h>

enum { TABLE_ROWS = 50, TITLE_MAX = 200, PIECE = 3 * 16384 };

struct page {
	const struct profile *p;
	const struct format_write_opts *opts;
	struct out *out;
	struct buf b;     /* not yet passed to out */
	struct buf data;  /* the container, compressed */
	struct buf table; /* for browsers without scripts */
	struct buf name;  /* of the shown type */
};

/* --- text --- */

static void put_text(struct buf *b, const char *s)
{
	svg_text(b, s, SVG_MAX_NAME);
}

static void put_hash(struct buf *b, const char *data, size_t len)
{
	uint8_t hash[SHA256_BYTES];
	sha256(data, len, hash);
	buf_adds(b, " 'sha256-");
	base64_put(b, hash, sizeof hash);
	buf_adds(b, "'");
}

static void put_style(struct buf *b)
{
	buf_add(b, asset_flame_css, asset_flame_css_len);
	buf_add(b, asset_report_report_css, asset_report_report_css_len);
}

void html_policy(struct buf *b)
{
	buf_adds(b, "default-src 'none'; script-src blob:");
	put_hash(b, asset_report_start_js, asset_report_start_js_len);
	struct buf style = { 0 };
	put_style(&style);
	buf_adds(b, "; style-src");
	put_hash(b, style.data, style.len);
	buf_done(&style);
	buf_adds(b, "; img-src data: blob:; base-uri 'none'; form-action 'none'");
}

/* --- the table --- */

static void put_row(struct buf *b, const struct tree *t, const struct top_row *row, int64_t total)
{
	const struct tree_func *f = &t->funcs.v[row->func];
	buf_addf(b, "<tr><td>%.2f</td><td>%.2f</td><td>", value_percent(row->self, total),
		 value_percent(row->total, total));
	if (t->is_diff)
		buf_addf(b, "%+.2f</td><td>",
			 value_percent(row->self, total) -
				 value_percent(row->other_self, tree_whole(t, true)));
	put_text(b, strtab_get(&t->strings, f->name));
	buf_addf(b, "</td><td>%s</td><td>", frame_kinds[f->kind].name);
	put_text(b, strtab_get(&t->strings, f->binary));
	buf_adds(b, "</td></tr>\n");
}

static void put_table(struct page *page, const struct tree *t)
{
	struct top_table top = { 0 };
	struct buf *b = &page->table, line = { 0 };
	top_build(t, &top);
	headline_counts(page->p, t, &line);
	buf_adds(&page->name, t->type_name);
	buf_adds(b, "<p>");
	svg_text(b, buf_cstr(&line), SIZE_MAX);
	buf_adds(b, "</p>\n<table><caption>");
	put_text(b, t->type_name);
	buf_addf(b, ": the %d functions with the largest self share</caption>\n", TABLE_ROWS);
	buf_addf(
		b,
		"<thead><tr><th scope=\"col\">self %%</th><th scope=\"col\">total %%</th>%s"
		"<th scope=\"col\">function</th><th scope=\"col\">kind</th><th scope=\"col\">binary"
		"</th></tr></thead>\n<tbody>\n",
		t->is_diff ? "<th scope=\"col\">change of self, points</th>" : "");
	for (size_t i = 0; i < top.rows.n && i < TABLE_ROWS; i++)
		put_row(b, t, &top.rows.v[i], tree_whole(t, false));
	buf_adds(b, "</tbody></table>\n");
	top_done(&top);
	buf_done(&line);
}

/* --- the page --- */

static int page_flush(struct page *page, struct err *err)
{
	int rc = out_write(page->out, page->b.data, page->b.len, err);
	buf_clear(&page->b);
	return rc;
}

static void put_title(struct page *page)
{
	struct buf origin = { 0 };
	struct buf *b = &page->b;
	headline_origin(page->p, &origin);
	buf_adds(b, "<title>");
	if (page->opts->title)
		svg_text(b, page->opts->title, TITLE_MAX);
	else
		put_text(b, buf_cstr(&page->name));
	if (!page->opts->title && origin.len) {
		buf_adds(b, HEADLINE_SEPARATOR);
		svg_text(b, buf_cstr(&origin), TITLE_MAX);
	}
	buf_adds(b, HEADLINE_SEPARATOR "cresset</title>\n");
	buf_done(&origin);
}

static void put_head(struct page *page)
{
	struct buf *b = &page->b;
	buf_adds(b, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"");
	html_policy(b);
	buf_adds(b,
		 "\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		 "<meta name=\"generator\" content=\"cresset " CRESSET_VERSION "\">\n");
	put_title(page);
	buf_adds(b, "<style>");
	put_style(b);
	buf_adds(b, "</style>\n</head>\n<body>\n<main id=\"report\"><noscript>\n<h1>");
	put_text(b, page->opts->title ? page->opts->title : buf_cstr(&page->name));
	buf_adds(b, "</h1>\n<p>");
	struct buf origin = { 0 };
	headline_origin(page->p, &origin);
	svg_text(b, buf_cstr(&origin), SIZE_MAX);
	buf_done(&origin);
	buf_adds(b, "</p>\n<p>The flame graph and the other views need JavaScript; no data leaves "
		    "this file.</p>\n");
	for (char *const *note = page->opts->notes; note && *note; note++) {
		buf_adds(b, "<p>");
		svg_text(b, *note, SIZE_MAX);
		buf_adds(b, "</p>\n");
	}
	buf_add(b, page->table.data, page->table.len);
	buf_adds(b, "</noscript></main>\n");
}

static int put_bytes(struct page *page, const char *id, const void *data, size_t len,
		     struct err *err)
{
	struct buf *b = &page->b;
	int rc = 0;
	buf_addf(b, "<script type=\"application/octet-stream;base64\" id=\"%s\">", id);
	for (size_t at = 0; rc == 0 && at < len; at += PIECE) {
		base64_put(b, (const char *)data + at, len - at < PIECE ? len - at : PIECE);
		rc = page_flush(page, err);
	}
	buf_adds(b, "</script>\n");
	return rc;
}

static int page_write(struct page *page, struct err *err)
{
	const struct asset *modules = asset_find("report/report.js");
	struct buf *b = &page->b;
	put_head(page);
	int rc = page_flush(page, err);
	if (rc == 0)
		rc = put_bytes(page, "modules", modules->gz, modules->gz_len, err);
	if (rc == 0)
		rc = put_bytes(page, "data", page->data.data, page->data.len, err);
	buf_adds(b, "<script>");
	buf_add(b, asset_report_start_js, asset_report_start_js_len);
	buf_adds(b, "</script>\n</body>\n</html>\n");
	return rc == 0 ? page_flush(page, err) : rc;
}

static void page_done(struct page *page)
{
	buf_done(&page->b);
	buf_done(&page->data);
	buf_done(&page->table);
	buf_done(&page->name);
}

/* --- content --- */

static void put_shown(void *ctx, const struct tree *t)
{
	put_table(ctx, t);
}

static int write_types(struct profile *p, const struct format_write_opts *opts, struct out *out,
		       struct err *err)
{
	struct page page = { .p = p, .opts = opts, .out = out };
	const struct container_watch watch = { .shown = put_shown, .ctx = &page };
	int rc = container_write(p, opts, &watch, &page.data, err);
	if (rc == 0)
		rc = page_write(&page, err);
	page_done(&page);
	return rc;
}

int html_write_diff(const struct profile *p, uint32_t type, struct tree *t,
		    const struct profile *older, const struct format_write_opts *opts,
		    struct out *out, struct err *err)
{
	struct page page = { .p = p, .opts = opts, .out = out };
	struct container c;
	container_begin(&c, p, type);
	container_add_diff(&c, type, t, older);
	put_table(&page, t);
	int rc = container_end(&c, &page.data, err);
	if (rc == 0)
		rc = page_write(&page, err);
	container_done(&c);
	page_done(&page);
	return rc;
}

/* A difference has no samples in the order of time: its page has one tree. */
static int html_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		      struct err *err)
{
	struct tree_opts tree_opts = opts->tree;
	struct tree *t = NULL;
	int rc = format_pick_type(p, opts->type, &tree_opts.type, NULL);
	if (rc < 0 || !signed_part_of(p, tree_opts.type).n)
		return write_types(p, opts, out, err);
	rc = tree_build_signed(p, &tree_opts, &t, err);
	if (rc == 0)
		rc = html_write_diff(p, tree_opts.type, t, NULL, opts, out, err);
	tree_free(t);
	return rc;
}

const struct format format_html = {
	.name = "html",
	.summary = "a page in one file: all types, timeline, table, search",
	.notes = "One file without dependencies, usable offline. It cannot be read back.",
	.endings = (const char *const[]){ ".html", ".htm", NULL },
	.has_timeline = true,
	.write = html_write,
};
