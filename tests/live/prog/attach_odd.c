/* Programs that must be left alone: attach_odd vfork | seccomp-errno | seccomp-kill; and one that traces another: attach_odd trace PID. They
 * say "ready", and in the filtered ones a thread polls. */
// build: -O1
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

/* openat comes to this. */
static void filter(unsigned verdict)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, verdict),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof code / sizeof *code, code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0)
		perror("seccomp");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "trace") == 0 &&
	    ptrace(PTRACE_SEIZE, argc > 2 ? atoi(argv[2]) : 0, NULL, NULL) != 0)
		perror("trace");
	puts("ready");
	fflush(stdout);
	if (strcmp(what, "vfork") == 0 && vfork() == 0) {
		sleep(60); /* the parent waits in state D meanwhile */
		_exit(0);
	}
	if (strcmp(what, "seccomp-errno") == 0)
		filter(SECCOMP_RET_ERRNO | EPERM);
	if (strcmp(what, "seccomp-kill") == 0)
		filter(SECCOMP_RET_KILL_PROCESS);
	for (;;)
		poll(NULL, 0, 1000);
}
