/* tests/unit/real_server.h: runs the program itself, cresset serve, in its own process. */
#ifndef CRESSET_TESTS_REAL_SERVER_H
#define CRESSET_TESTS_REAL_SERVER_H

#include "unit.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A free port; a server is given the same one each time. A socket without a listener holds it until the test's process
 * ends: no other process gets it, nor a connection from here while the server is away. */
static inline uint16_t free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof a;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)), 0);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	return ntohs(a.sin_port);
}

static inline const char *program(void)
{
	static char path[256]; /* of this test's process */
	const char *build = getenv("BUILD");

	snprintf(path, sizeof path, "%s/cresset", build ? build : "build");
	return path;
}

/* Serves DIR/data and logs to DIR/server.log. memory: the value of --memory. */
static inline pid_t server_start_on(const char *dir, uint16_t port, const char *memory)
{
	char listen[32], data[64], log[64];
	pid_t pid;

	snprintf(listen, sizeof listen, "127.0.0.1:%u", port);
	snprintf(data, sizeof data, "%s/data", dir);
	snprintf(log, sizeof log, "%s/server.log", dir);
	pid = fork();
	if (pid)
		return pid;
	int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(fd, 1);
	dup2(fd, 2);
	/* For builds with sanitizers: inside its sandbox, the leak check at the end is not permitted. */
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);
	execl(program(), "cresset", "serve", "--data", data, "--listen", listen, "--max-rate",
	      "100000", "--memory", memory, NULL);
	_exit(127);
}

/* Ends it as a user would; it must exit cleanly. */
static inline void server_end(pid_t pid)
{
	int status;

	kill(pid, SIGTERM);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#endif
