/* tests/unit/debug_server.h: tests/unit/debug_server.py as a child of a test. */
#ifndef CRESSET_TESTS_DEBUG_SERVER_H
#define CRESSET_TESTS_DEBUG_SERVER_H

#include "shell.h"
#include "symbol/symbol.h"

#include <sys/wait.h>

struct debug_server {
	pid_t pid;
	int port, its_input; /* it ends when this is closed */
};

/* Serves `file` under its build id, and the other files in dir. */
static inline void debug_server_start(struct debug_server *s, const char *dir, const char *file)
{
	int in[2], out[2];
	uint8_t id[64];
	char hex[129] = "", line[16] = "";
	int fd = file_open(file);
	int len = elf_build_id(fd, id, sizeof id);
	for (int i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	shell_do("cp /proc/%d/fd/%d %s/%s", getpid(), fd, dir, hex);
	close(fd);
	ck_assert_int_eq(pipe(in), 0);
	ck_assert_int_eq(pipe(out), 0);
	s->pid = fork();
	if (s->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execlp("python3", "python3", "tests/unit/debug_server.py", dir, NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	FILE *its_output = fdopen(out[0], "r");
	ck_assert_ptr_nonnull(fgets(line, sizeof line, its_output));
	fclose(its_output);
	s->its_input = in[1];
	s->port = atoi(line);
	ck_assert_int_gt(s->port, 0);
}

static inline void debug_server_stop(struct debug_server *s)
{
	close(s->its_input);
	waitpid(s->pid, NULL, 0);
}

#endif
