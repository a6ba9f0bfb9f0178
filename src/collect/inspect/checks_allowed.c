/* What this machine, or the parent of this process, may forbid. */
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "collect/inspect/check_rows.h"
#include "collect/kernel/sampler.h"

#include <stdio.h>
#include <unistd.h>

/* linux/capability.h */
enum { CAPABILITY_SYS_RESOURCE = 24 };

void check_lockdown(const struct check_input *in, struct check *c)
{
	switch (in->facts.lockdown) {
	case LOCKDOWN_NONE:
		check_say(c, CHECK_OK, "none");
		break;
	case LOCKDOWN_INTEGRITY:
		check_say(c, CHECK_OK, "integrity: allows recording");
		break;
	case LOCKDOWN_CONFIDENTIALITY:
		check_say(c, CHECK_MISSING,
			  "confidentiality: kernel memory is not readable, so nothing can be "
			  "recorded");
		check_remedy(c, "boot without lockdown=confidentiality; lockdown=integrity allows "
				"recording");
		break;
	}
}

void check_security_modules(const struct check_input *in, struct check *c)
{
	char deny[64];

	refusal_modules_that_deny(&in->facts, deny, sizeof deny);
	if (!in->facts.security_modules[0])
		check_say(c, CHECK_OK, "none known");
	else
		check_say(c, CHECK_OK, "%.100s: %s%s", in->facts.security_modules,
			  *deny ? "may deny BPF by a policy: " : "none of them denies BPF", deny);
}

void check_seccomp(const struct check_input *in, struct check *c)
{
	const char *call = refusal_filtered_call(&in->facts);

	if (!call) {
		check_say(c, CHECK_OK,
			  in->facts.has_seccomp_filter
				  ? "a filter that allows bpf() and perf_event_open()"
				  : "no filter on this process");
		return;
	}
	check_say(c, CHECK_MISSING, "%s is refused by a filter, as container runtimes set one",
		  call);
	check_remedy(c, "docker run --cap-add BPF --cap-add PERFMON --cap-add SYS_PTRACE\n"
			"    --security-opt seccomp=unconfined …  (or a profile that allows it)");
}

/* Only kernels of Debian and Ubuntu define values above 2, so this opens an event as a trial. */
void check_perf_events(const struct check_input *in, struct check *c)
{
	struct err err = { 0 };
	const char *clock;
	int fd = sampler_open_event(0, 99, CLOCK_AUTO, &clock);

	if (fd < 0) {
		refusal_explain_by(&(struct refusal){ .step = REFUSED_PERF_EVENT, .error = fd },
				   &in->facts, &err);
		check_say(c, CHECK_MISSING, "%.150s", err.text);
		check_remedy(c, err.hint);
		return;
	}
	close(fd);
	check_say(c, CHECK_OK, "allowed; kernel.perf_event_paranoid is %d",
		  in->facts.perf_paranoid);
}

void check_locked_memory(const struct check_input *in, struct check *c)
{
	const struct refusal_facts *f = &in->facts;
	struct buf limit = { 0 };

	fmt_bytes(&limit, f->memlock_bytes);
	if (f->kernel_major > 5 || (f->kernel_major == 5 && f->kernel_minor >= 11))
		check_say(c, CHECK_OK, "does not count for BPF: kernel 5.11 or newer");
	else if (f->memlock_bytes == UINT64_MAX)
		check_say(c, CHECK_OK, "not limited");
	else if (refusal_has_capability(f, CAPABILITY_SYS_RESOURCE))
		check_say(c, CHECK_OK, "%s, and raised as needed", buf_cstr(&limit));
	else
		check_say(c, CHECK_MISSING, "%s: BPF maps count before kernel 5.11",
			  buf_cstr(&limit));
	if (c->state == CHECK_MISSING)
		check_remedy(c,
			     "ulimit -l unlimited; for a service LimitMEMLOCK=infinity; docker run "
			     "--ulimit memlock=-1 …");
	buf_done(&limit);
}

/* Memory that a recording needs: kernel memory, and this process. */
#define ROOM_BYTES (96ull << 20)

void check_memory_cgroup(const struct check_input *in, struct check *c)
{
	const struct refusal_facts *f = &in->facts;
	struct buf limit = { 0 }, used = { 0 };

	if (!f->memory_limit_bytes) {
		check_say(c, CHECK_OK, "no limit");
		return;
	}
	bool has_room = f->memory_used_bytes + ROOM_BYTES <= f->memory_limit_bytes;

	fmt_bytes(&limit, f->memory_limit_bytes);
	fmt_bytes(&used, f->memory_used_bytes);
	check_say(c, has_room ? CHECK_OK : CHECK_LIMITED, "%s of %s are used%s", buf_cstr(&used),
		  buf_cstr(&limit), has_room ? "" : ": BPF maps and this process count there");
	if (!has_room)
		check_remedy(c, "raise memory.max of the cgroup (MemoryMax= of a service, docker "
				"run --memory)");
	buf_done(&limit);
	buf_done(&used);
}
