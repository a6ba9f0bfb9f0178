/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/trace_read.h: reads the span that a thread works for from where its process stores it
 * (bpf/trace.h). All data come from the process and cannot be trusted: there are a few reads of
 * fixed length and no loop, and an unreadable span is counted and left out. */
#ifndef CRESSET_BPF_TRACE_READ_H
#define CRESSET_BPF_TRACE_READ_H

#include "bpf/maps.h"
#include "bpf/task_copy.h"
#include "bpf/trace.h"

/* 0 while no process has a recipe: then a sample only pays for this check. */
volatile __u32 traced;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TRACE_MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct trace_recipe);
} recipes SEC(".maps");

enum trace_found { TRACE_NONE = 0, TRACE_FOUND, TRACE_UNREADABLE };

/* Reads memory of the current task; sleepable: of any task. */
static __always_inline int trace_copy(struct task_struct *task, void *to, __u32 size, __u64 from,
				      int sleepable)
{
	return sleepable ? task_copy(task, to, size, from)
			 : (int)bpf_probe_read_user(to, size, (void *)from);
}

/* Finds the block of a module; *out is 0 if the thread has none. */
static __always_inline int trace_block(struct task_struct *task, const struct trace_recipe *r,
				       __u64 thread_pointer, __u64 *out, int sleepable)
{
	const int is_glibc = r->place == TRACE_GLIBC;
	__u64 vector, head[3] = { 0 }, entry;

	*out = 0;
	if (trace_copy(task, &vector, sizeof vector, thread_pointer + 8, sleepable))
		return -1;
	if (is_glibc) {
		if (trace_copy(task, head, sizeof head, vector - 16, sleepable))
			return -1;
	} else if (trace_copy(task, head, sizeof head[0], vector, sleepable)) {
		return -1;
	}
	if (r->module > head[0] || (is_glibc && head[2] < r->generation))
		return 0;
	entry = vector + (__u64)r->module * (is_glibc ? 16 : 8);
	if (trace_copy(task, out, sizeof *out, entry, sleepable))
		return -1;
	if (*out == ~0ull) /* not allocated yet */
		*out = 0;
	return 0;
}

static __always_inline int is_proven(struct task_struct *task, const struct trace_recipe *r,
				     int sleepable)
{
	__u64 word = 0;

	return !r->proof_at ||
	       (!trace_copy(task, &word, sizeof word, r->proof_at, sleepable) && word == r->proof);
}

/* Reads the record as it is; out changes only if there is one. */
static __always_inline int trace_record(struct task_struct *task, const struct trace_recipe *r,
					struct thread_record *out, int sleepable)
{
	__u64 base = BPF_CORE_READ(task, thread.fsbase), record = 0;

	if (!base || !is_proven(task, r, sleepable))
		return TRACE_NONE;
	if (r->place != TRACE_STATIC) {
		if (trace_block(task, r, base, &base, sleepable))
			return TRACE_UNREADABLE;
		if (!base)
			return TRACE_NONE;
	}
	if (trace_copy(task, &record, sizeof record, base + r->offset, sleepable))
		return TRACE_UNREADABLE;
	if (!record)
		return TRACE_NONE;
	return trace_copy(task, out, sizeof *out, record, sleepable) ? TRACE_UNREADABLE
								     : TRACE_FOUND;
}

/* Takes both ids or none: the specification states that one alone is none. */
static __always_inline int trace_take(const struct thread_record *record, struct event_trace *out)
{
	struct event_trace t;

	__builtin_memcpy(&t, record, sizeof t);
	if (record->valid != 1 || !(t.trace[0] | t.trace[1]) || !t.span)
		return 0;
	*out = t;
	return 1;
}

static __always_inline int has_threads_of_its_own(struct task_struct *task)
{
	return !(BPF_CORE_READ(task, flags) & TASK_PF_NO_USER);
}

static __always_inline int trace_of(struct task_struct *task, __u32 tgid, struct scratch *s,
				    int sleepable)
{
	struct trace_recipe *r = bpf_map_lookup_elem(&recipes, &tgid);
	int found;

	if (!r || !has_threads_of_its_own(task))
		return 0;
	found = trace_record(task, r, &s->record, sleepable);
	if (found == TRACE_UNREADABLE)
		count(COUNT_TRACES_UNREAD);
	return found == TRACE_FOUND && trace_take(&s->record, &s->trace);
}

/* Reads the span of the current task into the scratch of that index. A global function: verified
 * once, not in every state of its callers. */
__weak int current_trace(__u32 index, __u32 tgid)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);

	return s ? trace_of((struct task_struct *)bpf_get_current_task(), tgid, s, 0) : 0;
}

/* Sets s->trace, to zeros if none exists. */
static __always_inline void take_trace(struct scratch *s, __u32 tgid)
{
	s->trace = (struct event_trace){ 0 };
	if (traced)
		current_trace(s->index, tgid);
}

#endif
