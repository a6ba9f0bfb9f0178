/* Runs an attach, and prints its result. */
#include "cmd/attach/attach_cmd.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/fs.h"
#include "base/json/json.h"
#include "base/log.h"
#include "cmd/cli/installed.h"
#include "collect/inspect/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const attach_force_words[] = { "young", "no-library", "seccomp", "user-namespace",
					   NULL };
static const enum gpu_attach_refusal forced[] = { GPU_ATTACH_YOUNG, GPU_ATTACH_NO_LIBRARY,
						  GPU_ATTACH_SECCOMP, GPU_ATTACH_USER_NAMESPACE };

/* --- the library ------------------------------------------------------------------------------ */

/* A dry run needs only its name. */
static int read_library(struct gpu_attach_library *library, const struct attach_options *o,
			struct buf *image, struct err *err)
{
	const char *slash = o->library ? strrchr(o->library, '/') : NULL;

	if (o->library)
		library->name = slash ? slash + 1 : o->library;
	if (o->dry_run)
		return 0;
	if (o->library)
		return fs_read_at(AT_FDCWD, o->library, GPU_ATTACH_MAX_BYTES, image, err);
	char path[INSTALLED_PATH_MAX];
	int rc = installed_library(library->name, path, err);
	return rc ? rc : fs_read_at(AT_FDCWD, path, GPU_ATTACH_MAX_BYTES, image, err);
}

/* --- the result ------------------------------------------------------------------------------- */

static const char *verdict(const struct gpu_attach_report *r, bool dry_run, bool is_back)
{
	return is_back      ? "reattached"
	       : r->already ? "already"
	       : r->refusal ? "refused"
	       : dry_run    ? "possible"
	       : r->loaded  ? "loaded"
			    : "failed";
}

static void put_json(struct buf *b, uint32_t pid, const struct gpu_attach_report *r, bool dry_run,
		     bool is_back, const struct err *err)
{
	struct json j = json_to(b);

	json_obj(&j);
	json_key_u64(&j, "pid", pid);
	json_key_text(&j, "result", verdict(r, dry_run, is_back));
	json_key_text(&j, "refusal", r->refusal ? gpu_attach_refusal_words[r->refusal] : NULL);
	json_key_text(&j, "error", err->code ? err->text : NULL);
	json_key_u64(&j, "tid", r->tid);
	json_key_text(&j, "thread", r->tid ? r->thread : NULL);
	json_key_text(&j, "syscall", r->syscall);
	json_key_bool(&j, "at_entry", r->at_entry);
	json_key_bool(&j, "running", r->running);
	json_key_bool(&j, "restarted", r->restarted);
	json_key_bool(&j, "by_file", r->by_file);
	json_key_u64(&j, "stop_us", r->held_ns / 1000);
	json_key_u64(&j, "load_us", r->load_ns / 1000);
	json_key_u64(&j, "given_back", r->given_back);
	json_key_u64(&j, "rounds", r->rounds);
	json_key_u64(&j, "pages_left", r->pages_left);
	json_end(&j);
	buf_addc(b, '\n');
}

static void put_thread(struct buf *b, const struct gpu_attach_report *r)
{
	buf_addf(b, "thread %" PRIu32 " (", r->tid);
	esc_term(b, r->thread, strlen(r->thread), sizeof r->thread);
	buf_addf(b, ") in %s",
		 r->running   ? "its own code"
		 : r->syscall ? r->syscall
			      : "a system call");
}

static void put_text(struct buf *b, uint32_t pid, const struct gpu_attach_report *r, bool dry_run,
		     bool is_back, const struct attach_kind *kind)
{
	buf_addf(b, "process %" PRIu32 ": ", pid);
	if (is_back) {
		buf_adds(b, "the library was detached and is active again; nothing was stopped\n");
		return;
	}
	if (r->already) {
		buf_addf(b, "the library is already there; %s\n", kind->already);
		return;
	}
	if (dry_run) {
		buf_adds(b, "can be attached to: ");
		put_thread(b, r);
		buf_adds(b, " would be stopped; nothing was done\n");
		return;
	}
	buf_adds(b, "the library is loaded\n  stopped   ");
	put_thread(b, r);
	buf_addf(b,
		 ", for %" PRIu64
		 " us\n  restored  registers, vector registers, errno, signal mask%s\n",
		 r->held_ns / 1000, r->restarted ? "; its system call was restarted" : "");
	buf_addf(b, "  loaded    %" PRIu64 " us later, by a separate thread%s\n", r->load_ns / 1000,
		 r->by_file ? ", from /tmp of the process" : "");
	if (kind->next)
		buf_addf(b, "  samples   %s\n", kind->next);
}

int attach_cmd_status(int rc)
{
	switch (-rc) {
	case EACCES:
	case EPERM:
		return CMD_PERMISSION;
	case ENOENT:
	case ESRCH:
		return CMD_NO_TARGET;
	default:
		return CMD_FAILED;
	}
}

