/* collect/labels.h: the labels of processes: what is the same for all samples of one, until it changes.
 *
 *     executable   name of the file it runs           the record of its exec, or /proc/PID/exe
 *     user         who it runs as (effective user)    /proc/PID/status, the host's passwd file
 *     unit …       where it runs                      /proc/PID/cgroup, container_names.h
 *     service.…    what it says that it is            context_search.h
 *
 * Labels are looked up when a process is first sampled, and again after ½ s, 1 s … 64 s while it is sampled: a server gives up root, a
 * container gets its link only after a while; and at once when what it publishes of itself has been found. Looking stops at a share of time (0.1 % of a CPU for
 * first looks, as much for later ones, so that many short processes do not make long ones wait) for all processes together, but for those of
 * which nothing is known: the others keep what they have or inherited, as one does that is gone.
 *
 * Sets of labels are interned, so that a process has one number, 0 = none is known. They are good until label_table_renew. */
#ifndef CRESSET_COLLECT_LABELS_H
#define CRESSET_COLLECT_LABELS_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/container_names.h"
#include "collect/process.h"
#include "collect/user_names.h"
#include "profile/strtab.h"

#include <stdint.h>

enum process_label {
	LABEL_EXECUTABLE,
	LABEL_USER,
	LABEL_UNIT,
	LABEL_USER_UNIT,
	LABEL_CONTAINER_ID,
	LABEL_CONTAINER,
	LABEL_POD,
	LABEL_NAMESPACE,
	LABEL_SERVICE,
	LABEL_SERVICE_NAMESPACE,
	LABEL_SERVICE_VERSION,
	LABEL_ENVIRONMENT,
	PROCESS_LABELS
};
extern const char *const process_label_keys[PROCESS_LABELS];

struct label_values {
	uint32_t v[PROCESS_LABELS]; /* strings of texts; 0: there is no such label */
};
struct known_cgroup {
	uint64_t id;
	struct cgroup_place *place;
};

struct label_table {
	struct strtab texts;
	VEC(struct label_values) sets; /* by number; that of 0 is empty */
	struct map index;
	struct map cgroups; /* id of a cgroup v2 → index in known */
	VEC(struct known_cgroup) known;
	struct container_cache containers;
	struct user_names users;
	int root; /* the folder that is the host's "/" */
	uint64_t second_ns,
		spent_ns[2]; /* the CPU time it took, in the second that began then; later looks: [1] */
	uint64_t looks;      /* at processes */
};

/* root: as openat takes it; NULL: that of process 1, which is the host's for a collector in a container that sees all processes. */
void label_table_init(struct label_table *t, const char *root);
void label_table_done(struct label_table *t);

/* The labels of a process in this cgroup. */
uint32_t process_labels(struct label_table *t, struct process *p, uint64_t cgroup_id,
			uint64_t now_ns);

/* The file that an exec has mapped first: what it runs. */
void process_labels_exec(struct label_table *t, struct process *p, const char *path);

/* Forgets all but the labels that processes have, which get new numbers. */
void label_table_renew(struct label_table *t, struct process_table *processes);

#endif
