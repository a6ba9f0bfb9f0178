/* gpu/attach_refuse.h: what a process must be that a library can be put into. Nothing of it is touched. */
#ifndef CRESSET_GPU_ATTACH_REFUSE_H
#define CRESSET_GPU_ATTACH_REFUSE_H

#include "gpu/attach.h"

/* What is wrong, if anything, with words and a remedy in err. *already: the library is there. */
enum gpu_attach_refusal attach_refuse(uint32_t pid, const struct gpu_attach_opts *opts,
				      bool *already, struct err *err);
/* The same of what the kernel says to ptrace: 0 or -errno. */
enum gpu_attach_refusal attach_refused_by_kernel(uint32_t pid, struct err *err);

/* Whether that is to be passed over. */
bool attach_is_forced(const struct gpu_attach_opts *opts, enum gpu_attach_refusal why);

/* Whether processes of any user can be traced from here at all: NOT_REFUSED, PTRACE_SCOPE or PERMISSION. */
enum gpu_attach_refusal attach_refused_always(void);

/* One name of a mapping: "/memfd:libx.so (deleted)", "/usr/lib/libx.so", "/tmp/libx.so.12.ab (deleted)" are all libx.so. */
bool attach_is_library(const char *mapped, const char *name);

enum gpu_attach_refusal attach_say(enum gpu_attach_refusal why, uint32_t pid, const char *detail,
				   struct err *err);

#endif
