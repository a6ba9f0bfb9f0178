/* collect/refusal.h: why the kernel refused something that recording needs, in words, with what to do.
 *
 * An errno has many causes: EPERM is a missing capability, a seccomp filter, a security module, or too little locked memory. The cause is
 * found by what else is known of this process and this machine (struct refusal_facts), and never guessed: a refusal by the verifier is not
 * a missing capability, and a capability is named only where it is missing.
 *
 *     rc = bpf_object__load(obj);
 *     if (rc)
 *             return refusal_explain(&(struct refusal){ REFUSED_PROGRAM, rc, name, log }, err);
 *
 * and where only a feature is lost
 *
 *     refusal_why(&(struct refusal){ REFUSED_PROGRAM, rc, name, log }, missing->why, sizeof missing->why);
 */
#ifndef CRESSET_COLLECT_REFUSAL_H
#define CRESSET_COLLECT_REFUSAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum refusal_step {
	REFUSED_TYPES,   /* reading the kernel's types (BTF), or relocating programs against them */
	REFUSED_MAP,     /* making a map */
	REFUSED_PROGRAM, /* loading a program */
	REFUSED_ATTACH,  /* attaching one */
	REFUSED_PERF_EVENT, /* perf_event_open */
	REFUSAL_STEPS,
};

struct refusal {
	enum refusal_step step;
	int error;            /* errno or -errno */
	const char *name;     /* of the program, the map or the event; NULL: not known */
	const char *log;      /* the verifier's, or its end; NULL or "": there is none */
	const char *btf_file; /* as in collect_opts */
};

/* What the kernel says of itself and of this process. */
enum refusal_lockdown { LOCKDOWN_NONE, LOCKDOWN_INTEGRITY, LOCKDOWN_CONFIDENTIALITY };
struct refusal_facts {
	uint64_t capabilities;   /* effective, by number */
	bool in_user_namespace;  /* another one than the first: capabilities of it do not count */
	bool has_seccomp_filter; /* this process has one */
	/* What calls that the kernel itself can only answer with EINVAL and EFAULT were answered with. */
	int bpf_error, perf_error;
	enum refusal_lockdown lockdown;
	char security_modules[128]; /* "lockdown,yama,selinux,bpf"; "": not known */
	int perf_paranoid;
	unsigned kernel_major, kernel_minor;
	uint64_t memlock_bytes; /* RLIMIT_MEMLOCK; UINT64_MAX: no limit */
	/* The lowest limit of this process's memory cgroups, and what is used below it; 0: there is none. */
	uint64_t memory_limit_bytes, memory_used_bytes;
};
void refusal_read_facts(struct refusal_facts *out);

bool refusal_has_capability(const struct refusal_facts *f, int number);
/* The system call "bpf()" or "perf_event_open()" that a seccomp filter refuses; NULL: none. */
const char *refusal_filtered_call(const struct refusal_facts *f);
/* Those of security_modules that can deny BPF and performance events: "selinux, bpf"; "": none. */
void refusal_modules_that_deny(const struct refusal_facts *f, char *to, size_t size);

/* Sets err to "cannot load the BPF programs: " and the cause, and its hint to what helps ("" when nothing is known to). Returns -EPERM where a
 * permission is missing, -EOPNOTSUPP where the kernel lacks something, else -error. */
int refusal_explain(const struct refusal *r, struct err *err);
/* Only the cause, as one line, cut to size. Returns likewise. */
int refusal_why(const struct refusal *r, char *to, size_t size);
/* By these facts (tests). */
int refusal_explain_by(const struct refusal *r, const struct refusal_facts *f, struct err *err);

/* The line of a verifier's log that says what is wrong, without its end of line; len 0: there is none. */
const char *refusal_verdict(const char *log, size_t *len);
/* Where the last n lines of a text begin. */
const char *refusal_last_lines(const char *text, size_t n);

/* Kernel types in a file: 0, or -errno with words: no such file, cut off, no BTF, of another architecture. path NULL: the running kernel's. */
int refusal_check_btf(const char *path, struct err *err);

#endif
