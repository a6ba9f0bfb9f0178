// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* bpf/sample.bpf.c: the BPF programs of the sampler: one sample per timer tick of a CPU, and
 * processes that start and end; waits are in off_cpu.h.
 *
 * The sample programs are the same sampler with different walks of the user stack: our own
 * (bpf/unwind.h), or, in sample_plain, the kernel's helper (frame pointers, at most
 * kernel.perf_event_max_stack frames) where the verifier refuses ours. Everything that goes wrong
 * is counted in `counters`. */
#include "bpf/cpython_walk.h"
#include "bpf/cycle_clock.h"
#include "bpf/fault_event.h"
#include "bpf/off_cpu.h"
#include "bpf/program_file.h"
#include "bpf/stack.h"
#include "bpf/targets.h"
#include "bpf/threads.h"
#include "bpf/trace_read.h"
#include "bpf/wait_stack.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Programs that keep the walker's address spaces and the targets up to date. space_fork is loaded
 * when there are tables, space_exec, space_exit and program_begins always, the follow programs when
 * there are pids or tids to follow. They are raw tracepoints, so they also work on a kernel without
 * BTF (--btf). */

/* --- address spaces that begin and end -------------------------------------------------------- */

static __always_inline void fork_runtimes(__u32 parent, __u32 child)
{
	struct cpython_process *p = bpf_map_lookup_elem(&cpython_processes, &parent);
	struct hotspot_process *h = bpf_map_lookup_elem(&hotspot_processes, &parent);
	struct v8_process *v = bpf_map_lookup_elem(&v8_processes, &parent);
	struct php_process *php = bpf_map_lookup_elem(&php_processes, &parent);

	if (p)
		bpf_map_update_elem(&cpython_processes, &child, p, BPF_ANY);
	if (h)
		bpf_map_update_elem(&hotspot_processes, &child, h, BPF_ANY);
	if (v)
		bpf_map_update_elem(&v8_processes, &child, v, BPF_ANY);
	if (php)
		bpf_map_update_elem(&php_processes, &child, php, BPF_ANY);
}

/* Removes everything known about a program that has ended. */
static __always_inline void forget_space(__u32 tgid)
{
	bpf_map_delete_elem(&processes, &tgid);
	bpf_map_delete_elem(&recipes, &tgid);
	bpf_map_delete_elem(&cpython_processes, &tgid);
	bpf_map_delete_elem(&hotspot_processes, &tgid);
	bpf_map_delete_elem(&v8_processes, &tgid);
	bpf_map_delete_elem(&php_processes, &tgid);
}

/* A child has its parent's mappings. */
static __always_inline void fork_space(struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = BPF_CORE_READ(parent, tgid), child_tgid = BPF_CORE_READ(child, tgid);
	struct space_process *p;
	struct space_process copy;

	if (parent_tgid == child_tgid)
		return;
	p = bpf_map_lookup_elem(&processes, &parent_tgid);
	if (!p)
		return;
	copy = *p;
	if (copy.runtimes)
		fork_runtimes(parent_tgid, child_tgid);
	bpf_map_update_elem(&processes, &child_tgid, &copy, BPF_ANY);
}

SEC("raw_tp/sched_process_fork")
int BPF_PROG(space_fork, struct task_struct *parent, struct task_struct *child)
{
	__u64 now_ns = bpf_ktime_get_ns();

	fork_space(parent, child);
	count_run(now_ns);
	return 0;
}

/* A new program: nothing known about the old mappings is valid. It must be forgotten before the new
 * program maps anything: at sched_process_exec user space may already have reported new mappings.
 * So this is where exec renames the thread. At that time, unlike at any other rename, the memory
 * has no code yet. */
SEC("raw_tp/task_rename")
int BPF_PROG(space_exec, struct task_struct *task)
{
	__u32 tgid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);
	__u64 now_ns = bpf_ktime_get_ns();

	if (!is_in_exec(task))
		return 0;
	forget_space(tgid);
	python_forget(tid);
	count_run(now_ns);
	return 0;
}

