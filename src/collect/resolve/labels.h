/* collect/resolve/labels.h: the labels of processes: the same for all samples of a process, until
 * they change.
 *
 *     executable   name of the file it runs           the record of its exec, or /proc/PID/exe
 *     user         who it runs as (effective user)    the sample, the host's passwd file
 *     unit …       where it runs                      /proc/PID/cgroup, container_names.h
 *     service.…    what it publishes about itself     context_search.h
 *
 * Labels are looked up when a process is first sampled, and again after ½ s, 1 s … 64 s while it
 * is sampled: a server drops root, a container gets its link only after a while. They are also
 * looked up immediately when what it publishes about itself has been found. Lookups stop at a share
 * of time for all processes together: 0.1 % of a CPU for first lookups, and as much for later ones,
 * so that many short processes do not delay long ones. Processes about which nothing is known are
 * exempt; the others keep the labels they have or inherited, as a process does that is gone. The
 * user is not looked up: it is that of the last sample.
 *
 * Sets of labels are interned, so that a process has one number; 0: no label is known. Numbers are
 * valid until label_table_renew. */
#ifndef CRESSET_COLLECT_RESOLVE_LABELS_H
#define CRESSET_COLLECT_RESOLVE_LABELS_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/proc/container_names.h"
#include "collect/proc/user_names.h"
#include "profile/strtab.h"

#include <stdint.h>

struct process;
struct process_table;
struct proc_reader;

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
	uint32_t v[PROCESS_LABELS]; /* strings of texts; 0: no such label */
};
struct known_cgroup {
	uint64_t id;
	struct cgroup_place *place;
};

struct label_table {
	struct proc_reader *reader; /* the caller's; NULL: this process reads */
	struct strtab texts;
	VEC(struct label_values) sets; /* by number; that of 0 is empty */
	struct map index;
	struct map cgroups; /* id of a cgroup v2 → index in known */
	VEC(struct known_cgroup) known;
	struct container_cache containers;
	struct user_names users;
	int root; /* the host's "/" */
	uint64_t second_ns,
		/* CPU time spent in the second that started then; [1]: later lookups */
		spent_ns[2];
	uint64_t looks; /* lookups of processes */
};

/* root: as openat takes it; NULL: that of process 1, which is the host's for a collector in a
 * container that sees all processes. */
void label_table_init(struct label_table *t, const char *root);
void label_table_done(struct label_table *t);

/* What a sample has about its process. */
struct sampled_owner {
	uint64_t cgroup_id; /* 0: the process was never sampled */
	uint32_t uid;       /* EVENT_NO_UID: not known */
};

/* Returns the labels of a process with such a sample. */
uint32_t process_labels(struct label_table *t, struct process *p, struct sampled_owner owner,
			uint64_t now_ns);

/* Sets the executable: path is the first file mapped after an exec. */
void process_labels_exec(struct label_table *t, struct process *p, const char *path);

/* Forgets all but the labels of the given processes, which get new numbers. */
void label_table_renew(struct label_table *t, struct process_table *processes);

#endif
