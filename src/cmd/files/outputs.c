/* Opens the output files, writes a profile to each in its format, and prints a line for each. */
#include "cmd/files/outputs.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/interrupt.h"
#include "cmd/files/load.h"
#include "format/formats.h"
#include "format/recording/cresset.h"
#include "profile/profile.h"
#include "profile/sum.h"
#include "query/gpu/gpu_beside.h"
#include "store/recording/recording.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

/* --- sums of samples ---
 *
 * Samples that are no longer kept one by one are summed by series and stack. Memory grows with the
 * number of different pairs, not with time. */

static void sample_sums_add(struct sample_sums *s, const struct sample_columns *samples)
{
	for (size_t i = 0; i < samples->n; i++) {
		uint64_t key = (uint64_t)samples->series[i] << 32 | samples->stack[i];
		uint32_t at = map_intern(&s->index, key, s->all.n, NULL, NULL);

		if (at == s->all.n)
			vec_push(&s->all,
				 (struct sample_sum){ samples->series[i], samples->stack[i], 0 });
		s->all.v[at].value = sum_add(s->all.v[at].value, samples->value[i]);
	}
}

/* Adds the sums as samples without time, thread and CPU to the profile that their ids belong to. */
static void sample_sums_put(const struct sample_sums *s, struct profile *p)
{
	struct sink *sink = profile_sink(p);

	for (size_t i = 0; i < s->all.n; i++) {
		const struct sample sample = { .value = s->all.v[i].value,
					       .series = s->all.v[i].series,
					       .stack = s->all.v[i].stack,
					       .pid = SAMPLE_NO_ID,
					       .tid = SAMPLE_NO_ID,
					       .cpu = SAMPLE_NO_ID };
		sink->ops->sample(sink, &sample);
	}
}

static void sample_sums_done(struct sample_sums *s)
{
	map_done(&s->index);
	vec_done(&s->all);
}

enum { OUTPUTS_MAX = 16 };
_Static_assert(OUTPUTS_MAX + 2 <= INTERRUPT_FILES_MAX, "the recorder has three files");

enum unit { UNIT_DEFAULT, UNIT_SAMPLES, UNIT_NS, UNIT_US, UNIT_MS, UNIT_S };
const char *const unit_words[] = { "default", "samples", "ns", "us", "ms", "s", NULL };

/* In the order of enum annotate. */
const char *const annotate_words[] = { "k", "j", "i", "c", "o", "G", "g", NULL };

struct format_write_opts text_write_opts(const struct text_opts *o)
{
	struct format_write_opts w = { .min_width_px = 0.1, .beside = query_gpu_beside };
	for (int i = 0; i < o->annotate.n; i++)
		w.annotate |= 1u << o->annotate.v[i];
	if (o->unit != UNIT_DEFAULT)
		w.unit = unit_words[o->unit];
	return w;
}

static bool is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

/* --- names and formats ----------------------------------------------------------------------- */

/* cresset-YYYYMMDD-HHMMSS.cresset, in local time */
static const char *default_path(struct arena *a, const struct format *format)
{
	char stamp[32];
	time_t now = time(NULL);
	struct tm tm;
	localtime_r(&now, &tm);
	strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", &tm);
	const char *ending = format->endings && format->endings[0] ? format->endings[0] : "";
	char *path = xasprintf("cresset-%s%s", stamp, ending);
	const char *copy = arena_dup(a, path, strlen(path));
	free(path);
	return copy;
}

static int unknown_ending(const char *path)
{
	struct err err = { 0 };
	struct buf list = { 0 };
	/* The hint lists formats that can go to standard output, or the first ending of each
	 * format. */
	bool names = is_stdout(path);
	for (size_t i = 0; formats[i]; i++) {
		const char *const *endings = formats[i]->endings;
		const char *word = names ? formats[i]->name : endings ? endings[0] : NULL;
		if (formats[i]->write && word && !(names && formats[i] == &format_cresset))
			buf_addf(&list, "%s%s", list.len ? " " : "", word);
	}
	if (names)
		err_set(&err, EINVAL, "-o - needs --format");
	else
		err_set(&err, EINVAL, "unknown format: '%s' has no known file name ending", path);
	err_hint(&err, names ? "formats: %s" : "endings: %s; or use --format NAME",
		 buf_cstr(&list));
	buf_done(&list);
	return cmd_fail(CMD_USAGE, &err);
}

