/* doctor --self: compares the program's files with their checksums, and loads the optional
 * libraries. */
#include "cmd/doctor/doctor.h"

#include "attach/attach_library.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/http_get.h"
#include "base/json/json.h"
#include "cmd/cli/installed.h"
#include "cmd/doctor/checksums.h"
#include "gpu/ring/version_note.h"
#include "server/mhd_late.h"
#include "symbol/symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SELF_CHECKS = 7 };

struct self {
	struct installed_dirs dirs;
	char list[INSTALLED_DIR_MAX + 16]; /* the list of checksums; "": none */
	struct checksums sums;
	bool verified;
	struct check checks[SELF_CHECKS];
	size_t n;
	enum cmd_status status; /* the highest of all checks */
};

static struct check *add(struct self *s, const char *name, enum check_state state, const char *fmt,
			 ...) __attribute__((format(printf, 4, 5)));
static struct check *add(struct self *s, const char *name, enum check_state state, const char *fmt,
			 ...)
{
	struct check *c = &s->checks[s->n++];
	va_list ap;

	*c = (struct check){ .name = name, .state = state };
	va_start(ap, fmt);
	vsnprintf(c->detail, sizeof c->detail, fmt, ap);
	va_end(ap);
	return c;
}

static void remedy(struct check *c, const char *text)
{
	snprintf(c->remedy, sizeof c->remedy, "%s", text);
}

static void end_with(struct self *s, enum cmd_status status)
{
	s->status = status > s->status ? status : s->status;
}

static enum cmd_status status_of(int code)
{
	return code == EACCES || code == EPERM ? CMD_PERMISSION : CMD_BAD_INPUT;
}

static const char again[] = "unpack the archive of this version again, or install its package "
			    "again";

/* --- files ------------------------------------------------------------------------------------ */

static const struct {
	const char *json, *text;
} file_states[] = {
	[CHECKSUM_SAME] = { "same", "same" },
	[CHECKSUM_CHANGED] = { "changed", "changed" },
	[CHECKSUM_MISSING] = { "missing", "missing" },
	[CHECKSUM_NOT_A_FILE] = { "not_a_file", "not a regular file" },
	[CHECKSUM_OUTSIDE] = { "outside", "not checked: its name leads out of the installation" },
	[CHECKSUM_NOT_READABLE] = { "not_readable", "not readable" },
};

static enum check_state state_of(const struct checksum_file *f)
{
	return f->state == CHECKSUM_SAME ? CHECK_OK : CHECK_MISSING;
}

/* Reads the first list there is. A package has its own below lib, so names lead to bin as well. */
static int verify(struct self *s, struct err *err)
{
	static const unsigned levels_up[] = { [INSTALLED_BESIDE] = 0, [INSTALLED_LIB] = 2 };
	int rc = -ENOENT;

	for (size_t i = 0; i < INSTALLED_PLACES && rc == -ENOENT; i++) {
		snprintf(s->list, sizeof s->list, "%s/%s", s->dirs.v[i], CHECKSUMS_NAME);
		rc = checksums_verify(s->dirs.v[i], levels_up[i], &s->sums, err);
	}
	if (rc == -ENOENT)
		s->list[0] = '\0';
	return rc;
}

static void say_no_list(struct self *s, int rc, const struct err *err)
{
	if (rc == -ENOENT) {
		struct check *c = add(s, "files", CHECK_LIMITED, "not compared: %s is missing",
				      CHECKSUMS_NAME);
		snprintf(c->remedy, sizeof c->remedy,
			 "archives and packages of releases have one; looked in\n%.110s\n%.110s",
			 s->dirs.v[INSTALLED_BESIDE], s->dirs.v[INSTALLED_LIB]);
		return;
	}
	remedy(add(s, "files", CHECK_MISSING, "not compared: %s", err->text), again);
	end_with(s, status_of(-rc));
}

static void say_bad_lines(struct self *s)
{
	const struct checksums *c = &s->sums;
	char more[48] = "";

	if (c->bad_lines > 1)
		snprintf(more, sizeof more, ", and %zu more,", c->bad_lines - 1);
	remedy(add(s, "files", CHECK_MISSING, "line %zu is not as sha256sum writes it%s in %s",
		   c->first_bad, more, s->list),
	       again);
	end_with(s, CMD_BAD_INPUT);
}

