/* collect/kernel/refusal.h: explains why the kernel refused something that recording needs, and
 * what to do.
 *
 * An errno has many causes: EPERM is a missing capability, a seccomp filter, a security module, or
 * too little locked memory. The cause is derived from other facts about this process and this
 * machine (struct refusal_facts), never guessed: a refusal by the verifier is not a missing
 * capability, and a capability is named only if missing.
 *
 *     rc = bpf_object__load(obj);
 *     if (rc)
 *             return refusal_explain(&(struct refusal){ REFUSED_PROGRAM, rc, name, log }, err);
 *
 * and where only a feature is lost
 *
 *     refusal_why(&(struct refusal){ REFUSED_PROGRAM, rc, name, log }, missing->why, sizeof
 *     missing->why); */
#ifndef CRESSET_COLLECT_KERNEL_REFUSAL_H
#define CRESSET_COLLECT_KERNEL_REFUSAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum refusal_step {
	REFUSED_TYPES,   /* reading the kernel's types (BTF), or relocating programs against them */
	REFUSED_MAP,     /* creating a map */
	REFUSED_PROGRAM, /* loading a program */
	REFUSED_ATTACH,  /* attaching a program */
	REFUSED_PERF_EVENT, /* perf_event_open */
	REFUSAL_STEPS,
};

struct refusal {
	enum refusal_step step;
	int error;            /* errno or -errno */
	const char *name;     /* of the program, map or event; NULL: unknown */
	const char *log;      /* the verifier's, or its end; NULL or "": none */
	const char *btf_file; /* as in kernel_opts */
};

/* Facts about the kernel and this process. */
enum refusal_lockdown { LOCKDOWN_NONE, LOCKDOWN_INTEGRITY, LOCKDOWN_CONFIDENTIALITY };
struct refusal_facts {
	uint64_t capabilities;   /* effective, by number */
	bool in_user_namespace;  /* not the initial one: its capabilities do not count */
	bool has_seccomp_filter; /* this process has one */
	/* errno of calls that the kernel itself can only reject with EINVAL and EFAULT. */
	int bpf_error, perf_error;
	enum refusal_lockdown lockdown;
	char security_modules[128]; /* "lockdown,yama,selinux,bpf"; "": unknown */
	int perf_paranoid;
	unsigned kernel_major, kernel_minor;
	uint64_t memlock_bytes; /* RLIMIT_MEMLOCK; UINT64_MAX: no limit */
	/* The lowest limit among this process's memory cgroups, and the usage of that cgroup; 0:
	 * none. */
	uint64_t memory_limit_bytes, memory_used_bytes;
};
void refusal_read_facts(struct refusal_facts *out);

bool refusal_has_capability(const struct refusal_facts *f, int number);
/* Returns the system call, "bpf()" or "perf_event_open()", that a seccomp filter refuses; NULL:
 * none. */
const char *refusal_filtered_call(const struct refusal_facts *f);
/* Lists the security_modules that can deny BPF and performance events: "selinux, bpf"; "": none. */
void refusal_modules_that_deny(const struct refusal_facts *f, char *to, size_t size);

/* Sets err to "cannot load the BPF programs: " and the cause, and its hint to what helps ("" if
 * nothing is known to). Returns -EPERM if a permission is missing, -EOPNOTSUPP if the kernel lacks
 * something, else -error. */
int refusal_explain(const struct refusal *r, struct err *err);
/* Writes only the cause, as one line, truncated to size. Returns the same. */
int refusal_why(const struct refusal *r, char *to, size_t size);
/* Uses the given facts (tests). */
int refusal_explain_by(const struct refusal *r, const struct refusal_facts *f, struct err *err);

/* Returns the line of a verifier's log that says what is wrong, without its newline; len 0:
 * none. */
const char *refusal_verdict(const char *log, size_t *len);
/* Returns where the last n lines of a text start. */
const char *refusal_last_lines(const char *text, size_t n);

/* Checks a file of kernel types; path NULL: the running kernel's. Returns 0, or -errno and err: no
 * such file, truncated, no BTF, of another architecture. */
int refusal_check_btf(const char *path, struct err *err);

#endif
