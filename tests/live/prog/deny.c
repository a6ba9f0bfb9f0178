// deny CALL ERROR COMMAND…: runs a command under a seccomp filter, as a container's runtime sets one, that answers a system call with an error.
// CALL: bpf, bpf:COMMAND (only that command, by its number), perf_event_open, or none (a filter that refuses nothing). ERROR: its number.
// build: -O2
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 4)
		return 125;
	unsigned call = strncmp(argv[1], "bpf", 3) == 0           ? SYS_bpf
			: strcmp(argv[1], "perf_event_open") == 0 ? SYS_perf_event_open
								  : 0xffffffff;
	const char *colon = strchr(argv[1], ':');
	unsigned command = colon ? (unsigned)atoi(colon + 1) : 0;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
		/* of one command, or of any */
		BPF_JUMP(BPF_JMP | (colon ? BPF_JEQ : BPF_JGE) | BPF_K, command, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)atoi(argv[2])),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof code / sizeof *code, code };

	/* As root, without PR_SET_NO_NEW_PRIVS: who drops privileges later still can. */
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("seccomp");
		return 125;
	}
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 126;
}
