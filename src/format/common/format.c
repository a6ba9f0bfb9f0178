/* Code shared by the formats: choice of the type, units and suffixes. */
#include "format/common/format.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/vec.h"
#include "profile/profile.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

int format_pick_type(const struct profile *p, const char *want, uint32_t *type, struct err *err)
{
	uint32_t picked = profile_pick_type(p, want);
	if (picked != UINT32_MAX) {
		*type = picked;
		return 0;
	}
	if (p->series.types.n == 0)
		return err_set(err, ENOENT, "the profile has no samples of any type");
	enum { SHOWN = 16, NAME = 64 };
	struct buf types = { 0 };
	for (size_t i = 0; i < p->series.types.n && i < SHOWN; i++) {
		uint32_t name = p->series.types.v[i].sample_type;
		buf_adds(&types, i ? ", " : "");
		esc_term(&types, profile_str(p, name), strtab_len(&p->strings, name), NAME);
	}
	err_set(err, ENOENT, "the profile has no type \"%s\"", want);
	int rc = err_hint(err, "it has: %s", buf_cstr(&types));
	buf_done(&types);
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

void format_counters_done(struct format_counters *c)
{
	for (size_t i = 0; i < c->all.n; i++) {
		free(c->all.v[i].track);
		free(c->all.v[i].name);
		vec_done(&c->all.v[i].points);
	}
	vec_done(&c->all);
}