/* At the exit of a thread. */
static __always_inline int is_last_thread(struct task_struct *task)
{
	return BPF_CORE_READ(task, signal, live.counter) == 0;
}

SEC("raw_tp/sched_process_exit")
int BPF_PROG(space_exit, struct task_struct *task)
{
	__u32 tgid = BPF_CORE_READ(task, tgid), tid = BPF_CORE_READ(task, pid);
	__u64 now_ns = bpf_ktime_get_ns();

	python_forget(tid);
	if (is_last_thread(task))
		forget_space(tgid);
	count_run(now_ns);
	return 0;
}

/* --- following targets ------------------------------------------------------------------------ */

/* Runs before the child does, so none of its samples is missed. */
SEC("raw_tp/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = BPF_CORE_READ(parent, tgid), child_tgid = BPF_CORE_READ(child, tgid);
	struct target *t;
	struct target copy;

	if (filter != FILTER_TGID || parent_tgid == child_tgid)
		return 0;
	t = bpf_map_lookup_elem(&targets, &parent_tgid);
	if (!t)
		return 0;
	copy = *t;
	if (bpf_map_update_elem(&targets, &child_tgid, &copy, BPF_ANY))
		count(COUNT_TARGETS_FULL);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int BPF_PROG(follow_exec, struct task_struct *task)
{
	__u32 tgid = BPF_CORE_READ(task, tgid);
	struct target *t = bpf_map_lookup_elem(&targets, &tgid);

	if (t)
		t->wait_exec = 0;
	return 0;
}

SEC("raw_tp/sched_process_exit")
int BPF_PROG(follow_exit, struct task_struct *task)
{
	__u32 id = filter == FILTER_TID ? BPF_CORE_READ(task, pid) : BPF_CORE_READ(task, tgid);

	if (filter == FILTER_TGID && !is_last_thread(task))
		return 0;
	bpf_map_delete_elem(&targets, &id);
	return 0;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Registers are read as whole words through volatile: the verifier refuses narrowed or merged loads
 * from the context. */
#define TAKE(word, field) regs[word] = *(volatile __u64 *)&ctx->regs.field

static __always_inline void regs_of_interrupt(struct bpf_perf_event_data *ctx, __u64 *regs)
{
	TAKE(0, r15), TAKE(1, r14), TAKE(2, r13), TAKE(3, r12), TAKE(4, rbp), TAKE(5, rbx);
	TAKE(6, r11), TAKE(7, r10), TAKE(8, r9), TAKE(9, r8), TAKE(10, rax), TAKE(11, rcx);
	TAKE(12, rdx), TAKE(13, rsi), TAKE(14, rdi), TAKE(16, rip), TAKE(17, cs), TAKE(19, rsp);
}

/* Reads the user registers saved when the task entered the kernel. Returns false for tasks without
 * a user side. */
static __always_inline int regs_of_task(__u64 *regs)
{
	struct task_struct *task = current_task();

	if (!BPF_CORE_READ(task, mm) ||
	    (BPF_CORE_READ(task, flags) & (TASK_PF_KTHREAD | TASK_PF_IO_WORKER)))
		return 0;
	if (bpf_probe_read_kernel(regs, PT_REGS_WORDS * 8, entry_regs(task)))
		return 0;
	return regs[PT_IP] != 0;
}

static __always_inline int has_user_side(void)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	return BPF_CORE_READ(task, mm) && !(BPF_CORE_READ(task, flags) & TASK_PF_KTHREAD);
}

/* Fills s with the stack. plain: by the helper; else by way. */
static __always_inline void take_stack(struct bpf_perf_event_data *ctx, struct scratch *s,
				       __u32 tgid, __u64 now_ns, int plain, const enum walk_way way)
{
	__u64 *regs = s->walk.regs;
	__u32 end;
	int in_user;

	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	regs_of_interrupt(ctx, regs);
	in_user = (LOAD(regs[PT_CS]) & 3) == 3;
	if (!in_user && want_kernel) {
		long bytes = bpf_get_stack(ctx, s->addr, WALK_MAX_KERNEL * 8, 0);

		if (bytes > 0)
			s->head.n_kernel = ((__u64)bytes / 8) & 127;
	}
	if (!want_user)
		return;
	end = in_user ? 0 : end_without_memory((struct task_struct *)bpf_get_current_task());
	if (end) {
		s->head.walk_end = end;
		return;
	}
	if (plain) {
		if (in_user || has_user_side())
			walk_by_helper(ctx, s);
	} else if (in_user || regs_of_task(regs)) {
		walk_by_rules(s, tgid, now_ns, way);
	}
}

/* --- what a tick stands for ------------------------------------------------------------------- */

const volatile __u32 by_cycles = 0; /* the event is cycles: its ticks are not evenly spaced */
const volatile __u64 sample_period_ns = 10101010;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cycle_clock);
} cycle_clocks SEC(".maps");

