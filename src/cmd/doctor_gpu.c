#include "cmd/doctor_gpu.h"

#include "base/escape.h"
#include "cmd/gpu_now.h"

#include <stdio.h>

static uint32_t count_lost(const struct gpu_machine *m)
{
	uint32_t n = 0;

	for (size_t i = 0; i < m->devices.n; i++)
		n += m->devices.v[i].is_lost;
	return n;
}

static void say_works(const struct gpu_now *now, struct check *c)
{
	const struct gpu_machine *m = &now->machine;
	uint32_t gpus = 0, lost = count_lost(m);

	for (size_t i = 0; i < m->devices.n; i++)
		gpus += !m->devices.v[i].is_instance;
	snprintf(c->detail, sizeof c->detail,
		 "%u, %.60s, driver %.40s; processes that use them: %zu", gpus,
		 m->devices.n ? m->devices.v[0].name : "", m->driver, now->reading.processes.n);
	if (!lost && !m->left_out)
		return;
	c->state = CHECK_LIMITED;
	snprintf(c->remedy, sizeof c->remedy,
		 "%u of them lost, %u do not answer: the kernel's log says more: dmesg | tail",
		 lost, m->left_out);
}

void doctor_gpu(struct check *c)
{
	struct gpu_now now = { 0 };

	*c = (struct check){ .name = "GPUs", .state = CHECK_OK };
	gpu_now_read(&now);
	if (now.status.hangs_ns || now.status.state == GPU_STARTING) {
		c->state = CHECK_LIMITED;
		snprintf(c->detail, sizeof c->detail,
			 "the driver does not answer: no metrics of GPUs");
		snprintf(c->remedy, sizeof c->remedy,
			 "all else goes on; the kernel's log says more: dmesg | tail");
	} else if (now.status.state == GPU_WORKS) {
		say_works(&now, c);
	} else if (now.status.state == GPU_FAILED) {
		c->state = CHECK_LIMITED;
		snprintf(c->detail, sizeof c->detail, "no metrics: %.140s", now.status.words);
	} else {
		snprintf(c->detail, sizeof c->detail, "none (%.140s)", now.status.words);
	}
	gpu_now_done(&now);
}
