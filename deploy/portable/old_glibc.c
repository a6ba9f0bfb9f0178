/* deploy/portable/old_glibc.c: lets the release program, which is built on a newer system, run with
 * any glibc since 2.28. Functions whose current version is newer are bound to an older one, or to
 * the system call. The linker redirects each call to the __wrap_ function here (--wrap), including
 * those in static libraries. tools/check-glibc verifies the result.
 *
 * The old versions are the first of each machine, which every later glibc exports. Sources:
 * the symbol tables of glibc 2.28 to 2.41, and glibc's csu/libc-start.c. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define FIRST    "GLIBC_2.2.5"
#define SETCLOCK "GLIBC_2.3.3"
#define SETNAME  "GLIBC_2.12"
#elif defined(__aarch64__)
#define FIRST    "GLIBC_2.17"
#define SETCLOCK FIRST
#define SETNAME  FIRST
#else
#error "the first version of glibc on this machine is not known"
#endif

/* Defines __wrap_NAME, which calls NAME of that version. */
#define OLD(version, type, name, parameters, ...) \
	type old_##name parameters; \
	__asm__(".symver old_" #name ", " #name "@" version); \
	type __wrap_##name parameters; \
	type __wrap_##name parameters \
	{ \
		return old_##name(__VA_ARGS__); \
	}

/* In libc since 2.34, in libpthread and libdl before. */
OLD(FIRST, int, pthread_create,
    (pthread_t * thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg), thread, attr,
    run, arg)
OLD(FIRST, int, pthread_detach, (pthread_t thread), thread)
OLD(FIRST, int, pthread_join, (pthread_t thread, void **result), thread, result)
OLD(FIRST, int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *old), how, set, old)
OLD(FIRST, int, pthread_attr_setstacksize, (pthread_attr_t * attr, size_t bytes), attr, bytes)
OLD(SETNAME, int, pthread_setname_np, (pthread_t thread, const char *name), thread, name)
OLD(FIRST, int, pthread_mutex_trylock, (pthread_mutex_t * mutex), mutex)
OLD(FIRST, int, pthread_mutexattr_init, (pthread_mutexattr_t * attr), attr)
OLD(FIRST, int, pthread_mutexattr_settype, (pthread_mutexattr_t * attr, int kind), attr, kind)
OLD(FIRST, int, pthread_mutexattr_destroy, (pthread_mutexattr_t * attr), attr)
OLD(SETCLOCK, int, pthread_tryjoin_np, (pthread_t thread, void **result), thread, result)
OLD(SETCLOCK, int, pthread_condattr_setclock, (pthread_condattr_t * attr, clockid_t clock), attr,
    clock)
OLD(FIRST, void *, dlopen, (const char *file, int mode), file, mode)
OLD(FIRST, void *, dlsym, (void *restrict library, const char *restrict name), library, name)
OLD(FIRST, int, dlclose, (void *library), library)
OLD(FIRST, char *, dlerror, (void), )

/* Newer versions differ in how they report errors, which is not used here. */
OLD(FIRST, double, exp, (double x), x)
OLD(FIRST, double, log, (double x), x)
OLD(FIRST, double, log2, (double x), x)
OLD(FIRST, double, pow, (double x, double y), x, y)
OLD(FIRST, double, hypot, (double x, double y), x, y)

/* Until 2.33 the functions of stat were inline. On machines with 64-bit words, struct stat is the
 * kernel's. */
int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags);
int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return (int)syscall(SYS_newfstatat, dir, path, st, flags);
}
int __wrap_stat(const char *path, struct stat *st);
int __wrap_stat(const char *path, struct stat *st)
{
	return __wrap_fstatat(AT_FDCWD, path, st, 0);
}
int __wrap_lstat(const char *path, struct stat *st);
int __wrap_lstat(const char *path, struct stat *st)
{
	return __wrap_fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st)
{
	return (int)syscall(SYS_fstat, fd, st);
}
/* struct stat64 is the same there. */
int __wrap_stat64(const char *path, struct stat *st) __attribute__((alias("__wrap_stat")));
int __wrap_lstat64(const char *path, struct stat *st) __attribute__((alias("__wrap_lstat")));
int __wrap_fstat64(int fd, struct stat *st) __attribute__((alias("__wrap_fstat")));

/* Since 2.34. */
void __wrap_closefrom(int from);
void __wrap_closefrom(int from)
{
	if (syscall(SYS_close_range, from, ~0U, 0) == 0)
		return;
	for (long fd = sysconf(_SC_OPEN_MAX) - 1; fd >= from; fd--)
		close((int)fd);
}

/* --- the start --------------------------------------------------------------------------------- */

typedef void initializer(int argc, char **argv, char **environ);
extern initializer *const __preinit_array_start[], *const __preinit_array_end[];
extern initializer *const __init_array_start[], *const __init_array_end[];

/* Before 2.34 each program brought this function, as glibc did not run constructors itself. */
static void run_initializers(int argc, char **argv, char **environ)
{
	for (initializer *const *i = __preinit_array_start; i < __preinit_array_end; i++)
		(*i)(argc, argv, environ);
	for (initializer *const *i = __init_array_start; i < __init_array_end; i++)
		(*i)(argc, argv, environ);
}

typedef int main_function(int argc, char **argv, char **environ);
typedef void hook(void);
int old___libc_start_main(main_function *main, int argc, char **argv, initializer *init, hook *fini,
			  hook *rtld_fini, void *stack_end);
__asm__(".symver old___libc_start_main, __libc_start_main@" FIRST);
int __wrap___libc_start_main(main_function *main, int argc, char **argv, initializer *init,
			     hook *fini, hook *rtld_fini, void *stack_end);
int __wrap___libc_start_main(main_function *main, int argc, char **argv, initializer *init,
			     hook *fini, hook *rtld_fini, void *stack_end)
{
	return old___libc_start_main(main, argc, argv, init ? init : run_initializers, fini,
				     rtld_fini, stack_end);
}
