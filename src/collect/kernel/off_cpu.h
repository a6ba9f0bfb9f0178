/* collect/kernel/off_cpu.h: the programs of bpf/off_cpu.h: which of them this kernel can run, their
 * knobs, their iterators.
 *
 *     off_cpu_prepare    before the object is loaded
 *     off_cpu_attach     attaches all but the fork program; before the programs that follow
 *                        targets. No thread has times yet, so nothing is recorded
 *     off_cpu_start      from here on all threads have times
 *     off_cpu_report     sends the times of all threads, and pending waits, through the ring */
#ifndef CRESSET_COLLECT_KERNEL_OFF_CPU_H
#define CRESSET_COLLECT_KERNEL_OFF_CPU_H

#include "collect/kernel/kernel_features.h"
#include "collect/kernel/sampler_opts.h"
#include "collect/kernel/switch_windows.h"
#include "collect/kernel/wait_pace.h"

#include <bpf/libbpf.h>

struct err;
struct sample_bpf;

enum { OFF_CPU_LINKS = 20 };
struct off_cpu {
	uint32_t has;     /* as in struct kernel_features */
	bool on;          /* waits are requested */
	bool at_sys_exit; /* where user stacks are taken */
	struct bpf_link *links[OFF_CPU_LINKS];
	int n_links;
	struct bpf_link
		*at_switches[OFF_CPU_LINKS]; /* programs that are attached in windows only */
	int n_at_switches;
	bool has_windows;
	struct switch_windows windows;
	uint64_t stacks_per_window; /* pace.per_window without windows */
	int report_fd;              /* report in progress; -1: none */
	bool in_turns;              /* a report need not have all pending waits */
	uint32_t turns, n_reports;  /* turns: reports that together have all pending waits */
	struct wait_pace pace;
	struct wait_rate *rates; /* [pace.n_cpus]: as last read */
	bool held_nothing;       /* at the last look */
	uint64_t run_ns;         /* as last counted */
};

/* Returns whether the program at wakeups is needed: for wakers, or for the threads that unlock. */
bool off_cpu_needs_wakers(const struct sampler_opts *opts);

/* Sets what is loaded and how. -EOPNOTSUPP when waits are requested at a hook that this kernel does
 * not have. */
int off_cpu_prepare(struct off_cpu *o, struct sample_bpf *bpf, const struct sampler_opts *opts,
		    const struct kernel_features *kernel, struct err *err);
/* Both return 0, or -errno with the name of the program that could not be attached. */
int off_cpu_attach(struct off_cpu *o, struct sample_bpf *bpf, const char **refused);
int off_cpu_start(struct off_cpu *o, struct sample_bpf *bpf, const char **refused);
void off_cpu_stop(struct off_cpu *o);
void off_cpu_done(struct off_cpu *o);

/* Returns the time of the programs at switches so far. */
uint64_t off_cpu_run_ns(struct off_cpu *o, const struct sample_bpf *bpf);

/* Adds up what CPUs have seen, and sets their new limits; does nothing when it is too early for
 * that. */
void off_cpu_look(struct off_cpu *o, struct sample_bpf *bpf, uint64_t now_ns);

/* Shows what to do now where recording switches has a budget. SWITCH_CLOSE: send a complete report,
 * then call off_cpu_close. *counts: of all CPUs. */
enum switch_step off_cpu_window_step(struct off_cpu *o, const struct sample_bpf *bpf,
				     uint64_t now_ns);
uint64_t off_cpu_window_due_ns(const struct off_cpu *o); /* UINT64_MAX: never */
int off_cpu_open(struct off_cpu *o, struct sample_bpf *bpf, const char **refused);
void off_cpu_close(struct off_cpu *o, struct sample_bpf *bpf);
/* Ends a period of windows and starts the next one. Close a window that covers only a part of the
 * time first. */
void off_cpu_cut(struct off_cpu *o, uint64_t now_ns);

/* Sends a part of the report, with all pending waits if it is the last one of a window. Returns 1:
 * more is to come, read the ring first; 0: complete; or -errno. */
int off_cpu_report(struct off_cpu *o, struct sample_bpf *bpf, bool is_last);

/* "sched_exit_tp" or "sys_exit"; NULL without waits. */
const char *off_cpu_hook(const struct off_cpu *o);

#endif
