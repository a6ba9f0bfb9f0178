/* attach/attach_refuse.h: checks whether a library can be loaded into a process. Does not touch the
 * process. */
#ifndef CRESSET_ATTACH_ATTACH_REFUSE_H
#define CRESSET_ATTACH_ATTACH_REFUSE_H

#include "attach/attach.h"

struct err;

/* Returns why not, if so, with a message and a remedy in err. *already: the library is loaded. */
enum gpu_attach_refusal attach_refuse(uint32_t pid, const struct gpu_attach_opts *opts,
				      bool *already, struct err *err);
/* Explains a refusal of ptrace by the kernel. NOT_REFUSED: that thread has ended, its process has
 * not. */
enum gpu_attach_refusal attach_refused_by_kernel(uint32_t pid, uint32_t tid, struct err *err);

/* Returns whether any process can be traced from here: NOT_REFUSED, PTRACE_SCOPE or PERMISSION. */
enum gpu_attach_refusal attach_refused_always(void);

/* Compares the name of a mapping: "/memfd:libx.so (deleted)", "/usr/lib/libx.so",
 * "/tmp/libx.so.12.ab (deleted)" are all libx.so. */
bool attach_is_library(const char *mapped, const char *name);

enum gpu_attach_refusal attach_say(enum gpu_attach_refusal why, uint32_t pid, const char *detail,
				   struct err *err);

#endif
