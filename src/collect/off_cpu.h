/* collect/off_cpu.h: the programs of bpf/off_cpu.h: which of them this kernel can run, their knobs, their iterators.
 *
 *     off_cpu_prepare    before the object is loaded
 *     off_cpu_attach     all but the one of forks: nothing is kept of any thread yet, so none is recorded; before the programs that follow targets
 *     off_cpu_start      from here on all threads have times
 *     off_cpu_report     the times of all threads, and waits that go on, through the ring
 */
#ifndef CRESSET_COLLECT_OFF_CPU_H
#define CRESSET_COLLECT_OFF_CPU_H

#include "base/err.h"
#include "collect/collect.h"
#include "collect/kernel_features.h"
#include "collect/wait_pace.h"

#include <bpf/libbpf.h>

struct sample_bpf;

enum { OFF_CPU_LINKS = 20 };
struct off_cpu {
	uint32_t has;     /* struct kernel_features */
	bool on;          /* waits are asked for */
	bool at_sys_exit; /* where user stacks are taken */
	struct bpf_link *links[OFF_CPU_LINKS];
	int n_links;
	int report_fd; /* a report that is under way; -1: none */
	struct wait_pace pace;
	struct wait_rate *rates; /* [pace.n_cpus]: as they were read last */
	bool held_nothing;       /* then */
};

/* Sets what is loaded and how. -EOPNOTSUPP when waits are asked for at a place that this kernel does not have. */
int off_cpu_prepare(struct off_cpu *o, struct sample_bpf *bpf, const struct collect_opts *opts,
		    const struct kernel_features *kernel, struct err *err);
/* Both: 0, or -errno with the name of the program that could not be attached. */
int off_cpu_attach(struct off_cpu *o, struct sample_bpf *bpf, const char **refused);
int off_cpu_start(struct off_cpu *o, struct sample_bpf *bpf, const char **refused);
void off_cpu_stop(struct off_cpu *o);
void off_cpu_done(struct off_cpu *o);

/* Adds up what CPUs have seen, and tells them what they may take; does nothing when it is too early for that. */
void off_cpu_look(struct off_cpu *o, struct sample_bpf *bpf, uint64_t now_ns);

/* Sends some of the report: 1: more is to come, the ring is to be read first; 0: it is complete; or -errno. */
int off_cpu_report(struct off_cpu *o, struct sample_bpf *bpf);

/* "sched_exit_tp" or "sys_exit"; NULL without waits. */
const char *off_cpu_hook(const struct off_cpu *o);

#endif