/* --format is for outputs whose ending names no format; if there is only one output, it is for that
 * one. */
static int settle_format(struct cmd_line *line, struct output *o, const struct format *named,
			 bool alone)
{
	const struct format *by_ending = format_by_ending(o->path);
	o->format = named && (alone || !by_ending) ? named : by_ending;
	if (!o->format || !o->format->write)
		return unknown_ending(o->path);
	if (o->format == &format_cresset && is_stdout(o->path))
		return cmd_usage(line, "a .cresset recording cannot go to standard output");
	return CMD_OK;
}

static bool is_repeated(const struct outputs *o, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(o->v[k].path, o->v[i].path) == 0)
			return true;
	return false;
}

int outputs_finalize(struct cmd_line *line, const struct str_list *paths, const char *format_name,
		     struct outputs *out)
{
	struct err err = { 0 };
	const struct format *named =
		format_name ? format_asked(format_name, FORMAT_WRITES, &err) : NULL;
	if (format_name && !named)
		return cmd_fail(CMD_USAGE, &err);
	if (paths->n > OUTPUTS_MAX)
		return cmd_usage(line, "more than %d outputs", OUTPUTS_MAX);
	out->n = paths->n ? paths->n : 1;
	out->v = arena_zalloc(&line->arena, out->n * sizeof *out->v);
	for (size_t i = 0; i < out->n; i++) {
		struct output *o = &out->v[i];
		o->path = paths->n ? paths->v[i]
				   : default_path(&line->arena, named ? named : &format_cresset);
		if (is_repeated(out, i))
			return cmd_usage(line, "the output %s is given twice", o->path);
		int status = settle_format(line, o, named, out->n == 1);
		if (status != CMD_OK)
			return status;
	}
	/* The recorder writes only one of them. */
	bool any = false;
	for (size_t i = 0; i < out->n; i++) {
		out->v[i].grows = !any && out->v[i].format == &format_cresset;
		any |= out->v[i].grows;
		out->need_samples |= !out->v[i].grows;
	}
	return CMD_OK;
}

bool outputs_use_stdout(const struct outputs *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (is_stdout(o->v[i].path))
			return true;
	return false;
}

/* --- files ----------------------------------------------------------------------------------- */

/* Tells the signal handler the name of an incomplete file. */
static void note_partial(struct arena *a, const char *path, const char *ending)
{
	char *tmp = xasprintf("%s.tmp%s", path, ending);
	interrupt_add_file(arena_dup(a, tmp, strlen(tmp)));
	free(tmp);
}

int outputs_open(struct cmd_line *line, struct outputs *o, struct err *err)
{
	for (size_t i = 0; i < o->n; i++) {
		struct output *one = &o->v[i];
		int rc = one->grows ? recorder_open(one->path, &o->recorder, err)
				    : out_open(&one->out, one->path, err);
		if (rc < 0)
			return rc;
		one->open = true;
		if (is_stdout(one->path))
			continue;
		note_partial(&line->arena, one->path, "");
		if (!one->grows)
			continue;
		note_partial(&line->arena, one->path, "-wal");
		note_partial(&line->arena, one->path, "-shm");
	}
	return 0;
}

/* --- samples moved out of memory ------------------------------------------------------------- */

/* Reads all samples back into p, if an output needs them. */
static int restore_samples(struct outputs *o, struct profile *p, struct err *err)
{
	int rc = o->need_samples && o->recorder ? recorder_restore_samples(o->recorder, p, err) : 0;
	if (o->need_samples && rc == 0)
		sample_sums_done(&o->sums);
	return rc;
}

/* Adds the sums of samples that are not read back. Nothing may be committed after this. */
static void put_sums(struct outputs *o, struct profile *p)
{
	sample_sums_put(&o->sums, p);
	sample_sums_done(&o->sums);
}

static void close_recorder(struct outputs *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].grows)
			o->v[i].open = false;
	recorder_abort(o->recorder);
	o->recorder = NULL;
}

