#include "cmd/top_signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

enum { RESCUE_MAX_BYTES = 256 };

static const int asked[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH };
static const int crashes[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP };

/* What the handler needs; written before it is installed. */
static struct {
	char bytes[RESCUE_MAX_BYTES];
	size_t len;
	struct termios settings;
	volatile sig_atomic_t has_settings;
} rescue;

/* SA_RESETHAND has given the signal its own action back, and it comes again when this returns. */
static void on_crash(int signal_number)
{
	int saved = errno;
	if (write(STDOUT_FILENO, rescue.bytes, rescue.len) < 0)
		errno = saved; /* nothing can be done about it here */
	if (rescue.has_settings)
		tcsetattr(STDOUT_FILENO, TCSANOW, &rescue.settings);
	raise(signal_number);
	errno = saved;
}

static void catch_crashes(void)
{
	struct sigaction action = { .sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND };
	for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
		sigaction(crashes[i], &action, NULL);
}

static void asked_set(sigset_t *set)
{
	sigemptyset(set);
	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++)
		sigaddset(set, asked[i]);
}

int top_signals_open(const struct buf *text, int *fd, struct err *err)
{
	sigset_t set;
	if (text->len > sizeof rescue.bytes)
		return err_set(err, E2BIG, "too much to write after a crash");
	memcpy(rescue.bytes, text->data, text->len);
	rescue.len = text->len;
	rescue.has_settings = tcgetattr(STDOUT_FILENO, &rescue.settings) == 0;
	asked_set(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	*fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (*fd < 0)
		return err_set(err, errno, "cannot wait for signals: %s", strerror(errno));
	catch_crashes();
	return 0;
}

void top_signals_close(int fd)
{
	sigset_t set;
	for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
		signal(crashes[i], SIG_DFL);
	if (fd >= 0)
		close(fd);
	asked_set(&set);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}
