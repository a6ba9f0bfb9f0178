/* doctor PID: prints the mapped files of a process, with the sources of their symbols and unwind
 * tables. */
#include "cmd/doctor/doctor.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "base/str.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/term.h"
#include "cmd/files/names_env.h"
#include "collect/inspect/inspect.h"
#include "collect/process/elf_names.h"
#include "collect/process/thread_context.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { TEXT_MAX = 1024 };

/* OK: names and unwinding are complete; limited: a part of them; missing: nothing. */
static enum check_state state_of(const struct inspected *o)
{
	if (o->open_errno || !o->names_from)
		return CHECK_MISSING;
	bool walkable = o->frames_from || o->is_go, is_vdso = o->path[0] == '[';
	bool named = is_vdso || !remedy_is_wanted(o->names_from); /* the vDSO needs no others */
	return walkable && named ? CHECK_OK : CHECK_LIMITED;
}

/* How a run-time system gets names and whole stacks for its code: a command for the running
 * process, or options for its next start. It is recognized by a file that it maps. */
static const struct jit_advice {
	const char *file;            /* how the file's name begins */
	const char *before, *behind; /* the process id comes between, if there is `behind` */
} jit_advice[] = {
	{ "libjvm.so", "now: jcmd ",
	  " Compiler.perfmap; whole stacks need java -XX:+PreserveFramePointer" },
	{ "beam.smp", "start it with erl +JPperf true: names, and frame pointers", NULL },
	{ "node", "start it with node --perf-basic-prof --interpreted-frames-native-stack", NULL },
	{ "libnode.so", "start it with node --perf-basic-prof --interpreted-frames-native-stack",
	  NULL },
	{ "libcoreclr.so", "start it with DOTNET_PerfMapEnabled=1", NULL },
	{ "php", "start it with -d opcache.jit_debug=0x10", NULL },
	{ "libphp", "start it with -d opcache.jit_debug=0x10", NULL },
	{ "ruby", "start it with ruby --yjit-perf", NULL },
	{ "libruby", "start it with ruby --yjit-perf", NULL },
};
static const struct jit_advice any_jit_advice = { NULL, "start it so that it writes one, if it can",
						  NULL };

static const struct jit_advice *jit_advice_for(const struct inspection *in)
{
	for (size_t i = 0; i < in->files.n; i++) {
		const char *slash = strrchr(in->files.v[i].path, '/');
		const char *name = slash ? slash + 1 : in->files.v[i].path;

		for (size_t k = 0; k < sizeof jit_advice / sizeof *jit_advice; k++)
			if (strncmp(name, jit_advice[k].file, strlen(jit_advice[k].file)) == 0)
				return &jit_advice[k];
	}
	return &any_jit_advice;
}

static void add_jit_remedy(struct buf *b, uint32_t pid, const struct inspection *in)
{
	const struct jit_advice *a = jit_advice_for(in);

	buf_adds(b, a->before);
	if (a->behind)
		buf_addf(b, "%" PRIu32 "%s", pid, a->behind);
}

/* --- text ------------------------------------------------------------------------------------- */

static void add_text(struct buf *b, const char *s)
{
	esc_term(b, s, strlen(s), TEXT_MAX);
}

static void add_field(struct buf *b, const char *name)
{
	buf_addf(b, "\n     %-9s", name);
}

static void add_hex(struct buf *b, const struct inspected *o)
{
	for (int i = 0; i < o->build_id_len; i++)
		buf_addf(b, "%02x", o->build_id[i]);
}

static void add_names(struct buf *b, const struct inspected *o)
{
	add_field(b, "names");
	if (!o->names_from) {
		buf_adds(b, "none");
		return;
	}
	buf_addf(b, "%s: ", o->names_from);
	fmt_count(b, o->functions);
	buf_adds(b, " functions");
	if (o->debug_file) {
		buf_adds(b, " in ");
		add_text(b, o->debug_file);
	}
}

