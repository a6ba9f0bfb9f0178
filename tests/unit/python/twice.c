/* A program of any name with one or several CPythons in it, as isolated libraries: threads stand still in each.
 *
 *     twice LIBRARY HOME [LIBRARY HOME] …       writes what tests/unit/python/threads.py writes; waits until its input ends */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Its frames name themselves. */
static const char script[] =
	"import sys, os, threading, _thread\n"
	"def outer(n):\n"
	"    return inner(n)\n"
	"def inner(n):\n"
	"    f = sys._getframe(); text = 'T %d 3\\n' % _thread.get_ident()\n"
	"    while f:\n"
	"        c = f.f_code; text += 'F %s %s %d\\n' % (getattr(c, 'co_qualname', "
	"c.co_name).encode().hex(), "
	"c.co_filename.encode().hex(), 8 if c.co_name == 'inner' else f.f_lineno); f = f.f_back\n"
	"    os.write(1, text.encode()); os.write(TELL, b'x'); os.read(LOST, 1)\n"
	"outer(sys.version_info[1])\n";

struct python {
	const char *library, *home;
	int told[2], lost;
};

static void *run(void *arg)
{
	struct python *p = arg;
	char text[2048];
	void *library = dlopen(p->library, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	void (*begin)(int) = dlsym(library, "Py_InitializeEx");
	int (*simple)(const char *) = dlsym(library, "PyRun_SimpleString");
	setenv("PYTHONHOME", p->home, 1);
	begin(0);
	snprintf(text, sizeof text, "TELL, LOST = %d, %d", p->told[1], p->lost);
	simple(text);
	simple(script);
	return NULL;
}

int main(int argc, char **argv)
{
	struct python pythons[4];
	pthread_t thread;
	int lost[2], n = 0;
	char byte;

	if (pipe(lost) < 0)
		return 1;
	printf("P %d\n", getpid());
	fflush(stdout);
	for (int i = 1; i + 1 < argc && n < 4; i += 2, n++) {
		struct python *p = &pythons[n];

		p->library = argv[i];
		p->home = argv[i + 1];
		p->lost = lost[0];
		if (pipe(p->told) < 0 || pthread_create(&thread, NULL, run, p) ||
		    read(p->told[0], &byte, 1) != 1)
			return 1;
	}
	printf("E\n");
	fflush(stdout);
	return read(0, &byte, 1) != 0;
}
