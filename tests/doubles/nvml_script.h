/* tests/doubles/nvml_script.h: what the script of libnvidia-ml.so.1.c says, whose head explains its statements. */
#ifndef CRESSET_DOUBLES_NVML_SCRIPT_H
#define CRESSET_DOUBLES_NVML_SCRIPT_H

#include "script.h"

#include <time.h>
#include <unistd.h>

enum { DEVICES = 80, INSTANCES = 8, VALUES = 512, LIST = 64, EVENTS = 32 };

struct nvmlDevice {
	char name[128], uuid[128];
	uint64_t memory, lost_after, asked;
	uint32_t index, mig, is_instance;
};
typedef struct nvmlDevice *device_t;

static struct nvmlDevice devices[DEVICES], instances[DEVICES][INSTANCES];
static struct values {
	uint32_t device, n, calls;
	char key[32];
	int64_t v[LIST];
} values[VALUES];
static struct sample_at {
	uint32_t device, kind, ms, value;
} samples[VALUES];
static struct process_of {
	uint32_t device, pid, sm;
	uint64_t memory;
} processes[8192];
static struct event {
	char function[64];
	int code, is_endless;
	uint32_t ms, after, calls, hangs;
} events[EVENTS];
static uint32_t n_devices, n_values, n_samples, n_processes, n_events, said_count;
static int is_unterminated, is_lying;
static uint64_t begun_us;
static char driver[128];

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* --- statements ------------------------------------------------------------------------------- */

static const char *text(int n, char **words, const char *key, const char *otherwise)
{
	for (int i = 1; i + 1 < n; i++)
		if (strcmp(words[i], key) == 0)
			return words[i + 1];
	return otherwise;
}

static void add_device(int n, char **words)
{
	uint32_t i = n_devices++;
	struct nvmlDevice *d = &devices[i];

	snprintf(d->name, sizeof d->name, "%s", text(n, words, "name", "NVIDIA Double"));
	snprintf(d->uuid, sizeof d->uuid, "%s", text(n, words, "uuid", ""));
	if (!*d->uuid)
		snprintf(d->uuid, sizeof d->uuid, "GPU-00000000-0000-0000-0000-%012u", i);
	d->memory = script_number(n, words, "memory", 80000000000);
	d->mig = (uint32_t)script_number(n, words, "mig", 0);
	d->lost_after = UINT64_MAX;
	d->index = i;
	for (uint32_t k = 0; k < d->mig && k < INSTANCES; k++) {
		struct nvmlDevice *part = &instances[i][k];
		*part = *d;
		part->is_instance = 1;
		part->memory = d->memory / d->mig;
		snprintf(part->uuid, sizeof part->uuid, "MIG-%u-%u", i, k);
	}
}

static void add_metric(char **words)
{
	struct values *v = &values[n_values++];

	v->device = (uint32_t)atoi(words[1]);
	snprintf(v->key, sizeof v->key, "%s", words[2]);
	for (char *p = words[3]; *p && v->n < LIST; p += *p == ',')
		v->v[v->n++] = strtoll(p, &p, 10);
}

static void add_sample(char **words)
{
	uint32_t kind = strcmp(words[2], "power") == 0 ? 0 : strcmp(words[2], "gpu") == 0 ? 1 : 2;

	samples[n_samples++] = (struct sample_at){ .device = (uint32_t)atoi(words[1]),
						   .kind = kind,
						   .ms = (uint32_t)atoi(words[3]),
						   .value = (uint32_t)atoi(words[4]) };
}

static void add_event(int n, char **words)
{
	struct event *e = &events[n_events++];

	snprintf(e->function, sizeof e->function, "%s", words[1]);
	e->hangs = strcmp(words[0], "hang") == 0;
	e->code = e->hangs ? 0 : atoi(words[2]);
	e->ms = (uint32_t)script_number(n, words, "ms", 0);
	e->is_endless = e->hangs && !e->ms;
	e->after = (uint32_t)script_number(n, words, "after", 0);
}

static void add_crowd(int n, char **words)
{
	uint64_t count = script_number(n, words, "count", 0);

	for (uint32_t i = 0; i < count && n_processes < 8192; i++)
		processes[n_processes++] = (struct process_of){ .device = (uint32_t)atoi(words[1]),
								.pid = 1000000 + i,
								.memory = 1 << 20 };
}

static void statement(int n, char **words)
{
	const char *w = words[0];

	if (strcmp(w, "nvml") == 0)
		snprintf(driver, sizeof driver, "%s", text(n, words, "driver", driver));
	else if (strcmp(w, "device") == 0 && n_devices < DEVICES)
		add_device(n, words);
	else if (strcmp(w, "metric") == 0 && n >= 4 && n_values < VALUES)
		add_metric(words);
	else if (strcmp(w, "sample") == 0 && n >= 5 && n_samples < VALUES)
		add_sample(words);
	else if (strcmp(w, "process") == 0 && n >= 3 && n_processes < 8192)
		processes[n_processes++] = (struct process_of){
			.device = (uint32_t)atoi(words[1]),
			.pid = (uint32_t)script_number(n, words, "pid", 1),
			.sm = (uint32_t)script_number(n, words, "sm", 0),
			.memory = script_number(n, words, "memory", 0),
		};
	else if (strcmp(w, "crowd") == 0 && n >= 2)
		add_crowd(n, words);
	else if (strcmp(w, "count") == 0 && n == 2)
		said_count = (uint32_t)strtoll(words[1], NULL, 10);
	else if (strcmp(w, "lost") == 0 && n >= 2)
		devices[atoi(words[1]) % DEVICES].lost_after = script_number(n, words, "after", 0);
	else if ((strcmp(w, "fail") == 0 || strcmp(w, "hang") == 0) && n >= 3 && n_events < EVENTS)
		add_event(n, words);
	is_unterminated |= strcmp(w, "unterminated") == 0;
	is_lying |= strcmp(w, "lie") == 0;
}

#endif