static void add_frames(struct buf *b, const struct inspected *o)
{
	add_field(b, "stacks");
	if (!o->frames_from) {
		buf_adds(b, o->is_go ? "frame pointers, as in all Go programs"
				     : "frame pointers only, if it has any");
		return;
	}
	buf_addf(b, "%s: ", o->frames_from);
	fmt_count(b, o->frame_rows);
	buf_adds(b, " rows");
}

static void add_file(struct buf *b, const struct term *term, const struct inspected *o)
{
	buf_addc(b, ' ');
	term_check(b, term, state_of(o));
	buf_addc(b, ' ');
	add_text(b, o->path);
	buf_adds(b, o->is_deleted ? " (deleted, or replaced by another one)" : "");
	if (o->open_errno) {
		buf_addf(b, "\n     cannot be opened: %s\n", strerror(o->open_errno));
		return;
	}
	add_field(b, "build id");
	add_hex(b, o);
	buf_adds(b, o->build_id_len ? "" : "none: its symbols are not cached between recordings");
	add_names(b, o);
	add_frames(b, o);
	if (*o->remedy.text) {
		add_field(b, "better");
		add_text(b, o->remedy.text);
	}
	buf_addc(b, '\n');
}

/* The runtime that makes code at run time and needs no map; NULL: no such runtime. */
static const struct inspected_runtime *runtime_of_jit(const struct inspection *in)
{
	for (size_t i = 0; i < in->runtimes.all.n; i++)
		if (in->runtimes.all.v[i].is_code && in->runtimes.all.v[i].is_read)
			return &in->runtimes.all.v[i];
	return NULL;
}

static bool is_jit_named(const struct inspection *in)
{
	return !in->jit_bytes || in->has_perf_map || runtime_of_jit(in);
}

static void add_jit(struct buf *b, const struct term *term, uint32_t pid,
		    const struct inspection *in)
{
	const struct inspected_runtime *runtime = runtime_of_jit(in);

	if (!in->jit_bytes)
		return;
	buf_addc(b, ' ');
	term_check(b, term, is_jit_named(in) ? CHECK_OK : CHECK_LIMITED);
	buf_adds(b, " generated code, ");
	fmt_bytes(b, in->jit_bytes);
	add_field(b, "names");
	if (runtime && !in->has_perf_map)
		buf_addf(b, "by %s, in its memory", runtime->name);
	else
		buf_addf(b, "%s%s", in->has_perf_map ? "" : "no ", in->perf_map);
	if (!is_jit_named(in)) {
		add_field(b, "better");
		add_jit_remedy(b, pid, in);
	}
	buf_addc(b, '\n');
}

/* --- interpreters ----------------------------------------------------------------------------- */

static enum check_state runtime_state(const struct inspected_runtime *r)
{
	uint64_t all = r->is_code ? r->methods - r->gone : r->frames;

	return !r->is_read                    ? CHECK_MISSING
	       : r->named + r->left_out < all ? CHECK_LIMITED
					      : CHECK_OK;
}

static void add_runtime(struct buf *b, const struct term *term, const struct inspected_runtime *r)
{
	buf_addc(b, ' ');
	term_check(b, term, runtime_state(r));
	buf_addf(b, " functions in %s", r->language);
	add_field(b, "by");
	for (const char *line = r->said, *end; *line; line = end + !!*end) {
		end = strchrnul(line, '\n');
		if (line != r->said)
			buf_adds(b, "\n              ");
		esc_term(b, line, end - line, TEXT_MAX);
	}
	add_field(b, "frames");
	if (r->threads) {
		fmt_count(b, r->frames - r->left_out);
		buf_addf(b, " in %" PRIu64 " %s at this moment, ", r->threads,
			 r->threads == 1 ? "thread" : "threads");
		fmt_count(b, r->named);
		buf_adds(b, " with names");
	} else {
		buf_adds(b, r->is_code ? "where a sample meets them" : "native ones only");
	}
	if (r->methods) {
		add_field(b, "code");
		fmt_count(b, r->methods);
		buf_adds(b, " compiled methods at this moment, ");
		fmt_count(b, r->named);
		buf_adds(b, " with names");
		if (r->gone)
			buf_addf(b, ", %" PRIu64 " gone since", r->gone);
	}
	buf_addc(b, '\n');
}

