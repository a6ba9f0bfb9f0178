/* /: the page, which the build has put into the program. */
#include "assets.h"
#include "server/handlers.h"

/* Nothing but its own files; pictures are frames, and cannot reach it (server/answer.h). */
#define PAGE_POLICY \
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src " \
	"'self'; " \
	"frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

static void reply_asset(struct request *r, const char *type, const char *data, size_t len)
{
	struct buf b = { 0 };
	buf_add(&b, data, len);
	reply_body(r, type, &b);
	r->reply.policy = PAGE_POLICY;
}

void handle_page(struct request *r)
{
	reply_asset(r, "text/html; charset=utf-8", asset_page_index_html,
		    asset_page_index_html_len);
}

void handle_page_style(struct request *r)
{
	reply_asset(r, "text/css; charset=utf-8", asset_page_page_css, asset_page_page_css_len);
}

void handle_page_script(struct request *r)
{
	reply_asset(r, "text/javascript; charset=utf-8", asset_page_page_js,
		    asset_page_page_js_len);
}

void handle_page_icon(struct request *r)
{
	reply_asset(r, "image/svg+xml", asset_page_icon_svg, asset_page_icon_svg_len);
}
