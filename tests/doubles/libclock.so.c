// build: -shared -fPIC -ldl
/* Wall time that is ahead by as many seconds as the file $CLOCK_AHEAD holds, an int64_t: preloaded, so that a test can set the clock of one
 * program. Whoever writes the file sets the clock at once. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *ahead_s;
static int (*real)(clockid_t, struct timespec *);

/* Mapped before the program enters its sandbox. */
__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("CLOCK_AHEAD");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *ahead_s, PROT_READ, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	if (p != MAP_FAILED)
		ahead_s = p;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	int rc = real(id, t);

	if (rc == 0 && ahead_s && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		t->tv_sec += *ahead_s;
	return rc;
}

time_t time(time_t *out)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_REALTIME, &t);
	if (out)
		*out = t.tv_sec;
	return t.tv_sec;
}