/* How long tasks have run on this CPU, by its run queue's clock, which is at most a tick old; 0:
 * the kernel does not say. */
static __always_inline __u64 busy_ns(struct task_struct *task)
{
	struct rq *rq = 0;
	__u64 clock, since;

	if (!bpf_core_field_exists(rq->rq_cpu_time) || !bpf_core_field_exists(task->se.cfs_rq) ||
	    !bpf_core_field_exists(task->sched_info.last_arrival))
		return 0;
	rq = BPF_CORE_READ(task, se.cfs_rq, rq);
	clock = BPF_CORE_READ(rq, clock);
	since = BPF_CORE_READ(task, sched_info.last_arrival);
	return BPF_CORE_READ(rq, rq_cpu_time) + (since && clock > since ? clock - since : 0);
}

/* The number of periods that a sample of this tick stands for; 0: it is not sent. */
static __always_inline __u32 periods_of_tick(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0, n;
	struct cycle_clock *clock;

	if (!by_cycles)
		return 1;
	clock = bpf_map_lookup_elem(&cycle_clocks, &zero);
	if (!clock)
		return 0;
	n = cycle_tick(clock, *(volatile __u64 *)&ctx->sample_period,
		       busy_ns((struct task_struct *)bpf_get_current_task()), sample_period_ns);
	if (clock->lost_ns)
		add(COUNT_CYCLES_GONE_NS, clock->lost_ns);
	clock->lost_ns = 0;
	return n;
}

/* --- a tick ----------------------------------------------------------------------------------- */

static __always_inline void send_sample(struct event_sample *ev)
{
	if (!bpf_ringbuf_output(&sample_ring, ev, sizeof *ev, wake_flags(FROM_SAMPLER, 1)))
		count(COUNT_SAMPLES);
	else if (ring_has_room(FROM_SAMPLER, sizeof *ev))
		count(COUNT_RING_BUSY);
	else
		count(COUNT_RING_FULL);
}

static __always_inline int take_sample(struct bpf_perf_event_data *ctx, __u64 now_ns, int plain,
				       const enum walk_way way)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct event_sample ev = { .kind = EVENT_SAMPLE };
	struct scratch *s;
	__u32 n;

	ev.tid = (__u32)pid_tgid;
	ev.tgid = pid_tgid >> 32;
	ev.periods = periods_of_tick(ctx);
	if (!ev.periods)
		return 0;
	bpf_get_current_comm(ev.comm, sizeof ev.comm);
	if (!wanted(ev.tgid, ev.tid, ev.comm))
		return 0;
	s = scratch_for(SCRATCH_SAMPLE);
	if (!s)
		return 0;
	ev.time_ns = now_ns;
	ev.cpu = bpf_get_smp_processor_id();
	ev.uid = uid_of((struct task_struct *)bpf_get_current_task());
	ev.cgroup_id = bpf_get_current_cgroup_id();
	ev.mappings = mappings_of((struct task_struct *)bpf_get_current_task());
	take_trace(s, ev.tgid);
	ev.trace = s->trace;
	patch_return(s, ev.tid);
	take_stack(ctx, s, ev.tgid, ev.time_ns, plain, way);
	ev.gpu_call = s->gpu_call;
	if (!plain && s->head.walk_end == WALK_NOT_LOADED) {
		s->out_wait.sample = ev;
		s->out_wait.wait = (struct wait_info){ 0 };
		if (sample_raw(s, FROM_SAMPLER, way))
			return 0;
	}
	n = hash_stack(s, (plain ? 2 : 1) * WALK_MAX_KERNEL);
	if (n) {
		ev.stack_hash = s->head.stack_hash;
		send_stack(s, n, FROM_SAMPLER);
	}
	send_sample(&ev);
	return 0;
}

