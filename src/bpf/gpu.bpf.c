// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* bpf/gpu.bpf.c: probes on the libraries that programs use a GPU by: at the beginning of calls, and at the end of those that wait or allocate.
 *
 * Loaded when a process has such a library, beside sample.bpf.c, whose maps it shares where they are of the same name, but for the places that
 * stacks are built in: a task in a probe may be preempted, and another one come to a probe on the same CPU. All probes of a kind are one program;
 * the cookie is the number of the row that says what the function's arguments are. */
#include "bpf/gpu_bytes.h"
#include "bpf/gpu_memory.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* What does not wait for the call's end. A function does one of these at most. */
static __always_inline void at_entry(struct pt_regs *ctx, struct gpu_thread *t,
				     const struct gpu_probe_row *row, struct gpu_place *p)
{
	__u32 what = row->what;

	if (what & (GPU_LAUNCH | GPU_COPY | GPU_NCCL | GPU_STACK))
		counted_call(ctx, t, row, p);
	if (what & GPU_FREE)
		release_block(t, row, p, argument(ctx, row->address));
	if (what & GPU_MAP)
		map_block(ctx, p);
	if (what & GPU_UNMAP)
		unmap_blocks(ctx, t, p);
	if (what & GPU_RETAIN)
		retain_block(ctx, p);
	if (what & GPU_USE)
		t->context = argument(ctx, row->address);
	if (what & GPU_RESET)
		reset_context(t, row, p,
			      row->address == GPU_NO_ARG ? t->context
							 : argument(ctx, row->address));
}

static __always_inline void keep_call(struct gpu_thread *t, const struct gpu_probe_row *row,
				      const struct gpu_call *call, __u32 at)
{
	if (t->waits_sp) /* its end was not seen */
		note_wait(t, 0);
	t->return_at = t->inner_at = 0;
	t->sp = call->sp;
	t->ret = call->ret;
	t->ip = call->ip;
	t->from = call->ip - row->below;
	t->to = call->ip + row->beyond;
	t->row = at;
}

static __always_inline void enter(struct pt_regs *ctx, struct gpu_place *p)
{
	__u32 at = (__u32)bpf_get_attach_cookie(ctx);
	const struct gpu_probe_row *row = bpf_map_lookup_elem(&gpu_rows, &at);
	struct gpu_call *call = &p->call;
	struct gpu_thread *t;

	if (!row || !begin_call(ctx, call))
		return;
	t = thread_of(p);
	if (!t)
		return;
	if (!(row->what & GPU_STACK)) { /* which comes in the middle of a call */
		if (is_nested(t, row, call)) {
			if (row->what & GPU_AT_RETURN) {
				t->inner_at = call->sp;
				t->inner_ret = call->ret;
			}
			return;
		}
		keep_call(t, row, call, at);
		call->bytes = bytes_of(ctx, p, row, at);
	}
	at_entry(ctx, t, row, p);
	if (row->what & GPU_AT_RETURN)
		keep_until_return(ctx, t, row, call);
}

SEC("uprobe")
int gpu_enter(struct pt_regs *ctx)
{
	struct gpu_place *p = take_place();

	if (!p)
		return 0;
	enter(ctx, p);
	give_place(p);
	return 0;
}

/* Notes where a thread is on its way to; 0: the return is not probed any more. */
static __always_inline __u64 returned(struct gpu_thread *t, __u64 at, __u64 to)
{
	if (at) {
		t->back_at = at;
		t->back_to = to;
	}
	return 0;
}

static __always_inline void leave(struct pt_regs *ctx, struct gpu_place *p)
{
	__u32 at = (__u32)bpf_get_attach_cookie(ctx), tid = (__u32)bpf_get_current_pid_tgid();
	const struct gpu_probe_row *row = bpf_map_lookup_elem(&gpu_rows, &at);
	struct gpu_thread *t = bpf_map_lookup_elem(&gpu_threads, &tid);

	if (!row || !t)
		return;
	if (t->inner_at && t->inner_at + 8 == word_of(ctx, PT_SP))
		t->inner_at = returned(t, t->inner_at, t->inner_ret);
	if (t->row != at || t->sp + 8 != word_of(ctx, PT_SP))
		return;
	if (row->what & GPU_WAIT ? end_wait(t, row, &p->ev) : end_alloc(ctx, t, row, &p->ev))
		send_with(ctx, p, t);
	t->return_at = returned(t, t->return_at, t->ret);
	t->sp = 0;
}

SEC("uretprobe")
int gpu_return(struct pt_regs *ctx)
{
	struct gpu_place *p = take_place();

	if (!p)
		return 0;
	leave(ctx, p);
	give_place(p);
	return 0;
}

/* A thread that ends takes with it what it launched since its last stack; that is sent first. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(gpu_exit, struct task_struct *task)
{
	__u32 tid = task->pid;
	struct gpu_thread *t = bpf_map_lookup_elem(&gpu_threads, &tid);

	if (!t)
		return 0;
	if (t->rates[GPU_RATE_LAUNCH].skipped)
		send_rest(t);
	bpf_map_delete_elem(&gpu_threads, &tid);
	return 0;
}
