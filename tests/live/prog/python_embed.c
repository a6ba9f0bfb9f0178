/* python_embed SECONDS SCRIPT {NAME HOME LIBPYTHON}…: a program of another name that runs Python, each libpython in a thread of its own: main,
 * start of a thread → embeds → … → SCRIPT, with NAME in it for "NAME". */
// build: -O2 -fomit-frame-pointer -fno-optimize-sibling-calls
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <wchar.h>

struct embedded {
	const char *script, *name, *home, *library;
};

/* Its own symbols before those of another libpython. */
static void *symbol(void *lib, const char *name)
{
	void *s = dlsym(lib, name);
	if (!s) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	return s;
}

__attribute__((noinline)) void *embeds(void *argument)
{
	const struct embedded *e = argument;
	void *lib = dlopen(e->library, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (!lib) {
		fprintf(stderr, "%s\n", dlerror());
		_exit(1);
	}
	void (*set_home)(const wchar_t *) =
		(void (*)(const wchar_t *))symbol(lib, "Py_SetPythonHome");
	void (*initialize)(int) = (void (*)(int))symbol(lib, "Py_InitializeEx");
	int (*run)(const char *, void *) =
		(int (*)(const char *, void *))symbol(lib, "PyRun_SimpleStringFlags");
	static __thread wchar_t home[1024];
	static __thread char code[4096];

	*(int *)symbol(lib, "Py_NoSiteFlag") = 1;
	mbstowcs(home, e->home, 1023);
	set_home(home);
	initialize(0);
	snprintf(code, sizeof code,
		 "exec(compile(open('%s').read().replace('NAME', '%s'), '%s', 'exec'), {})",
		 e->script, e->name, e->script);
	if (run(code, NULL))
		_exit(1);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct embedded all[8];

	if (argc < 6)
		return 2;
	for (int i = 0; i < 8 && 3 * i + 5 < argc; i++) {
		pthread_t thread;
		all[i] = (struct embedded){ argv[2], argv[3 * i + 3], argv[3 * i + 4],
					    argv[3 * i + 5] };
		pthread_create(&thread, NULL, embeds, &all[i]);
	}
	usleep((useconds_t)(strtod(argv[1], NULL) * 1e6));
	_exit(0);
}
