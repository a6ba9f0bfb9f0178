/* The table of all formats, in the order of detection. */
#include "format/formats.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/input.h"
#include "base/str.h"
#include "format/bpftrace/bpftrace.h"
#include "format/callgrind/callgrind.h"
#include "format/firefox/firefox.h"
#include "format/folded/folded.h"
#include "format/gperftools/gperftools.h"
#include "format/heaptrack/heaptrack.h"
#include "format/html/html.h"
#include "format/otlp/otlp.h"
#include "format/perf_data/perf_data.h"
#include "format/perf_script/perf_script.h"
#include "format/picture/svg.h"
#include "format/pprof/pprof.h"
#include "format/python/python.h"
#include "format/recording/cresset.h"
#include "format/refused/refused.h"
#include "format/speedscope/speedscope.h"
#include "format/sysprof/sysprof.h"
#include "format/table/table.h"
#include "format/trace/chrome_trace.h"
#include "format/v8/v8.h"
#include "format/valgrind/valgrind.h"
#include "profile/sink.h"

#include <errno.h>
#include <string.h>

/* Detection tries in this order: formats whose first bytes are unmistakable first, plain text
 * last. */
const struct format *const formats[] = {
	&format_cresset,       &format_perf_data,    &format_python_binary,
	&format_austin_binary, &format_sysprof,      &format_callgrind,
	&format_otlp,          &format_pprof,        &format_speedscope,
	&format_chrome_trace,  &format_cpuprofile,   &format_heapprofile,
	&format_gperf_cpu,     &format_gperf_text,   &format_heaptrack,
	&format_bpftrace,      &format_massif,       &format_dhat,
	&format_firefox,       &format_python_jsonl, &format_python_text,
	&format_perf_script,   &format_folded,       &format_uftrace,
	&format_svg,           &format_html,         &format_text,
	&format_json,          &format_csv,          NULL,
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

/* Returns the format that the bytes may be of, or NULL. */
static const struct format *format_maybe(const char *head, size_t len)
{
	for (const struct format *const *f = formats; *f; f++)
		if ((*f)->read && (*f)->detect_maybe && (*f)->detect_maybe(head, len))
			return *f;
	return NULL;
}

static int format_unknown(struct input *in, size_t len, const struct format *maybe, struct err *err)
{
	struct buf names = { 0 };
	for (const struct format *const *f = formats; *f; f++)
		if ((*f)->read)
			buf_addf(&names, "%s%s", names.len ? ", " : "", (*f)->name);
	err_set(err, EBADMSG, len ? "%s is not in a known format" : "%s is empty", input_name(in));
	int rc = maybe ? err_hint(err, "if it is %s, --from %s reads it", maybe->summary,
				  maybe->name)
		       : err_hint(err, "can be read: %s", buf_cstr(&names));
	buf_done(&names);
	return rc;
}

/* Whether a file's name has one of these endings, compressed or not. */
static bool format_has_ending(const char *name, const char *const *endings)
{
	static const char *const compressed[] = { "", ".gz", ".zst", ".xz" };
	struct buf ending = { 0 };
	bool has = false;
	for (; !has && *endings; endings++) {
		for (size_t i = 0; i < sizeof compressed / sizeof *compressed; i++) {
			buf_clear(&ending);
			buf_addf(&ending, "%s%s", *endings, compressed[i]);
			has |= str_ends(name, buf_cstr(&ending));
		}
	}
	buf_done(&ending);
	return has;
}

static int format_detect(struct input *in, const struct format **out, struct err *err)
{
	const char *head;
	size_t len;
	int rc = input_peek(in, &head, &len, err);
	if (rc)
		return rc;
	const struct refused *refused = refused_find(head, len);
	if (refused) {
		err_set(err, EBADMSG, "%s is not in a known format: it is %s", input_name(in),
			refused->name);
		return err_hint(err, "%s", refused->hint);
	}
	for (const struct format *const *f = formats; *f; f++) {
		if ((*f)->read && (*f)->detect && (*f)->detect(head, len)) {
			*out = *f;
			return 0;
		}
	}
	const struct format *maybe = format_maybe(head, len);
	if (!maybe || !format_has_ending(input_name(in), maybe->own_endings))
		return format_unknown(in, len, maybe, err);
	*out = maybe;
	return 0;
}

int format_read_file(const char *path, const struct format *as, struct sink *sink, struct err *err)
{
	return format_read_file_here(path, as, sink, NULL, NULL, err);
}

/* Called for each piece of a file, so that memory is bounded for all formats in one place. */
static int format_has_room(void *sink, const char *name, struct err *err)
{
	const struct sink *s = sink;
	if (s->ops->kept_bytes(s) <= FORMAT_MAX_KEPT_BYTES)
		return 0;
	return err_set(err, EFBIG,
		       "%s: more than %llu GiB of different strings, frames, stacks and labels",
		       name, FORMAT_MAX_KEPT_BYTES >> 30);
}

static int format_is_uftrace(const char *path, struct err *err)
{
	err_set(err, EISDIR, "%s is a directory of uftrace", path);
	return err_hint(err, "uftrace dump -d %s --chrome >OUT.json writes a file that can be read",
			path);
}

int format_read_file_here(const char *path, const struct format *as, struct sink *sink,
			  const struct format_here *here, const struct format **used,
			  struct err *err)
{
	struct input *in;
	int rc = input_open(path, &in, err);
	if (rc == -EISDIR && refused_is_uftrace(path))
		return format_is_uftrace(path, err);
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