/* --- */

static bool has_spans(const struct inspected_context *c)
{
	return c->variable_in && !c->variable_errno && process_context_has_threads(&c->says);
}

static const char *variable_words(const struct inspected_context *c)
{
	return c->variable_errno == EAGAIN       ? "not placed by the dynamic linker yet"
	       : c->variable_errno               ? "placed in an unsupported way"
	       : c->recipe.place == TRACE_STATIC ? "in the static block"
						 : "in a block of its library's";
}

static void add_threads(struct buf *b, const struct inspected_context *c)
{
	add_field(b, "traces");
	if (*c->says.threads) {
		add_text(b, c->says.threads);
		buf_adds(b, process_context_has_threads(&c->says) ? "" : " (not supported)");
	} else {
		buf_adds(b, "the process does not publish the spans of its threads");
	}
	if (!c->variable_in)
		return;
	buf_adds(b, ", " THREAD_CONTEXT_VARIABLE " of ");
	add_text(b, c->variable_in);
	buf_addf(b, ": %s", variable_words(c));
}

/* What the process publishes about itself: its service, and the spans that its threads work on. */
static void add_context(struct buf *b, const struct term *term, const struct inspected_context *c)
{
	if (!c->is_there && !c->variable_in) {
		buf_adds(b, " no OpenTelemetry process context: no service, and no trace spans\n");
		return;
	}
	buf_addc(b, ' ');
	term_check(b, term, has_spans(c) ? CHECK_OK : CHECK_LIMITED);
	buf_adds(b, " context of OpenTelemetry");
	add_field(b, "service");
	if (!c->is_there)
		buf_adds(b, "no process context is published");
	else if (c->read_errno)
		buf_addf(b, "cannot be read: %s", strerror(c->read_errno));
	else
		add_text(b, *c->says.name ? c->says.name : "without a name");
	if (*c->says.version) {
		buf_addc(b, ' ');
		add_text(b, c->says.version);
	}
	add_threads(b, c);
	buf_addc(b, '\n');
}

static void add_memory(struct buf *b, const struct term *term, uint32_t pid)
{
	struct doctor_memory m;

	doctor_memory_find(pid, &m);
	doctor_memory_text(b, term, &m);
}

