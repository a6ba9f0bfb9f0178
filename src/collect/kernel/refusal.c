/* Reads capabilities, limits, sysctls and security modules, and selects the cause that fits the
 * errno. */
#include "collect/kernel/refusal.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* linux/capability.h; older versions lack the newer ones. */
enum { CAPABILITY_SYS_ADMIN = 21, CAPABILITY_PERFMON = 38, CAPABILITY_BPF = 39 };
#define AS_ROOT \
	"run it as root, or:  sudo setcap " \
	"cap_bpf,cap_perfmon,cap_sys_ptrace,cap_checkpoint_restore=ep $(command -v cresset)"

struct cause {
	int code;
	char why[512], hint[512];
};

static bool found(struct cause *c, int code, const char *hint, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static bool found(struct cause *c, int code, const char *hint, const char *fmt, ...)
{
	va_list ap;

	c->code = code;
	va_start(ap, fmt);
	vsnprintf(c->why, sizeof c->why, fmt, ap);
	va_end(ap);
	snprintf(c->hint, sizeof c->hint, "%s", hint);
	return true;
}

static bool is_denial(const struct refusal *r)
{
	return r->error == EPERM || r->error == EACCES;
}

bool refusal_has_capability(const struct refusal_facts *f, int number)
{
	return f->capabilities >> number & 1;
}

/* --- the verifier's log ----------------------------------------------------------------------- */

/* Statistics that the verifier adds to every log. */
static bool is_statistics(const char *line, size_t len)
{
	static const char *const starts[] = { "processed ", "verification time ", "stack depth ",
					      "max_states_per_insn ", "-- " };

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (len >= strlen(starts[i]) && memcmp(line, starts[i], strlen(starts[i])) == 0)
			return true;
	return len == 0;
}

const char *refusal_verdict(const char *log, size_t *len)
{
	struct cur c = cur_of(log ? log : "", log ? strlen(log) : 0);
	const char *line, *last = NULL;
	size_t n;

	*len = 0;
	while (cur_line(&c, &line, &n)) {
		if (is_statistics(line, n))
			continue;
		last = line;
		*len = n;
	}
	return last;
}

const char *refusal_last_lines(const char *text, size_t n)
{
	const char *at = text + strlen(text);

	if (at > text && at[-1] == '\n')
		at--;
	while (n && at > text)
		if (*--at == '\n' && --n == 0)
			return at + 1;
	return text;
}

/* --- causes ----------------------------------------------------------------------------------- */

/* Lockdown denies reading kernel memory, which every program does, and all performance events. */
static bool is_lockdown(const struct refusal *r, const struct refusal_facts *f, struct cause *c)
{
	bool reads = r->step == REFUSED_PROGRAM || r->step == REFUSED_ATTACH ||
		     r->step == REFUSED_PERF_EVENT;

	if (f->lockdown != LOCKDOWN_CONFIDENTIALITY || !reads ||
	    (!is_denial(r) && r->error != EINVAL))
		return false;
	return found(c, EOPNOTSUPP,
		     "boot without lockdown=confidentiality; lockdown=integrity allows recording",
		     "the kernel is locked down for confidentiality: its memory is not readable");
}

static bool is_types(const struct refusal *r, const struct refusal_facts *f, struct cause *c)
{
	struct err err = { 0 };

	(void)f;
	if ((r->log && *r->log) || r->step > REFUSED_PROGRAM || is_denial(r) ||
	    r->error == ENOMEM || r->error == ENOSYS || refusal_check_btf(r->btf_file, &err) == 0)
		return false;
	return found(c, err.code, err.hint, "%s", err.text);
}

static bool is_verifier(const struct refusal *r, const struct refusal_facts *f, struct cause *c)
{
	size_t len;
	const char *line = refusal_verdict(r->log, &len);

	(void)f;
	if (!line)
		return false;
	return found(c, EOPNOTSUPP, "-vv shows the complete verifier log",
		     "the kernel's verifier rejects %s: %.*s", r->name ? r->name : "a program",
		     len < sizeof c->why ? (int)len : (int)sizeof c->why, line);
}

/* A map needs CAP_BPF, an event CAP_PERFMON, a program both. If any is missing, lists all that a
 * recording needs. */
static void missing_capabilities(const struct refusal *r, const struct refusal_facts *f, char *to,
				 size_t size)
{
	bool admin = refusal_has_capability(f, CAPABILITY_SYS_ADMIN);
	bool bpf = admin || refusal_has_capability(f, CAPABILITY_BPF);
	bool perfmon = admin || refusal_has_capability(f, CAPABILITY_PERFMON);

	if ((bpf || r->step == REFUSED_PERF_EVENT) && (perfmon || r->step == REFUSED_MAP))
		bpf = perfmon = true;
	snprintf(to, size, "%s%s%s", bpf ? "" : "CAP_BPF", bpf || perfmon ? "" : " and ",
		 perfmon ? "" : "CAP_PERFMON");
}

/* Checked before the capabilities: kernels of Debian and Ubuntu require another capability then. */
static bool is_paranoid(const struct refusal *r, const struct refusal_facts *f, struct cause *c)
{
	if (r->step != REFUSED_PERF_EVENT || !is_denial(r) || f->perf_paranoid <= 2 ||
	    refusal_has_capability(f, CAPABILITY_SYS_ADMIN))
		return false;
	return found(c, EPERM,
		     "kernels of Debian and Ubuntu then require CAP_SYS_ADMIN\n"
		     "with 2, CAP_PERFMON is enough:  sudo sysctl kernel.perf_event_paranoid=2",
		     "kernel.perf_event_paranoid is %d", f->perf_paranoid);
}

static bool is_capability(const struct refusal *r, const struct refusal_facts *f, struct cause *c)
{
	char missing[64];

	missing_capabilities(r, f, missing, sizeof missing);
	if (!is_denial(r) || !*missing)
		return false;
	return found(c, EPERM, AS_ROOT, "%s: %s missing", strerror(r->error), missing);
}

static bool is_user_namespace(const struct refusal *r, const struct refusal_facts *f,
			      struct cause *c)
{
	if (!is_denial(r) || !f->in_user_namespace)
		return false;
	return found(c, EPERM,
		     "run it outside, as root of the host (docker: without --userns, rootless: not "
		     "possible)",
		     "root of a user namespace may not use BPF");
}

const char *refusal_filtered_call(const struct refusal_facts *f)
{
	if (!f->has_seccomp_filter)
		return NULL;
	/* Without privileges some kernels themselves return EPERM. */
	if (f->bpf_error == ENOSYS ||
	    (f->bpf_error != EINVAL && (refusal_has_capability(f, CAPABILITY_BPF) ||
					refusal_has_capability(f, CAPABILITY_SYS_ADMIN))))
		return "bpf()";
	return f->perf_error != EFAULT ? "perf_event_open()" : NULL;
}

static bool is_seccomp(const struct refusal *r, const struct refusal_facts *f, struct cause *c)
{
	const char *call = refusal_filtered_call(f);

	if (!call || (!is_denial(r) && r->error != ENOSYS))
		return false;
	return found(c, EPERM,
		     "docker run --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE \\\n"
		     "    --security-opt seccomp=unconfined …  (or a profile that allows it)",
		     "%s is refused by a seccomp filter, as container runtimes set one", call);
}

/* Before 5.11 maps and programs counted as locked memory of the user. libbpf raises the limit where
 * it is allowed to. */
static bool is_memlock(const struct refusal *r, const struct refusal_facts *f, struct cause *c)
{
	bool counts = f->kernel_major < 5 || (f->kernel_major == 5 && f->kernel_minor < 11);
	bool makes = r->step == REFUSED_MAP || r->step == REFUSED_PROGRAM;

	if (r->error != EPERM || !counts || !makes || f->memlock_bytes == UINT64_MAX)
		return false;
	return found(
		c, EPERM,
		"ulimit -l unlimited; for a service LimitMEMLOCK=infinity; docker run --ulimit "
		"memlock=-1 …",
		"the limit of locked memory is %llu KiB, and kernels before 5.11 count BPF "
		"maps in it",
		(unsigned long long)f->memlock_bytes >> 10);
}

/* Only these two control bpf() and perf_event_open(). */
void refusal_modules_that_deny(const struct refusal_facts *f, char *to, size_t size)
{
	static const char *const names[] = { "selinux", "bpf" };
	char list[sizeof f->security_modules + 2], name[16];
	size_t len = 0;

	*to = '\0';
	snprintf(list, sizeof list, ",%s,", f->security_modules);
	for (size_t i = 0; i < sizeof names / sizeof *names && len < size; i++) {
		snprintf(name, sizeof name, ",%s,", names[i]);
		if (strstr(list, name))
			len += (size_t)snprintf(to + len, size - len, "%s%s", len ? ", " : "",
						names[i]);
	}
}

static bool is_security_module(const struct refusal *r, const struct refusal_facts *f,
			       struct cause *c)
{
	char modules[64];

	refusal_modules_that_deny(f, modules, sizeof modules);
	if (!is_denial(r) || !*modules)
		return false;
	return found(
		c, EPERM, "see its log: journalctl -k --grep 'avc.*denied'   or  ausearch -m avc",
		"%s, although all capabilities are present: a security module may deny it (%s)",
		strerror(r->error), modules);
}

static bool is_memory(const struct refusal *r, const struct refusal_facts *f, struct cause *c)
{
	struct buf limit = { 0 }, used = { 0 };

	if (r->error != ENOMEM)
		return false;
	if (!f->memory_limit_bytes)
		return found(c, ENOMEM, "", "the kernel has no memory for it");
	fmt_bytes(&limit, f->memory_limit_bytes);
	fmt_bytes(&used, f->memory_used_bytes);
	found(c, ENOMEM,
	      "BPF maps count there: raise memory.max of the cgroup (MemoryMax= of a service, "
	      "docker run --memory)",
	      "no memory for it: the memory cgroup of this process allows %s, %s are used",
	      buf_cstr(&limit), buf_cstr(&used));
	buf_done(&limit);
	buf_done(&used);
	return true;
}

static bool is_not_built(const struct refusal *r, const struct refusal_facts *f, struct cause *c)
{
	bool event = r->step == REFUSED_PERF_EVENT;

	(void)f;
	if (r->error != ENOSYS)
		return false;
	return found(c, EOPNOTSUPP,
		     event ? "boot a kernel with CONFIG_PERF_EVENTS=y"
			   : "boot a kernel with CONFIG_BPF_SYSCALL=y",
		     "this kernel has no %s", event ? "perf_event_open()" : "bpf()");
}

static bool is_descriptors(const struct refusal *r, const struct refusal_facts *f, struct cause *c)
{
	(void)f;
	if (r->error != EMFILE && r->error != ENFILE)
		return false;
	return found(c, r->error, "ulimit -n 65536; for a service LimitNOFILE=65536", "%s",
		     strerror(r->error));
}

static bool is_no_tracepoint(const struct refusal *r, const struct refusal_facts *f,
			     struct cause *c)
{
	(void)f;
	if (r->step != REFUSED_ATTACH || (r->error != ENOENT && r->error != ESRCH))
		return false;
	return found(c, EOPNOTSUPP, "", "this kernel has no tracepoint for it");
}

/* The fallback: nothing more is known. */
static bool is_unknown(const struct refusal *r, const struct refusal_facts *f, struct cause *c)
{
	int code = r->error;

	(void)f;
	if (is_denial(r))
		code = EPERM;
	else if (r->error == EINVAL || r->error == E2BIG || r->error == ENOENT ||
		 r->error == ESRCH || r->error == ENOTSUP)
		code = EOPNOTSUPP;
	return found(c, code, "to see the missing parts: cresset doctor", "%s", strerror(r->error));
}

/* The first one that applies is used. */
static bool (*const causes[])(const struct refusal *, const struct refusal_facts *,
			      struct cause *) = {
	is_lockdown,   is_types,       is_verifier,       is_paranoid,        is_seccomp,
	is_capability, is_memlock,     is_user_namespace, is_security_module, is_memory,
	is_not_built,  is_descriptors, is_no_tracepoint,  is_unknown,
};

static void find_cause(const struct refusal *given, const struct refusal_facts *f, struct cause *c)
{
	struct refusal r = *given;

	r.error = r.error < 0 ? -r.error : r.error;
	for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
		if (causes[i](&r, f, c))
			return;
}

/* --- what to tell the caller ------------------------------------------------------------------ */

static const char *const attempts[REFUSAL_STEPS] = {
	[REFUSED_TYPES] = "load the BPF programs",
	[REFUSED_MAP] = "load the BPF programs",
	[REFUSED_PROGRAM] = "load the BPF programs",
	[REFUSED_ATTACH] = "attach the BPF programs",
	[REFUSED_PERF_EVENT] = "open a sampling event",
};

int refusal_explain_by(const struct refusal *r, const struct refusal_facts *f, struct err *err)
{
	struct cause c = { 0 };

	find_cause(r, f, &c);
	int rc = err_set(err, c.code, "cannot %s: %s", attempts[r->step], c.why);
	err_hint(err, "%s", c.hint);
	return rc;
}

int refusal_explain(const struct refusal *r, struct err *err)
{
	struct refusal_facts f;

	refusal_read_facts(&f);
	return refusal_explain_by(r, &f, err);
}

int refusal_why(const struct refusal *r, char *to, size_t size)
{
	struct refusal_facts f;
	struct cause c = { 0 };

	refusal_read_facts(&f);
	find_cause(r, &f, &c);
	struct err line;
	err_set(&line, c.code, "%.*s", (int)size - 1, c.why); /* makes it one line */
	snprintf(to, size, "%s", line.text);
	return -c.code;
}
