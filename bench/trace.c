/* trace COMMAND ARG…: runs it while the kernel counts the time of BPF programs, as kernel.bpf_stats_enabled would have it do for good. */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int status = 0, fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (argc < 2 || fd < 0) {
		fprintf(stderr, "usage: trace COMMAND ARG… (as root): %s\n", strerror(errno));
		return 1;
	}
	pid_t pid = fork();
	if (pid == 0) {
		execvp(argv[1], argv + 1);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