int outputs_keep_up(struct outputs *o, struct profile *p, struct err *err)
{
	int rc = o->recorder ? 0 : recorder_open(NULL, &o->recorder, err);
	if (rc == 0)
		rc = recorder_commit(o->recorder, p, err);
	if (rc == 0) {
		sample_sums_add(&o->sums, &p->samples);
		recorder_drop_samples(o->recorder, p);
		return 0;
	}
	struct err other = { 0 };
	if (restore_samples(o, p, &other) < 0)
		log_warn("%s", other.text);
	put_sums(o, p);
	close_recorder(o);
	return rc;
}

/* --- the end --------------------------------------------------------------------------------- */

/* Adds the readings of p, if the format shows counters. */
static int write_format(struct output *o, struct profile *p, const struct format_write_opts *opts,
			double *min_width_px, struct err *err)
{
	struct format_counters counters = { 0 };
	struct format_write_opts own = *opts;
	if (o->format->has_counters) {
		gpu_counters_of_profile(p, &counters);
		own.counters = &counters;
	}
	int rc = format_write_fitting(o->format, p, &own, &o->out, min_width_px, err);
	format_counters_done(&counters);
	return rc;
}

static int write_one(struct output *o, struct profile *p, const struct format_write_opts *opts,
		     struct err *err)
{
	double min_width_px;
	int rc = write_format(o, p, opts, &min_width_px, err);
	if (rc == 0 && min_width_px > opts->min_width_px)
		log_info("%s: frames narrower than %g pixels are merged", o->path, min_width_px);
	if (rc == 0)
		rc = out_commit(&o->out, err);
	else
		out_abort(&o->out);
	return rc;
}

static int finish_recorder(struct outputs *o, const struct profile *p, struct err *err)
{
	int rc = recorder_finish(o->recorder, p, err);
	o->recorder = NULL;
	return rc;
}

static int finish_one(struct outputs *outputs, struct output *o, struct profile *p,
		      const struct format_write_opts *opts)
{
	struct err err = { 0 };
	struct stat st;
	int rc = o->grows ? finish_recorder(outputs, p, &err) : write_one(o, p, opts, &err);
	o->open = false;
	if (rc < 0)
		return cmd_fail(CMD_NO_OUTPUT, &err);
	o->written = true;
	if (!is_stdout(o->path) && stat(o->path, &st) == 0)
		o->size_bytes = st.st_size;
	return CMD_OK;
}

/* Returns false, with the error printed, if one of them was not written. */
static bool finish_some(struct outputs *o, struct profile *p, const struct format_write_opts *opts,
			bool all, bool keep_drop_frames)
{
	bool good = true;
	for (size_t i = 0; i < o->n; i++) {
		struct output *one = &o->v[i];
		if (one->open && (all || one->grows) &&
		    one->format->keeps_drop_frames == keep_drop_frames)
			good &= finish_one(o, one, p, opts) == CMD_OK;
	}
	return good;
}

/* For outputs whose readers would not know what to leave out. */
static void prune_rest(const struct outputs *o, struct profile *p)
{
	bool any = false;
	for (size_t i = 0; i < o->n; i++)
		any |= !o->v[i].format->keeps_drop_frames;
	if (!any)
		return;
	load_prune("input", p);
	if (p->meta.loss[LOSS_INPUT_PRUNED])
		log_info("%llu %s; %s", (unsigned long long)p->meta.loss[LOSS_INPUT_PRUNED],
			 loss_reasons[LOSS_INPUT_PRUNED].text,
			 loss_reasons[LOSS_INPUT_PRUNED].remedy);
}

int outputs_finish(struct outputs *o, struct profile *p, const struct format_write_opts *opts)
{
	struct err err = { 0 };
	int status = CMD_OK;
	bool all = restore_samples(o, p, &err) == 0;
	if (!all)
		status = cmd_fail(CMD_NO_OUTPUT, &err);
	if (!finish_some(o, p, opts, all, true))
		status = CMD_NO_OUTPUT;
	if (o->prune)
		prune_rest(o, p);
	if (!finish_some(o, p, opts, all, false))
		status = CMD_NO_OUTPUT;
	interrupt_forget_files();
	put_sums(o, p);
	return status;
}

void outputs_abort(struct outputs *o)
{
	close_recorder(o);
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].open)
			out_abort(&o->v[i].out);
	sample_sums_done(&o->sums);
}
