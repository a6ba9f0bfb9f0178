/* collect/kernel/load.h: loads an object of BPF programs, and identifies the one that the kernel
 * refuses.
 *
 * libbpf loads all programs of an object or none. To find which one was refused, each program gets
 * a small buffer for the verifier's log. A second load of that program alone, with a large buffer,
 * shows why. */
#ifndef CRESSET_COLLECT_KERNEL_LOAD_H
#define CRESSET_COLLECT_KERNEL_LOAD_H

#include <stddef.h>

struct bpf_object;
struct bpf_object_skeleton;

/* Loads an opened object; through its skeleton if it has one, so that the skeleton's variables are
 * those of the programs. Returns 0 or -errno; program is then the name of the refused program, ""
 * if it was none of them. */
int load_object(struct bpf_object *obj, struct bpf_object_skeleton *skeleton, char *program,
		size_t size);

/* Loads only that program of an opened object. Returns 0 or -errno. *log: the verifier's log, to be
 * freed; NULL: none. */
int load_alone(struct bpf_object *obj, const char *program, char **log);

#endif
