// tier: test
/* Messages to the init system. Any user may send to its socket: a full queue delays no sender for long. */
#include "base/init_system.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[64];

/* The socket of an init system that reads nothing. */
static int begin(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/cresset-notify-XXXXXX";
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);

	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof path, "%s/notify", dir);
	snprintf(at.sun_path, sizeof at.sun_path, "%s", path);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	ck_assert(!chmod(dir, 0755) && !chmod(path, 0777));
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", path, 1), 0);
	return fd;
}

static void end(int fd)
{
	close(fd);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

/* Returns once the queue is full. The messages stay there when the sender has ended. */
static void fill(void)
{
	int status = -1;
	pid_t pid = fork();

	ck_assert_int_ge(pid, 0);
	if (pid == 0) {
		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(1);
		int fd = notify_open();
		while (write(fd, "X=1", 3) == 3)
			;
		_exit(errno != EAGAIN);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

static void drain(int fd)
{
	char byte;

	while (recv(fd, &byte, 1, 0) > 0)
		;
}

START_TEST(a_message_arrives)
{
	int fd = begin();
	char text[32] = "";

	ck_assert_int_eq(notify_init("READY=1"), 0);
	ck_assert_int_eq(recv(fd, text, sizeof text - 1, 0), 7);
	ck_assert_str_eq(text, "READY=1");
	end(fd);
	ck_assert_int_eq(notify_init("READY=1"), 0); /* no reader is there */
	unsetenv("NOTIFY_SOCKET");
	ck_assert_int_eq(notify_init("READY=1"), 0);
}
END_TEST

START_TEST(a_full_queue_is_reported)
{
	int fd = begin();

	fill();
	ck_assert_int_eq(notify_init("STOPPING=1"), -EAGAIN);
	drain(fd);
	ck_assert_int_eq(notify_init("STOPPING=1"), 0);
	end(fd);
}
END_TEST

UNIT_MAIN("notify", a_message_arrives, a_full_queue_is_reported)
