/* The users of a device: memory from the list of processes with a context, utilization from the
 * driver's buffer. */
#include "base/clock.h"
#include "base/vec.h"
#include "gpu/device/nvidia.h"

#include <string.h>

enum { ROOM = 64, TRIES = 4 };
#define PERCENT    0.01
#define MOST_AHEAD 1000000 /* µs: clocks are not read at the same time */

/* The next size to try: space for the reported number, and for processes that start in the
 * meantime. */
static uint32_t next_room(uint32_t room, uint32_t said)
{
	uint32_t want = said > room && said < GPU_MAX_PROCESSES ? said + ROOM : 2 * room;

	return want < GPU_MAX_PROCESSES ? want : GPU_MAX_PROCESSES;
}

static void add(struct nvidia_read *r, uint32_t pid, uint64_t memory_bytes)
{
	const struct gpu_process p = { .device = r->device,
				       .pid = pid,
				       .time_ns = r->now_ns,
				       .has_memory = memory_bytes != NVML_UNKNOWN_64,
				       .memory_bytes = memory_bytes };

	vec_push(&r->out->processes, p);
}

/* Each version of the function fills another struct. */
static int ask_listed(struct nvidia_read *r, uint32_t room, uint32_t *n)
{
	struct gpu_session *s = r->s;

	*n = room;
	if (s->api.processes_v3 || s->api.processes_v2) {
		vec_reserve(&s->listed, room);
		return s->api.processes_v3 ? nvidia_ask(s, processes_v3, r->handle, n, s->listed.v)
					   : nvidia_ask(s, processes_v2, r->handle, n, s->listed.v);
	}
	vec_reserve(&s->listed_v1, room);
	int result = nvidia_ask(s, processes_v1, r->handle, n, s->listed_v1.v);
	vec_reserve(&s->listed, room);
	for (uint32_t i = 0; result == NVML_OK && i < *n && i < room; i++)
		s->listed.v[i] =
			(struct nvml_process){ .pid = s->listed_v1.v[i].pid,
					       .memory_bytes = s->listed_v1.v[i].memory_bytes };
	return result;
}

static void read_listed(struct nvidia_read *r)
{
	uint32_t room = ROOM, n = 0;
	int result = ask_listed(r, room, &n);

	for (int i = 0; i < TRIES && result == NVML_INSUFFICIENT_SIZE; i++) {
		room = next_room(room, n);
		result = ask_listed(r, room, &n);
	}
	if (result == NVML_INSUFFICIENT_SIZE)
		r->out->truncated++;
	if (!nvidia_heard(r, result))
		return;
	if (n > room)
		r->out->implausible++;
	for (uint32_t i = 0; i < n && i < room; i++)
		add(r, r->s->listed.v[i].pid, r->s->listed.v[i].memory_bytes);
}

/* --- utilisation ------------------------------------------------------------------------------ */

static struct gpu_process *find(struct nvidia_read *r, size_t from, uint32_t pid)
{
	for (size_t i = from; i < r->out->processes.n; i++)
		if (r->out->processes.v[i].pid == pid && r->out->processes.v[i].device == r->device)
			return &r->out->processes.v[i];
	add(r, pid, NVML_UNKNOWN_64);
	return &r->out->processes.v[r->out->processes.n - 1];
}

static int ask_used(struct nvidia_read *r, uint32_t *room, uint32_t *n)
{
	struct gpu_session *s = r->s;
	int result = NVML_INSUFFICIENT_SIZE;

	*room = ROOM;
	for (int i = 0; i < TRIES && result == NVML_INSUFFICIENT_SIZE; i++) {
		vec_reserve(&s->used, *room);
		*n = *room;
		result = nvidia_ask(s, process_use, r->handle, s->used.v, n, r->seen->processes_us);
		if (result == NVML_INSUFFICIENT_SIZE)
			*room = next_room(*room, *n);
	}
	return result;
}

/* Of several samples of a process the last one counts. */
static void read_used(struct nvidia_read *r, size_t from)
{
	uint32_t room, n = 0;
	uint64_t last_us = r->seen->processes_us, most_us = clock_wall_ns() / 1000 + MOST_AHEAD;

	if (!r->s->api.process_use || !nvidia_heard(r, ask_used(r, &room, &n)))
		return;
	if (n > room)
		r->out->implausible++;
	for (uint32_t i = 0; i < n && i < room; i++) {
		const struct nvml_process_use *u = &r->s->used.v[i];
		if (!u->pid || u->time_us <= r->seen->processes_us)
			continue; /* an empty slot in the buffer */
		if (u->sm > 100 || u->time_us > most_us) {
			r->out->implausible++;
			continue;
		}
		struct gpu_process *p = find(r, from, u->pid);
		p->has_utilization = true;
		p->utilization = nvidia_in(u->sm, PERCENT);
		last_us = u->time_us > last_us ? u->time_us : last_us;
	}
	r->seen->processes_us = last_us;
}

void nvidia_read_processes(struct nvidia_read *r)
{
	size_t from = r->out->processes.n;

	read_listed(r);
	if (!r->is_lost)
		read_used(r, from);
}
