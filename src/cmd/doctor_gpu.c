#include "cmd/doctor_gpu.h"

#include "base/escape.h"
#include "cmd/gpu_library.h"
#include "cmd/gpu_now.h"
#include "collect/gpu_survey.h"
#include "gpu/attach_refuse.h"
#include "gpu/cuda_attach.h"

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

static void say_gpus(const struct gpu_now *now, struct check *c)
{
	*c = (struct check){ .name = "GPUs", .state = CHECK_OK };
	if (now->status.hangs_ns || now->status.state == GPU_STARTING) {
		c->state = CHECK_LIMITED;
		snprintf(c->detail, sizeof c->detail,
			 "the driver does not answer: no metrics of GPUs");
		snprintf(c->remedy, sizeof c->remedy,
			 "all else goes on; the kernel's log says more: dmesg | tail");
	} else if (now->status.state == GPU_WORKS) {
		say_works(now, c);
	} else if (now->status.state == GPU_FAILED) {
		c->state = CHECK_LIMITED;
		snprintf(c->detail, sizeof c->detail, "no metrics: %.140s", now->status.words);
	} else {
		snprintf(c->detail, sizeof c->detail, "none (%.140s)", now->status.words);
	}
}

static void say_profiling(const struct gpu_now *now, struct check *c)
{
	const struct gpu_backend *backend = gpu_backend_of(now->status.backend);
	enum gpu_profiling who =
		backend && backend->profiling ? backend->profiling() : GPU_PROFILING_UNKNOWN;

	*c = (struct check){ .name = "GPU profiling", .state = CHECK_OK };
	if (who == GPU_PROFILING_ALL) {
		snprintf(c->detail, sizeof c->detail, "the driver lets every user take samples");
		return;
	}
	c->state = CHECK_LIMITED;
	if (who == GPU_PROFILING_ADMIN)
		snprintf(c->detail, sizeof c->detail,
			 "the driver lets only programs of root take samples of instructions; GPU "
			 "time needs no permission");
	else
		snprintf(c->detail, sizeof c->detail,
			 "the driver does not say who may take samples of instructions");
	snprintf(c->remedy, sizeof c->remedy,
		 "for programs of other users, then load the driver anew: echo options nvidia "
		 "NVreg_RestrictProfilingToAdminUsers=0 >/etc/modprobe.d/profiling.conf");
}

static void say_library(const struct gpu_survey *s, struct check *c)
{
	char path[GPU_LIBRARY_PATH_MAX];
	struct err err = { 0 };
	uint32_t uses = 0, has = 0;

	for (size_t i = 0; i < s->all.n; i++) {
		uses += s->all.v[i].uses_gpu;
		has += s->all.v[i].has_library;
	}
	*c = (struct check){ .name = "GPU time", .state = CHECK_OK };
	int n = snprintf(c->detail, sizeof c->detail,
			 "programs that use a GPU: %u, with the library: %u", uses, has);

	if (gpu_library_path(cuda_attach_library.name, path, &err) < 0) {
		c->state = CHECK_LIMITED;
		snprintf(c->detail + n, sizeof c->detail - n, "; none can get it: %.60s", err.text);
		snprintf(c->remedy, sizeof c->remedy,
			 "install %s beside cresset, or in ../lib/cresset from there",
			 cuda_attach_library.name);
	} else if (s->unreadable) {
		snprintf(c->detail + n, sizeof c->detail - n, "; %u may not be looked at",
			 s->unreadable);
	}
}

static void say_attach(struct check *c)
{
	enum gpu_attach_refusal why = attach_refused_always();

	*c = (struct check){ .name = "GPU attach", .state = CHECK_OK };
	if (why == GPU_ATTACH_NOT_REFUSED) {
		snprintf(c->detail, sizeof c->detail,
			 "programs that run can get the library: gpu attach, up --gpu-attach");
		return;
	}
	c->state = CHECK_LIMITED;
	snprintf(c->detail, sizeof c->detail,
		 why == GPU_ATTACH_PTRACE_SCOPE
			 ? "no program that runs can get the library: kernel.yama.ptrace_scope is 3"
			 : "programs of other users cannot get the library while they run");
	snprintf(c->remedy, sizeof c->remedy,
		 why == GPU_ATTACH_PTRACE_SCOPE
			 ? "give it to programs that start: " CUDA_INJECTION_VARIABLE
			 : "run as root, or with CAP_SYS_PTRACE");
}

size_t doctor_gpu(struct check *out, size_t max)
{
	struct gpu_survey survey = { 0 };
	struct gpu_now now = { 0 };
	size_t n = 0;

	if (max < DOCTOR_GPU_CHECKS)
		return 0;
	gpu_now_read(&now);
	gpu_survey(cuda_attach_library.name, &survey);
	say_gpus(&now, &out[n++]);
	bool is_here = now.status.state == GPU_WORKS;

	if (is_here)
		say_profiling(&now, &out[n++]);
	if (is_here || survey.all.n)
		say_library(&survey, &out[n++]);
	if (is_here || survey.all.n)
		say_attach(&out[n++]);
	gpu_survey_done(&survey);
	gpu_now_done(&now);
	return n;
}