static void add_process(struct buf *b, const struct term *term, uint32_t pid,
			const struct inspection *in)
{
	term_paint(b, term->color_out, PAINT_BOLD, "process ");
	buf_addf(b, "%u ", pid);
	add_text(b, in->comm);
	buf_adds(b, in->is_32bit ? ", 32 bits: its stacks are not walked\n" : "\n");
	for (size_t i = 0; i < in->files.n; i++)
		add_file(b, term, &in->files.v[i]);
	add_jit(b, term, pid, in);
	for (size_t i = 0; i < in->runtimes.all.n; i++)
		add_runtime(b, term, &in->runtimes.all.v[i]);
	if (in->files.n || in->jit_bytes) {
		add_memory(b, term, pid);
		add_context(b, term, &in->context);
	} else
		buf_adds(b, " no code: a kernel thread, or a process that is exiting\n");
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_file(struct json *j, const struct inspected *o)
{
	struct buf id = { 0 };
	add_hex(&id, o);
	json_obj(j);
	json_key_text(j, "path", o->path);
	json_key_bool(j, "deleted", o->is_deleted);
	json_key_text(j, "state", check_word(state_of(o)));
	json_key_text(j, "build_id", buf_cstr(&id));
	json_key_text(j, "names_from", o->names_from);
	json_key_u64(j, "functions", o->functions);
	json_key_text(j, "debug_file", o->debug_file);
	json_key_bool(j, "go", o->is_go);
	json_key_text(j, "frames_from", o->frames_from);
	json_key_u64(j, "frame_rows", o->frame_rows);
	json_key_text(j, "error", o->open_errno ? strerror(o->open_errno) : NULL);
	json_key_text(j, "remedy", o->remedy.text);
	json_end(j);
	buf_done(&id);
}

static void json_runtime(struct json *j, const struct inspected_runtime *r)
{
	json_obj(j);
	json_key_text(j, "name", r->name);
	json_key_text(j, "language", r->language);
	json_key_text(j, "state", check_word(runtime_state(r)));
	json_key_text(j, "by", r->said);
	json_key_u64(j, "threads", r->threads);
	json_key_u64(j, "frames", r->frames - r->left_out);
	json_key_u64(j, "methods", r->methods);
	json_key_u64(j, "named", r->named);
	json_key_u64(j, "gone", r->gone);
	json_end(j);
}

static void json_context(struct json *j, const struct inspected_context *c)
{
	json_obj(j);
	json_key_bool(j, "published", c->is_there);
	json_key_text(j, "service", c->says.name);
	json_key_text(j, "version", c->says.version);
	json_key_text(j, "threads", c->says.threads);
	json_key_text(j, "variable_in", c->variable_in);
	json_key_bool(j, "spans", has_spans(c));
	json_key_text(j, "error", c->read_errno ? strerror(c->read_errno) : NULL);
	json_end(j);
}

static void add_json(struct buf *b, uint32_t pid, const struct inspection *in)
{
	struct json j = json_to(b);
	struct buf remedy = { 0 };
	struct doctor_memory memory;

	if (!is_jit_named(in))
		add_jit_remedy(&remedy, pid, in);
	json_obj(&j);
	json_key_u64(&j, "pid", pid);
	json_key_text(&j, "comm", in->comm);
	json_key_u64(&j, "bits", in->is_32bit ? 32 : 64);
	json_key(&j, "files");
	json_arr(&j);
	for (size_t i = 0; i < in->files.n; i++)
		json_file(&j, &in->files.v[i]);
	json_end(&j);
	json_key(&j, "jit");
	json_obj(&j);
	json_key_u64(&j, "bytes", in->jit_bytes);
	json_key_text(&j, "perf_map", in->has_perf_map ? in->perf_map : NULL);
	json_key_text(&j, "remedy", remedy.len ? buf_cstr(&remedy) : NULL);
	buf_done(&remedy);
	json_end(&j);
	json_key(&j, "runtimes");
	json_arr(&j);
	for (size_t i = 0; i < in->runtimes.all.n; i++)
		json_runtime(&j, &in->runtimes.all.v[i]);
	json_end(&j);
	json_key(&j, "memory");
	doctor_memory_find(pid, &memory);
	doctor_memory_json(&j, &memory);
	json_key(&j, "context");
	json_context(&j, &in->context);
	json_end(&j);
	buf_addc(b, '\n');
}

/* --- */

static int status_of(int rc)
{
	return rc == -ESRCH ? CMD_NO_TARGET : rc == -EACCES ? CMD_PERMISSION : CMD_FAILED;
}

int doctor_pid(struct cmd_line *line, const char *pid)
{
	struct name_files_opts opts;
	struct name_files files;
	struct name_failures failures;
	struct inspection in;
	struct err err = { 0 };
	struct buf b = { 0 };
	uint64_t id;
	if (parse_u64(pid, &id) < 0 || id == 0 || id > INT32_MAX)
		return cmd_usage(line, "'%s' is not a process id", pid);
	names_env(&line->arena, &opts);
	name_files_open(&files, &opts);
	int rc = inspect_process(id, &files, opts.debuginfod.urls, &in, &err);
	name_files_failures(&files, &failures);
	name_files_close(&files);
	names_say_failures(&failures);
	if (rc < 0)
		return cmd_fail(status_of(rc), &err);
	if (line->globals.json) {
		add_json(&b, id, &in);
	} else {
		add_process(&b, &line->term, id, &in);
		term_fit(&line->term, &b);
	}
	int status = cmd_print(&b);
	inspection_done(&in);
	return status;
}