static void say_list(struct self *s)
{
	const struct checksums *c = &s->sums;

	for (size_t i = 0; i < c->files.n; i++)
		if (c->files.v[i].state != CHECKSUM_SAME)
			end_with(s, status_of(c->files.v[i].error));
	if (c->bad_lines) {
		say_bad_lines(s);
	} else if (!c->files.n) {
		remedy(add(s, "files", CHECK_MISSING, "%s names no file", s->list), again);
		end_with(s, CMD_BAD_INPUT);
	} else if (c->wrong) {
		remedy(add(s, "files", CHECK_MISSING, "%zu of %zu differ from %s", c->wrong,
			   c->files.n, s->list),
		       again);
	} else if (!c->has_program) {
		add(s, "files", CHECK_LIMITED, "%zu match %s, but not this program", c->files.n,
		    s->list);
	} else {
		add(s, "files", CHECK_OK, "%zu match %s", c->files.n, s->list);
		s->verified = true;
	}
}

static void say_files(struct self *s)
{
	struct err err = { 0 };
	int rc = verify(s, &err);

	if (rc < 0)
		say_no_list(s, rc, &err);
	else
		say_list(s);
}

/* --- libraries -------------------------------------------------------------------------------- */

/* Libraries that run in other programs. They share memory with this program, so both must have one
 * version. */
static const struct given_library {
	const struct gpu_attach_library *library;
	const char *without;
} given_libraries[] = {
	{ &cuda_attach_library, "missing: no GPU time of programs" },
	{ &mem_attach_library, "missing: no allocations of programs" },
};

/* The first place that has it, as for programs that get it. Returns the descriptor or -errno. */
static int open_given(const struct self *s, const char *name)
{
	int fd = -ENOENT;

	for (size_t i = 0; i < INSTALLED_PLACES && fd == -ENOENT; i++) {
		char path[INSTALLED_DIR_MAX + 64];
		snprintf(path, sizeof path, "%s/%s", s->dirs.v[i], name);
		fd = regular_file_open(AT_FDCWD, path);
		fd = fd == -ENOTDIR ? -ENOENT : fd;
	}
	return fd;
}

static void say_given(struct self *s, const struct given_library *g)
{
	char version[VERSION_NOTE_BYTES] = "";
	const char *name = g->library->name;
	int fd = open_given(s, name);

	if (fd == -ENOENT) {
		remedy(add(s, name, CHECK_LIMITED, "%s", g->without), again);
		return;
	}
	if (fd < 0) {
		add(s, name, CHECK_MISSING, "cannot be read: %s",
		    fd == -EINVAL ? "not a regular file" : strerror(-fd));
		end_with(s, status_of(-fd));
		return;
	}
	elf_note(fd, VERSION_NOTE_NAME, VERSION_NOTE_TYPE, version, sizeof version - 1);
	close(fd);
	if (strcmp(version, CRESSET_VERSION) == 0) {
		add(s, name, CHECK_OK, "%s", version);
		return;
	}
	remedy(*version ? add(s, name, CHECK_MISSING, "of version %s, but this program is of %s",
			      version, CRESSET_VERSION)
			: add(s, name, CHECK_MISSING,
			      "of unknown version, but this program is of %s", CRESSET_VERSION),
	       again);
	end_with(s, CMD_BAD_INPUT);
}

/* What is loaded by name when it is needed. */
static const struct late_library {
	const char *check;
	const char *names[2]; /* either will do */
	const char *without;  /* what does not work then, and what to do */
	enum check_state state;
	bool is_inside_releases;
} late_libraries[] = {
	{ "HTTP server",
	  { MHD_LIBRARY },
	  "without it up and serve do not start: install GNU libmicrohttpd, or use the program of "
	  "a release, which includes it",
	  CHECK_MISSING,
	  true },
	{ "TLS",
	  { GNUTLS_LIBRARY },
	  "without it serve does not start with --tls-cert: install GnuTLS, or let a proxy in "
	  "front of the server do TLS",
	  CHECK_LIMITED,
	  false },
	{ "HTTP client",
	  { HTTP_LIBRARIES },
	  "without it debuginfod, agent and query --server do not work: install libcurl",
	  CHECK_LIMITED,
	  false },
};

