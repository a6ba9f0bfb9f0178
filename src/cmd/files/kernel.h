/* cmd/files/kernel.h: the kernel side of all commands that record: the source of its types, the
 * verifier's messages, the parts of a recording that it refused, and the machine it runs on. */
#ifndef CRESSET_CMD_FILES_KERNEL_H
#define CRESSET_CMD_FILES_KERNEL_H

#include "cmd/cli/cmd.h"
#include "collect/kernel/sampler_opts.h"
#include "profile/relabel.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/utsname.h>

struct collect_missing;
struct collect_opts;
struct collector;

/* A row for the option table of a command whose options struct T has a member for the path. */
#define KERNEL_BTF_OPTION(T, member) \
	{ \
		NULL, "btf", "FILE", "BTF file, for kernels without /sys/kernel/btf/vmlinux", \
			OPT_STRING, .group = "Kernel", .offset = offsetof(struct T, member) \
	}

/* Options of all commands that sample CPUs. */
extern const char *const clock_words[]; /* in the order of enum collect_clock */

/* A row for the option table of a command; member: an enum collect_clock. */
#define CLOCK_OPTION(T, member, group_) \
	{ \
		NULL, "clock", "CLOCK", \
			"sampling clock: cpu-clock, or cycles (also with interrupts off); auto: " \
			"cycles if a counter works", \
			OPT_ENUM, .group = group_, .offset = offsetof(struct T, member), \
				  .words = clock_words, .def = "auto" \
	}

/* --runtime-native, in the order of enum runtime_native. */
extern const char *const runtime_native_words[];
/* --jit-names, in the order of enum jit_names. */
extern const char *const jit_names_words[];

/* Logs refusals from here on. Returns a status, with an error in the file of --btf printed. */
int kernel_finalize(struct kernel_opts *kernel);

/* Prints a warning for each part of a recording that this kernel refused. Returns their number. */
size_t kernel_warn(struct collector *c);

/* "missing": [{"feature", "why"}] */
struct json;
void kernel_missing_json(struct json *j, const struct collect_missing *v, size_t n);

/* For kernel_opts: with -v the last lines of the verifier's log, with -vv all of it. */
void kernel_on_refused(void *ctx, const char *program, const char *log);

/* The machine, as labels of all data recorded on it: the same in a recording, a store and a
 * server. */
enum { MACHINE_LABELS = 2 };
struct machine {
	struct utsname name;                      /* host is name.nodename */
	struct label_text labels[MACHINE_LABELS]; /* kernel, arch; they point into name */
};

/* m must not move afterwards. */
void machine_init(struct machine *m);

#endif
