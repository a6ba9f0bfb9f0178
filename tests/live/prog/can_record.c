/* can_record: whether this user may record the whole machine on this kernel at all. Exits with 0, or with 1 and the first call that is refused: a test
 * that records is skipped then. It asks the kernel itself, so that a defect of cresset is no reason to skip. */
// build: -O1
#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int refused(const char *what)
{
	printf("recording is refused here: %s: %s\n", what, strerror(errno));
	return 1;
}

int main(void)
{
	struct perf_event_attr event = { .type = PERF_TYPE_SOFTWARE,
					 .size = sizeof event,
					 .config = PERF_COUNT_SW_CPU_CLOCK,
					 .sample_period = 1000000000 };
	struct bpf_insn return_0[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr program = { .prog_type = BPF_PROG_TYPE_PERF_EVENT,
				   .insns = (__u64)(unsigned long)return_0,
				   .insn_cnt = 2,
				   .license = (__u64)(unsigned long)"GPL" };

	if (geteuid() != 0) {
		puts("recording the machine needs root");
		return 1;
	}
	if (syscall(SYS_perf_event_open, &event, -1, 0, -1, 0) < 0)
		return refused("perf_event_open");
	if (syscall(SYS_bpf, BPF_PROG_LOAD, &program, sizeof program) < 0)
		return refused("bpf");
	return 0;
}
