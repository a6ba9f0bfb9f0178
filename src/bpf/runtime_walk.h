/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/runtime_walk.h: the maps of the walkers of code that runtimes have made, and the step that a
 * walk takes for a frame of it (bpf/hotspot_step.h, bpf/v8_step.h). */
#ifndef CRESSET_BPF_RUNTIME_WALK_H
#define CRESSET_BPF_RUNTIME_WALK_H

#include "bpf/hotspot_step.h"
#include "bpf/maps.h"
#include "bpf/v8_step.h"

/* --- written by user space -------------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HOTSPOT_MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct hotspot_process);
} hotspot_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HOTSPOT_MAX_LAYOUTS);
	__type(key, __u32);
	__type(value, struct hotspot_layout);
} hotspot_layouts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, V8_MAX_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* tgid */
	__type(value, struct v8_process);
} v8_processes SEC(".maps");

/* --- state of walks --------------------------------------------------------------------------- */

/* By the index of the scratch. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES);
	__type(key, __u32);
	__type(value, struct hotspot_walk);
} hotspot_walks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES);
	__type(key, __u32);
	__type(value, struct v8_walk);
} v8_walks SEC(".maps");

/* --- HotSpot ---------------------------------------------------------------------------------- */

static int hotspot_read(struct walk *w, void *to, __u32 size, __u64 address)
{
	(void)w;
	return bpf_probe_read_user(to, size, (const void *)address) != 0;
}

/* Prepares for the frames of a process; returns nonzero if it has such. A global function: verified
 * once. */
__weak int hotspot_begin(__u32 index, __u32 tgid)
{
	struct hotspot_walk *h = bpf_map_lookup_elem(&hotspot_walks, &index);
	const struct hotspot_process *p = bpf_map_lookup_elem(&hotspot_processes, &tgid);
	const struct hotspot_layout *l;
	__u32 layout;

	if (!use_runtimes || !h || !p)
		return 0;
	layout = p->layout;
	l = bpf_map_lookup_elem(&hotspot_layouts, &layout);
	if (!l)
		return 0;
	h->process = *p;
	h->layout = *l;
	return 1;
}

/* Returns enum hotspot_stepped. A global function: verified once, and no part of the chain of calls
 * that walk_any_frame is in. */
__weak int hotspot_frame(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	struct hotspot_walk *h = bpf_map_lookup_elem(&hotspot_walks, &index);

	if (!use_runtimes || !s || !h)
		return HOTSPOT_NOT_MINE;
	return hotspot_step(&s->walk, h);
}

/* --- V8 --------------------------------------------------------------------------------------- */

static int v8_read(struct walk *w, void *to, __u32 size, __u64 address)
{
	(void)w;
	return bpf_probe_read_user(to, size, (const void *)address) != 0;
}

/* As hotspot_begin. */
__weak int v8_begin(__u32 index, __u32 tgid)
{
	struct v8_walk *v = bpf_map_lookup_elem(&v8_walks, &index);
	const struct v8_process *p = bpf_map_lookup_elem(&v8_processes, &tgid);

	if (!use_runtimes || !v || !p)
		return 0;
	v->process = *p;
	return 1;
}

/* Returns enum v8_stepped, which has the values of enum hotspot_stepped. As hotspot_frame. */
__weak int v8_frame(__u32 index)
{
	struct scratch *s = bpf_map_lookup_elem(&scratches, &index);
	struct v8_walk *v = bpf_map_lookup_elem(&v8_walks, &index);

	if (!use_runtimes || !s || !v)
		return V8_NOT_MINE;
	return v8_step(&s->walk, v);
}

#endif
