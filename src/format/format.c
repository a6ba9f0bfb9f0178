#include "format/format.h"

#include "base/str.h"
#include "format/callgrind.h"
#include "format/chrome_trace.h"
#include "format/cpuprofile.h"
#include "format/cresset.h"
#include "format/firefox.h"
#include "format/folded.h"
#include "format/html.h"
#include "format/otlp.h"
#include "format/perf_data.h"
#include "format/perf_script.h"
#include "format/pprof.h"
#include "format/speedscope.h"
#include "format/svg.h"
#include "format/table.h"

#include <errno.h>
#include <string.h>

/* Asked in this order when a file is read: what its first bytes tell for certain first, plain text
 * last. */
const struct format *const formats[] = {
	&format_cresset,
	&format_perf_data,
	&format_callgrind,
	&format_otlp,
	&format_pprof,
	&format_speedscope,
	&format_chrome_trace,
	&format_cpuprofile,
	&format_firefox,
	&format_perf_script,
	&format_folded,
	&format_svg,
	&format_html,
	&format_text,
	&format_json,
	&format_csv,
	NULL,
};

const struct format *format_by_name(const char *name)
{
	for (const struct format *const *f = formats; *f; f++)
		if (strcmp((*f)->name, name) == 0)
			return *f;
	return NULL;
}

const struct format *format_by_ending(const char *path)
{
	const struct format *best = NULL;
	size_t best_len = 0;
	for (const struct format *const *f = formats; *f; f++) {
		for (const char *const *e = (*f)->endings; e && *e; e++) {
			if (!str_ends(path, *e) || strlen(*e) <= best_len)
				continue;
			best = *f;
			best_len = strlen(*e);
		}
	}
	return best;
}

const char *format_suffix(enum frame_kind kind, unsigned annotate)
{
	static const char letters[] = "kjicoGg"; /* in the order of enum annotate */
	const char *suffix = frame_kinds[kind].suffix;
	const char *letter = *suffix ? strchr(letters, suffix[2]) : NULL;
	return letter && annotate & 1u << (letter - letters) ? suffix : "";
}

const char *format_state_suffix(enum thread_state state, unsigned annotate)
{
	if (state == STATE_ON_CPU && annotate & 1u << ANNOTATE_ON_CPU)
		return "_[c]";
	if (state == STATE_OFF_CPU && annotate & 1u << ANNOTATE_OFF_CPU)
		return "_[o]";
	return "";
}

unsigned format_annotate(unsigned annotate, const char *type_name)
{
	if (strcmp(type_name, "wall") == 0)
		annotate |= 1u << ANNOTATE_ON_CPU | 1u << ANNOTATE_OFF_CPU;
	return annotate;
}

static void format_list_types(const struct profile *p, struct buf *b)
{
	enum { SHOWN = 16, NAME = 64 };
	const struct series_table *t = &p->series;
	for (size_t i = 0; i < t->types.n && i < SHOWN; i++) {
		uint32_t name = t->types.v[i].sample_type;
		buf_adds(b, i ? ", " : "");
		esc_term(b, profile_str(p, name), strtab_len(&p->strings, name), NAME);
	}
}

int format_pick_type(const struct profile *p, const char *want, uint32_t *type, struct err *err)
{
	uint32_t picked = profile_pick_type(p, want);
	if (picked != UINT32_MAX) {
		*type = picked;
		return 0;
	}
	if (p->series.types.n == 0)
		return err_set(err, ENOENT, "the profile has no samples of any type");
	struct buf types = { 0 };
	format_list_types(p, &types);
	err_set(err, ENOENT, "the profile has no type \"%s\"", want);
	int rc = err_hint(err, "it has: %s", buf_cstr(&types));
	buf_done(&types);
	return rc;
}

static int format_unknown(struct input *in, size_t len, struct err *err)
{
	struct buf names = { 0 };
	for (const struct format *const *f = formats; *f; f++)
		if ((*f)->read)
			buf_addf(&names, "%s%s", names.len ? ", " : "", (*f)->name);
	err_set(err, EBADMSG, len ? "%s is in no format known here" : "%s is empty",
		input_name(in));
	int rc = err_hint(err, "can be read: %s", buf_cstr(&names));
	buf_done(&names);
	return rc;
}

static int format_detect(struct input *in, const struct format **out, struct err *err)
{
	const char *head;
	size_t len;
	int rc = input_peek(in, &head, &len, err);
	if (rc)
		return rc;
	for (const struct format *const *f = formats; *f; f++) {
		if ((*f)->read && (*f)->detect && (*f)->detect(head, len)) {
			*out = *f;
			return 0;
		}
	}
	return format_unknown(in, len, err);
}

int format_read_file(const char *path, const struct format *as, struct sink *sink, struct err *err)
{
	return format_read_file_here(path, as, sink, NULL, NULL, err);
}

/* Asked for each piece of a file, so that memory is bounded for all formats in one place. */
static int format_has_room(void *sink, const char *name, struct err *err)
{
	const struct sink *s = sink;
	if (s->ops->kept_bytes(s) <= FORMAT_MAX_KEPT_BYTES)
		return 0;
	return err_set(err, EFBIG,
		       "%s: more than %llu GiB of different strings, frames, stacks and labels",
		       name, FORMAT_MAX_KEPT_BYTES >> 30);
}

int format_read_file_here(const char *path, const struct format *as, struct sink *sink,
			  const struct format_here *here, const struct format **used,
			  struct err *err)
{
	struct input *in;
	int rc = input_open(path, &in, err);
	if (rc)
		return rc;
	input_watch(in, format_has_room, sink);
	if (!as)
		rc = format_detect(in, &as, err);
	if (rc == 0 && !as->read)
		rc = err_set(err, EINVAL, "%s: format %s can only be written", path, as->name);
	else if (rc == 0)
		rc = here && as->read_here ? as->read_here(in, sink, here, err)
					   : as->read(in, sink, err);
	if (rc == 0 && used)
		*used = as;
	input_close(in);
	return rc;
}

int format_write_fitting(const struct format *f, struct profile *p,
			 const struct format_write_opts *opts, struct out *out,
			 double *min_width_px, struct err *err)
{
	enum { WIDEST_PX = 64 };
	struct format_write_opts w = *opts;
	int rc = f->write(p, &w, out, err);
	while (rc == -E2BIG && w.min_width_px < WIDEST_PX) {
		w.min_width_px = w.min_width_px > 0 ? 2 * w.min_width_px : 0.1;
		rc = f->write(p, &w, out, err);
	}
	*min_width_px = w.min_width_px;
	return rc;
}

int format_write_file(const struct format *f, struct profile *p,
		      const struct format_write_opts *opts, const char *path, struct err *err)
{
	struct out out;
	if (!f->write)
		return err_set(err, EINVAL, "%s: format %s can only be read", path, f->name);
	int rc = out_open(&out, path, err);
	if (rc)
		return rc;
	rc = f->write(p, opts, &out, err);
	if (rc == 0)
		return out_commit(&out, err);
	out_abort(&out);
	return rc;
}
