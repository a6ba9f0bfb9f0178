/* Responses in memory files. */
#include "server/answer.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "format/common/tree_bin.h"
#include "format/html/html.h"
#include "server/request.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *const table_words[] = { "json", "csv", "text", NULL };
const char *const table_types[] = { "application/json", "text/csv; charset=utf-8",
				    "text/plain; charset=utf-8" };

enum { PX_MAX = 1000000 };

int answer_detail_get(struct request *r, struct answer_detail *out, struct err *err)
{
	const char *zoom = request_param(r, "zoom");
	uint64_t px;
	int rc = request_u64(r, "px", 0, PX_MAX, &px, err);
	if (rc == 0 && zoom && !px)
		rc = err_set(err, EINVAL, "parameter zoom needs px");
	if (rc == 0 && zoom && tree_path_parse(zoom, &out->zoom, err) < 0)
		rc = err_prefix(err, "parameter zoom");
	if (rc < 0)
		return rc;
	out->share = px ? 0.5 / (double)px : 0;
	out->has_zoom = zoom != NULL;
	return 0;
}

void answer_detail_done(struct answer_detail *d)
{
	tree_path_done(&d->zoom);
}

const struct tree_path *answer_zoom(const struct answer_detail *d)
{
	return d->has_zoom ? &d->zoom : NULL;
}

void answer_tree_bin(struct request *r, struct tree *t, const struct tree_bin_opts *opts)
{
	struct buf b = { 0 };
	tree_sort(t, ORDER_NAME);
	tree_bin_write(t, opts, &b);
	reply_body(r, TREE_BIN_TYPE, &b);
}

/* For a graph in an iframe of the page: the policy gives it a separate origin, so its script
 * reaches neither the API nor the page. */
const char *answer_html_policy(struct request *r)
{
	struct buf b = { 0 };
	html_policy(&b);
	buf_adds(&b, "; frame-ancestors 'self'; sandbox allow-scripts allow-downloads");
	const char *policy = arena_dup(&r->arena, b.data, b.len);
	buf_done(&b);
	return policy;
}

const char *answer_note(struct request *r, char *const *notes)
{
	struct buf b = { 0 };
	for (; *notes; notes++) {
		buf_adds(&b, b.len ? ". " : "");
		for (const char *s = *notes; *s; s++)
			buf_addc(&b, *s >= ' ' && *s <= '~' ? *s : '?');
	}
	const char *note = b.len ? arena_dup(&r->arena, b.data, b.len) : NULL;
	buf_done(&b);
	return note;
}

int answer_open(struct out *out, struct err *err)
{
	*out = (struct out){ .fd = memfd_create("cresset response", MFD_CLOEXEC) };
	return out->fd < 0 ? err_set(err, errno, "no memory for a response: %s", strerror(errno))
			   : 0;
}

void answer_close(struct request *r, const char *type, struct out *out, int rc, struct err *err)
{
	int fd = out->fd;
	if (rc == 0)
		rc = out_flush(out, err);
	out_abort(out); /* leaves fd open: it has no path */
	if (rc == 0) {
		reply_fd(r, type, fd);
		return;
	}
	close(fd);
	reply_failure(r, err);
}
