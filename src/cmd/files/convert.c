/* cresset convert: converts any profile format to any other. */
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cli/cmd.h"
#include "cmd/files/data_dir.h"
#include "cmd/files/filter.h"
#include "cmd/files/load.h"
#include "cmd/files/outputs.h"
#include "format/common/value.h"
#include "profile/change/signed.h"
#include "profile/profile.h"
#include "profile/weight.h"

#include <inttypes.h>

struct convert_opts {
	struct filter_opts filter;
	struct str_list outputs;
	const char *format;
	struct import_opts import;
	struct text_opts text;
};

#define OUTPUT(member) .group = "Output", .offset = offsetof(struct convert_opts, member)
#define IMPORT(member) \
	.group = "Into a store", .offset = offsetof(struct convert_opts, import.member)
static const struct cmd_opt convert_options[] = {
	{ "o", "output", "FILE", "output file, format from its ending; - = stdout; repeatable",
	  OPT_STRINGS, OUTPUT(outputs), .basic = true },
	{ NULL, "to", "FORMAT", "output format (default: from the file name ending)", OPT_STRING,
	  OUTPUT(format), .basic = true },
	{ NULL, "format", "FORMAT", "same as --to", OPT_STRING, OUTPUT(format) },
	{ NULL, "data", "DIR",
	  "store directory to import into, instead of -o; FILE may be a directory", OPT_STRING,
	  IMPORT(data), .basic = true },
	DATA_DIR_FORCE("data-force", "Into a store",
		       offsetof(struct convert_opts, import.data_force)),
	{ NULL, "label", "K=V", "label added to all imported data; repeatable", OPT_STRINGS,
	  IMPORT(labels) },
	{ NULL, "at", "T", "recording time of files without a timestamp", OPT_STRING, IMPORT(at) },
	TEXT_OPTIONS(convert_opts),
	FILTER_OPTIONS(convert_opts),
	{ 0 },
};

/* Whether the format shows GPU activity next to the threads: at least two types. */
static bool shows_more(const struct format *f, const struct profile *p)
{
	return f->has_counters && profile_pick_type(p, "gpu-time") != UINT32_MAX;
}

/* Prints the note once, however many outputs hold only one type. */
static void note_types(const struct outputs *outputs, const struct profile *p)
{
	for (size_t i = 0; i < outputs->n; i++) {
		if (!outputs->v[i].format->one_type || shows_more(outputs->v[i].format, p))
			continue;
		note_other_types(p, profile_pick_type(p, NULL));
		return;
	}
}

/* Says what is below zero, and which formats cannot hold it. */
static void note_negative(const struct outputs *outputs, const struct profile *p)
{
	uint32_t type = profile_pick_type(p, NULL);
	struct signed_part part = { 0 };
	struct buf sum = { 0 };
	if (type != UINT32_MAX)
		part = signed_part_of(p, type);
	if (!part.n)
		return;
	const struct type *t = &p->series.types.v[type];
	value_fmt(&sum, part.sum, value_scale_of(p, type, NULL).unit);
	log_info("a difference: %" PRIu64 " of %" PRIu64 " values of %s are below zero, %s in all",
		 part.n, part.n_all, profile_str(p, t->name), buf_cstr(&sum));
	for (size_t i = 0; i < outputs->n; i++)
		if (outputs->v[i].format->no_negative)
			log_warn("%s: dropped, because %s has no values below zero",
				 outputs->v[i].path, outputs->v[i].format->name);
	buf_done(&sum);
}

static int write_outputs(struct cmd_line *line, const struct convert_opts *o,
			 struct outputs *outputs, struct profile *p)
{
	struct format_write_opts write = text_write_opts(&o->text);
	struct err err = { 0 };
	filter_default_by(&o->filter, p, &write.tree);
	note_types(outputs, p);
	note_negative(outputs, p);
	if (!p->samples.n)
		log_info("no samples to write");
	if (outputs_open(line, outputs, &err) < 0)
		return cmd_fail(CMD_NO_OUTPUT, &err);
	return outputs_finish(outputs, p, &write);
}

/* A store retains everything: queries select parts of it. */
static int convert_import(struct cmd_line *line, const struct convert_opts *o)
{
	const struct filter_opts *f = &o->filter;
	struct import_opts import = o->import;
	if (o->outputs.n || o->format)
		return cmd_usage(line, "choose one of -o and --data");
	if (f->type || f->match || f->time || f->focus || f->ignore || f->hide || f->by.n ||
	    f->no_kernel || f->no_user)
		return cmd_usage(line, "--data takes whole files, without filters");
	import.from = f->from;
	return import_files(line, &import);
}

static int convert_run(struct cmd_line *line, const void *opts)
{
	const struct convert_opts *o = opts;
	if (o->import.data)
		return convert_import(line, o);
	if (o->import.at || o->import.labels.n)
		return cmd_usage(line, "--at and --label go with --data");
	struct outputs outputs = { 0 };
	struct profile *p = NULL;
	if (!o->outputs.n)
		return cmd_usage(line, "-o FILE is missing");
	int status = outputs_finalize(line, &o->outputs, o->format, &outputs);
	outputs.prune = !o->filter.all_frames;
	const struct load_opts load = { .from = o->filter.from, .all_frames = true };
	if (status == CMD_OK)
		status = load_profiles(line, &load, &p);
	if (status == CMD_OK)
		status = filter_profile(line, &o->filter, &p);
	if (status == CMD_OK)
		status = write_outputs(line, o, &outputs, p);
	outputs_abort(&outputs);
	profile_free(p);
	return status;
}

const struct cmd cmd_convert = {
	.name = "convert",
	.summary = "any profile format to any other",
	.usage = "FILE... -o OUT|--data DIR [OPTIONS]",
	.about = "Reads profiles of all supported formats, detected from their content, merges "
		"them and writes the samples that pass the filters; types and labels stay "
		"separate. cresset help formats lists the data that each format loses. A format "
		"with one type only gets --type, else the default one; the others are listed on "
		"standard error.\n"
		 "With --data the files, and all files of directories in the order of their "
		 "names, are imported into a store; a file that is imported again adds nothing. "
		 "A file without a timestamp takes it from its name, in UTC "
		 "(2026-11-21T10:15:00Z, 20261121-101500, Unix time), or from --at. Unreadable "
		 "files are listed and skipped, and the exit status is 6.",
	.examples = {
		"cresset convert cpu.cresset -o cpu.pb.gz\tfor pprof",
		"cresset convert a.pb.gz b.pb.gz -o all.cresset\tboth, merged",
		"cresset convert cpu.cresset -o - --to folded --focus read\tonly a part",
	},
	.options = convert_options,
	.opts_size = sizeof(struct convert_opts),
	.min_args = 1,
	.max_args = UINT32_MAX,
	.arg_name = "FILE",
	.run = convert_run,
};