static void say_late_library(struct self *s, const struct late_library *l)
{
	const char *why = NULL;

	if (l->is_inside_releases && libraries_are_linked_in()) {
		add(s, l->check, CHECK_OK, "inside this program");
		return;
	}
	for (size_t i = 0; i < sizeof l->names / sizeof *l->names && l->names[i]; i++) {
		if (dlopen(l->names[i], RTLD_NOW | RTLD_LOCAL)) {
			add(s, l->check, CHECK_OK, "%s", l->names[i]);
			return;
		}
		why = dlerror();
	}
	remedy(add(s, l->check, l->state, "%s", why ? why : l->names[0]), l->without);
	end_with(s, l->state == CHECK_MISSING ? CMD_UNSUPPORTED : CMD_OK);
}

/* --- output ----------------------------------------------------------------------------------- */

static bool is_sound(const struct self *s)
{
	return s->status == CMD_OK;
}

static void add_files(struct buf *b, const struct term *term, const struct self *s, bool all)
{
	for (size_t i = 0; i < s->sums.files.n; i++) {
		const struct checksum_file *f = &s->sums.files.v[i];
		char detail[128];

		snprintf(detail, sizeof detail, "%s%s%s", file_states[f->state].text,
			 f->error ? ": " : "", f->error ? strerror(f->error) : "");
		if (all || f->state != CHECKSUM_SAME)
			check_row(b, term, state_of(f), f->name, detail);
	}
}

static void add_text(struct buf *b, const struct cmd_line *line, const struct self *s)
{
	const struct term *term = &line->term;

	checks_text(b, term, s->checks, s->n);
	add_files(b, term, s, line->globals.verbose);
	buf_addc(b, '\n');
	term_paint(b, term->color_out, PAINT_BOLD,
		   !is_sound(s) ? "something is wrong with this installation"
		   : s->verified
			   ? "this program and its files are as " CHECKSUMS_NAME " has them"
			   : "no errors found, but this program was not compared with its release");
	buf_addc(b, '\n');
	term_fit(term, b);
}

static void add_json(struct buf *b, const struct self *s)
{
	struct json j = json_to(b);
	struct buf id = { 0 };

	version_build_id(&id);
	json_obj(&j);
	json_key_str(&j, "version", CRESSET_VERSION);
	json_key_text(&j, "build_id", buf_cstr(&id));
	json_key_bool(&j, "sound", is_sound(s));
	json_key_bool(&j, "verified", s->verified);
	json_key_text(&j, "checksums", s->list);
	json_key(&j, "files");
	json_arr(&j);
	for (size_t i = 0; i < s->sums.files.n; i++) {
		const struct checksum_file *f = &s->sums.files.v[i];
		json_obj(&j);
		json_key_str(&j, "name", f->name);
		json_key_str(&j, "state", file_states[f->state].json);
		json_key_str(&j, "error", f->error ? strerror(f->error) : NULL);
		json_end(&j);
	}
	json_end(&j);
	checks_json(&j, s->checks, s->n);
	json_end(&j);
	buf_addc(b, '\n');
	buf_done(&id);
}

static void say_program(struct self *s)
{
	struct buf id = { 0 };

	version_build_id(&id);
	add(s, "program", CHECK_OK, "%s%s%s", CRESSET_VERSION, id.len ? ", build id " : "",
	    buf_cstr(&id));
	buf_done(&id);
}

int doctor_self(struct cmd_line *line)
{
	struct self self = { 0 };
	struct err err = { 0 };
	struct buf b = { 0 };

	if (installed_dirs(&self.dirs, &err) < 0)
		return cmd_fail(CMD_FAILED, &err);
	say_program(&self);
	for (size_t i = 0; i < sizeof given_libraries / sizeof *given_libraries; i++)
		say_given(&self, &given_libraries[i]);
	for (size_t i = 0; i < sizeof late_libraries / sizeof *late_libraries; i++)
		say_late_library(&self, &late_libraries[i]);
	say_files(&self);
	if (line->globals.json)
		add_json(&b, &self);
	else
		add_text(&b, line, &self);
	checksums_done(&self.sums);
	int status = cmd_print(&b);
	return status == CMD_OK ? (int)self.status : status;
}