static __always_inline int sample(struct bpf_perf_event_data *ctx, int plain,
				  const enum walk_way way)
{
	__u64 now_ns = bpf_ktime_get_ns();

	if (!(__u32)bpf_get_current_pid_tgid())
		return 0; /* idle */
	take_sample(ctx, now_ns, plain, way);
	count_run(now_ns);
	return 0;
}

SEC("perf_event")
int sample_walk(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, 0, WALK_BY_LOOP);
}

SEC("perf_event")
int sample_walk_before_5_17(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, 0, WALK_BY_PARTS);
}

SEC("perf_event")
int sample_plain(struct bpf_perf_event_data *ctx)
{
	return sample(ctx, 1, WALK_BY_PARTS);
}

/* --- starts of programs ------------------------------------------------------------------------
 *
 * Wakes the reader of the side band for files not seen to start within 4 s, and for programs with
 * an interpreter or GPU library; the reader reads again after 2, 6, 18 and 54 ms, while libraries
 * load. */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROGRAMS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct program_file);
	__type(value, struct program_known);
} programs SEC(".maps");

/* When it is full, the reader has been woken already. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} program_ring SEC(".maps");

/* Returns whether the program had an exec in the last PROGRAM_KNOWN_NS, and notes this one. */
static __always_inline int is_known_program(const struct program_file *file, __u64 now_ns)
{
	struct program_known *known = bpf_map_lookup_elem(&programs, file);
	__u64 last_ns;

	if (!known)
		return 0;
	last_ns = known->last_ns;
	known->last_ns = now_ns;
	return !known->is_urgent && now_ns - last_ns < PROGRAM_KNOWN_NS;
}

/* Threads chosen by tid run already. */
static __always_inline int may_be_sampled(__u32 tgid)
{
	return filter != FILTER_TID &&
	       (filter != FILTER_TGID || bpf_map_lookup_elem(&targets, &tgid));
}

static __always_inline void tell_program(struct task_struct *task, __u64 now_ns)
{
	struct program_begun ev = { .pid = BPF_CORE_READ(task, tgid) };
	struct inode *inode;

	if (!may_be_sampled(ev.pid))
		return;
	inode = BPF_CORE_READ(task, mm, exe_file, f_inode);
	if (inode) {
		ev.file.ino = BPF_CORE_READ(inode, i_ino);
		ev.file.generation = BPF_CORE_READ(inode, i_generation);
		ev.file.dev = BPF_CORE_READ(inode, i_sb, s_dev);
	}
	if (!is_known_program(&ev.file, now_ns))
		bpf_ringbuf_output(&program_ring, &ev, sizeof ev, BPF_RB_FORCE_WAKEUP);
}

/* Its file and its interpreter's are mapped by now. */
SEC("raw_tp/sched_process_exec")
int BPF_PROG(program_begins, struct task_struct *task)
{
	__u64 now_ns = bpf_ktime_get_ns();

	tell_program(task, now_ns);
	count_run(now_ns);
	return 0;
}

/* --- page faults -------------------------------------------------------------------------------
 *
 * Sends faults of user memory with their stacks, also if a signal follows. Interrupts are
 * off, so no other program of this CPU is interrupted but one that reads user memory. */

/* One fault in 2^bits is sent, and all writes to one page in 2^bits; bits change while it runs. */
volatile __u32 fault_bits = 4, resident_bits = 4;
const volatile __u32 want_faults = 1, want_resident = 0;

enum { FAULT_ERROR_WRITE = 2 }; /* X86_PF_WRITE of arch/x86/include/asm/trap_pf.h */