static int status_of(int rc, const struct gpu_attach_report *r)
{
	switch (r->refusal) {
	case GPU_ATTACH_NOT_REFUSED:
		return rc == 0             ? CMD_OK
		       : rc == -EBADMSG    ? CMD_BAD_INPUT
		       : rc == -EOPNOTSUPP ? CMD_UNSUPPORTED
					   : attach_cmd_status(rc);
	case GPU_ATTACH_GONE:
	case GPU_ATTACH_ZOMBIE:
		return CMD_NO_TARGET;
	case GPU_ATTACH_PERMISSION:
	case GPU_ATTACH_PTRACE_SCOPE:
	case GPU_ATTACH_LSM:
		return CMD_PERMISSION;
	default:
		return CMD_UNSUPPORTED;
	}
}

/* --- the command ------------------------------------------------------------------------------ */

static int attach_one(const struct cmd_line *line, uint32_t pid, const struct gpu_attach_opts *opts,
		      const struct attach_kind *kind)
{
	struct gpu_attach_report report;
	struct err err = { 0 };
	struct buf b = { 0 };
	bool is_back = false;
	int rc = gpu_attach(pid, opts, &report, &err), status;

	if (rc == 0 && !opts->dry_run && strcmp(opts->library->name, kind->library->name) == 0)
		rc = kind->after(pid, &report, &is_back, &err);
	status = status_of(rc, &report);
	if (line->globals.json)
		put_json(&b, pid, &report, opts->dry_run, is_back, &err);
	else if (rc == 0)
		put_text(&b, pid, &report, opts->dry_run, is_back, kind);
	if (report.pages_left)
		log_warn("%" PRIu32 " pages of ours stay mapped in process %" PRIu32,
			 report.pages_left, pid);
	if (rc < 0)
		cmd_fail(status, &err);
	int printed = cmd_print(&b);
	return status ? status : printed;
}

static void say_slow(void *ctx, uint32_t pid, uint32_t tid)
{
	(void)ctx;
	log_warn("a system call that cresset runs in thread %" PRIu32 " of process %" PRIu32
		 " blocks in the kernel; the thread is restored when the call returns",
		 tid, pid);
}

int attach_cmd_run(const struct cmd_line *line, const struct attach_options *o,
		   const struct attach_kind *kind)
{
	struct gpu_attach_library library = *kind->library;
	struct gpu_attach_opts opts = { .view = &attach_view,
					.library = &library,
					.dry_run = o->dry_run,
					.wait_ns = o->wait_ns,
					.slow = say_slow };
	struct buf image = { 0 };
	struct err err = { 0 };
	uint32_t pid;
	int status = cmd_pid(line, line->args.v[1], &pid);

	if (status)
		return status;
	for (int i = 0; i < o->forced.n; i++)
		opts.forced |= 1u << forced[o->forced.v[i]];
	int rc = read_library(&library, o, &image, &err);
	if (rc < 0) {
		buf_done(&image);
		return cmd_fail(CMD_BAD_INPUT, &err);
	}
	opts.image = image.data;
	opts.size = image.len;
	status = attach_one(line, pid, &opts, kind);
	buf_done(&image);
	return status;
}

int attach_cmd_check(uint32_t pid)
{
	struct err err = { 0 };
	char path[32];

	snprintf(path, sizeof path, "/proc/%" PRIu32 "/maps", pid);
	if (access(path, F_OK)) {
		err_set(&err, ESRCH, "no process %" PRIu32, pid);
		return cmd_fail(CMD_NO_TARGET, &err);
	}
	int fd = open(path, O_RDONLY | O_CLOEXEC); /* its permissions alone do not decide */

	if (fd < 0) {
		err_set(&err, EACCES, "process %" PRIu32 " is not accessible", pid);
		err_hint(&err, "run as root, or as its user");
		return cmd_fail(CMD_PERMISSION, &err);
	}
	close(fd);
	return CMD_OK;
}

/* --- words of both commands ------------------------------------------------------------------- */

void attach_cmd_put_agent(struct buf *b, bool has_agent, uint32_t pid)
{
	char path[32], name[16];

	buf_adds(b, "  agent     ");
	if (!has_agent || !pid) {
		buf_adds(b,
			 has_agent ? "one in another namespace, or of another user\n" : "none\n");
		return;
	}
	snprintf(path, sizeof path, "/proc/%" PRIu32 "/comm", pid);
	fs_read_line(path, name, sizeof name);
	buf_addf(b, "process %" PRIu32 " (", pid);
	esc_term(b, name, strlen(name), sizeof name);
	buf_adds(b, ")\n");
}

int attach_cmd_detached(const struct cmd_line *line, const char *command, uint32_t pid,
			bool already)
{
	struct buf b = { 0 };

	if (line->globals.json) {
		struct json j = json_to(&b);

		json_obj(&j);
		json_key_u64(&j, "pid", pid);
		json_key_text(&j, "result", already ? "already" : "detached");
		json_end(&j);
		buf_addc(&b, '\n');
	} else {
		buf_addf(&b,
			 "process %" PRIu32 " is detached%s: cresset %s attach %" PRIu32
			 " brings it back\n",
			 pid, already ? " already" : "", command, pid);
	}
	return cmd_print(&b);
}
