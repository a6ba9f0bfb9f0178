/* collect/load.h: loads an object of BPF programs, and finds the one that the kernel refuses.
 *
 * libbpf loads all programs of an object or none. To know which one was refused each gets a small place for the verifier's log; why,
 * tells a second load of that one alone, with a large place. */
#ifndef CRESSET_COLLECT_LOAD_H
#define CRESSET_COLLECT_LOAD_H

#include <stddef.h>

struct bpf_object;
struct bpf_object_skeleton;

/* Loads the object, which is open; by its skeleton, where it has one: then its variables are those of the programs. 0 or -errno; then program
 * is the name of the one that was refused, "" when it was none of them. */
int load_object(struct bpf_object *obj, struct bpf_object_skeleton *skeleton, char *program,
		size_t size);

/* Loads only that program of an object that is open. 0 or -errno; *log: what the verifier says of it, to be freed; NULL: nothing. */
int load_alone(struct bpf_object *obj, const char *program, char **log);

#endif