/* Sends the fault's event, which is put together in memory of the map: the stacks of all functions
 * below this one share 512 bytes. */
static __always_inline void send_fault(struct scratch *s, struct task_struct *task, __u64 now_ns)
{
	struct event_fault *ev = (struct event_fault *)&s->out_wait;
	__u32 n;

	begin_sample(&ev->sample, task, EVENT_FAULT, now_ns);
	ev->sample.trace = s->trace;
	ev->sample.gpu_call = s->gpu_call;
	if (s->head.walk_end == WALK_NOT_LOADED && sample_raw(s, FROM_OTHERS, WALK_BY_PARTS))
		return;
	n = hash_stack(s, WALK_MAX_KERNEL);
	if (n) {
		ev->sample.stack_hash = s->head.stack_hash;
		send_stack(s, n, FROM_OTHERS);
	}
	if (bpf_ringbuf_output(&ring, ev, sizeof *ev, wake_flags(FROM_OTHERS, 1)))
		count(COUNT_FAULTS_LOST);
}

/* Returns bits of enum fault_flag. By chance: a program may touch the same few pages again and
 * again. By a hash: only writes get memory. */
static __always_inline __u32 choose(__u64 address, __u64 error, __u32 tgid, __u32 bits,
				    __u32 page_bits)
{
	__u32 flags = 0;

	if (want_faults && !(bpf_get_prandom_u32() & ((1u << bits) - 1)))
		flags |= FAULT_CHANCE;
	if (!want_resident || !(error & FAULT_ERROR_WRITE))
		return flags;
	if (fault_has_page(address, tgid, page_bits))
		flags |= FAULT_PAGE;
	if (fault_has_region(address, tgid, page_bits))
		flags |= FAULT_REGION;
	return flags;
}

/* Not atomic: interrupts are off, and the sampler does not change it. */
static __always_inline void count_seen(void)
{
	__u32 which = COUNT_FAULTS_SEEN;
	__u64 *n = bpf_map_lookup_elem(&counters, &which);

	if (n)
		*n += 1;
}

static __always_inline int take_fault(__u64 address, __u64 error)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid(), now_ns;
	__u32 bits = fault_bits & 31, page_bits = resident_bits & 31, flags;
	struct task_struct *task;
	struct event_fault *ev;
	char comm[EVENT_COMM_LEN];
	struct scratch *s;

	count_seen();
	flags = choose(address, error, pid_tgid >> 32, bits, page_bits);
	if (!flags)
		return 0;
	bpf_get_current_comm(comm, sizeof comm);
	if (!wanted(pid_tgid >> 32, (__u32)pid_tgid, comm))
		return 0;
	s = scratch_for(SCRATCH_WAIT);
	if (!s)
		return 0;
	now_ns = bpf_ktime_get_ns();
	task = current_task();
	s->head = (struct event_stack){ .kind = EVENT_STACK, .walk_end = WALK_NO_USER };
	s->trace = (struct event_trace){ 0 };
	no_call(s);
	end_stack(task, s, now_ns);
	s->head.syscall = 0; /* only waits have it */
	ev = (struct event_fault *)&s->out_wait;
	__builtin_memset(&ev->fault, 0, sizeof ev->fault);
	ev->fault.bits = bits;
	ev->fault.flags = flags;
	ev->fault.address = address;
	ev->fault.page_bits = page_bits;
	ev->fault.parts = PART_FAULT;
	send_fault(s, task, now_ns);
	count_run(now_ns);
	add(COUNT_FAULTS_NS, bpf_ktime_get_ns() - now_ns);
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(fault_user, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return take_fault(address, error);
}

/* The kernel touches user memory in a system call. Whoever only tries to read it has disabled
 * faults; so does the read of this counter itself. */
SEC("tp_btf/page_fault_kernel")
int BPF_PROG(fault_kernel, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	if ((__s64)address < 0 || BPF_CORE_READ(task, pagefault_disabled) > 1)
		return 0;
	return take_fault(address, error);
}
