/* cmd/kernel.h: what all commands that record have to do with the kernel: whose types they use, what its verifier says, and what of a recording it
 * refused. */
#ifndef CRESSET_CMD_KERNEL_H
#define CRESSET_CMD_KERNEL_H

#include "cmd/cmd.h"
#include "collect/collect.h"

/* A row for the option table of a command whose options struct T has a member for the path. */
#define KERNEL_BTF_OPTION(T, member) \
	{ \
		NULL, "btf", "FILE", "the kernel's types (BTF), where it has none of its own", \
			OPT_STRING, .group = "Kernel", .offset = offsetof(struct T, member) \
	}

/* Sets what a collector needs to know of it. Status, with what is wrong with the file printed; btf may be NULL. */
int kernel_settle(const char *btf, struct collect_opts *collect);

/* One warning for each part of a recording that this kernel refused. */
void kernel_warn(struct collector *c);

/* "missing": [{"feature", "why"}] */
struct json;
void kernel_missing_json(struct json *j, const struct collect_missing *v, size_t n);

/* For collect_opts: with -v the last lines of the verifier's log, with -vv all of it. */
void kernel_on_refused(void *ctx, const char *program, const char *log);

#endif
