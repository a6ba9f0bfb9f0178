/* stall NAME CPU_SECONDS: calls itself NAME, and makes every process wait that reads its process context (OTEP 4719): the message is in memory that a
 * userfaultfd serves, which nobody does. Started by root it then is uid 65534: a user without rights does the same with FUSE. Says "stalls" when all
 * is there; ends with 77 where there is no userfaultfd. */
#include "process_context.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>

static void *hanging_page(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register all = { .range = { (uintptr_t)page, 4096 },
				       .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (page == MAP_FAILED || fd < 0 || ioctl(fd, UFFDIO_API, &api) ||
	    ioctl(fd, UFFDIO_REGISTER, &all))
		exit(77);
	return page;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	double seconds = strtod(argv[2], NULL);
	void *page = hanging_page();

	if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
		return 1;
	prctl(PR_SET_NAME, argv[1]);
	publish(page, 100, false);
	if (write(STDOUT_FILENO, "stalls\n", 7) != 7)
		return 1;
	while (clock() / (double)CLOCKS_PER_SEC < seconds)
		for (volatile int i = 0; i < 1000000; i++)
			;
	return 0;
}
