/* attach/attach.h: late attach: loads a library into a running process, without the process
 * noticing.
 *
 *     look      examines the process; if it cannot be attached to, refuses with a reason; touches
 *               nothing
 *     wait      until the lock of its mappings is free (attach/attach_quiet.h)
 *     choose    finds a thread that holds no lock of malloc or of the loader: parked in a system
 *               call, entering one, or running its own code (attach/attach_thread.h)
 *     stop      stops that one thread, for some hundred microseconds: memfd_create, mmap,
 *               pthread_create in it; then restores everything
 *     load      in the new thread, without ptrace: the library's bytes go into a memfd, which is
 *               loaded with dlopen there, with all signals blocked
 *
 * The stopped thread calls pthread_create and nothing else of the C library, because dlopen would
 * wait for the loader's lock there. Its signals stay pending while it is held.
 *
 * If this program is killed in the meantime, the thread waits in code of its own C library, and a
 * guardian restores its registers, signal mask and priority (attach/attach_guard.h). A thread in
 * pthread_create completes that call and restores itself (attach/attach_code.h). Then the
 * interrupted system call is restarted, with its full timeout. Remaining risks for the process:
 *
 *     - SIGKILL of this program and of its guardian at one time, as of a whole control group: the
 *     thread waits for ever, or stays at a real-time priority
 *     - a fault in pthread_create: the thread is taken out of it, and locks may be held
 *     - a system call filter that another thread installs for all threads while one of them is
 *     stopped
 *
 * Linux on x86-64, as root or with CAP_SYS_PTRACE over the process. */
#ifndef CRESSET_ATTACH_ATTACH_H
#define CRESSET_ATTACH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* The mappings of the process, and the files behind them; provided by the layer above. */
struct gpu_map {
	uint64_t start, end, pgoff;
	uint32_t maj, min;
	uint64_t ino;
	bool executable;
	const char *name; /* "" for anonymous memory */
};
typedef bool gpu_map_fn(void *ctx, const struct gpu_map *m); /* false: stop */
struct gpu_attach_view {
	int (*maps)(uint32_t pid, gpu_map_fn *fn, void *ctx); /* 0 or -errno */
	int (*open)(uint32_t pid,
		    const struct gpu_map *m); /* returns a descriptor for reading, or -errno */
};

/* Why a process is not attached to. */
enum gpu_attach_refusal {
	GPU_ATTACH_NOT_REFUSED,
	GPU_ATTACH_GONE,
	GPU_ATTACH_IS_THREAD, /* the id of a thread, not of a process */
	GPU_ATTACH_KERNEL_THREAD,
	GPU_ATTACH_ZOMBIE,
	GPU_ATTACH_STOPPED,
	GPU_ATTACH_UNINTERRUPTIBLE,
	GPU_ATTACH_TRACED,
	GPU_ATTACH_YOUNG, /* may still load what it needs, or run another program */
	GPU_ATTACH_SHARED_MEMORY,
	GPU_ATTACH_32BIT,
	GPU_ATTACH_STATIC,
	GPU_ATTACH_NO_LIBRARY,
	GPU_ATTACH_LIBC,
	GPU_ATTACH_SECCOMP,
	GPU_ATTACH_USER_NAMESPACE,
	GPU_ATTACH_PTRACE_SCOPE,
	GPU_ATTACH_PERMISSION,
	GPU_ATTACH_LSM,
	GPU_ATTACH_NO_THREAD,
	GPU_ATTACH_NO_EXEC_MEMORY,
	GPU_ATTACH_FROZEN,       /* by its cgroup: a paused container */
	GPU_ATTACH_CHANGED,      /* it ran another program after it was examined */
	GPU_ATTACH_SHADOW_STACK, /* the CPU checks its returns: it could not wait for a guardian */
	GPU_ATTACH_BUSY,         /* its mappings change all the time: a thread would be held */
	GPU_ATTACH_REFUSALS,
};
/* One word for each, for scripts, such as "static". */
extern const char *const gpu_attach_refusal_words[GPU_ATTACH_REFUSALS];
/* Refusals that can be overridden. */
enum {
	GPU_ATTACH_FORCEABLE = 1u << GPU_ATTACH_YOUNG | 1u << GPU_ATTACH_NO_LIBRARY |
			       1u << GPU_ATTACH_SECCOMP | 1u << GPU_ATTACH_USER_NAMESPACE,
};

/* The library. Strings and image are the caller's. */
struct gpu_attach_library {
	const char *name;  /* "libx.so": also the name of the memfd, by which it is found again */
	const char *needs; /* library that the process must have mapped; NULL: none */
	const char *const *pollers; /* names of threads to prefer; NULL: none */
};

struct gpu_attach_opts {
	const struct gpu_attach_view *view;
	const struct gpu_attach_library *library;
	const void *image; /* its bytes, an ELF file for this machine; NULL for a dry run */
	size_t size;
	bool dry_run;      /* only look and choose */
	uint32_t forced;   /* bits 1 << refusal to override, of GPU_ATTACH_FORCEABLE */
	uint64_t wait_ns;  /* timeout for finding a thread; 0: 5 s */
	uint64_t call_ns;  /* timeout of the call in the stopped thread; 0: 2 s */
	uint64_t load_ns;  /* timeout of dlopen; 0: 10 s */
	uint64_t young_ns; /* age below which a process is young; 0: 2 s */
	/* Called when the thread has been in a system call of ours for a second, and is still
	 * waited for. May be NULL. */
	void (*slow)(void *ctx, uint32_t pid, uint32_t tid);
	void *slow_ctx;
};

/* Returns whether the refusal is overridden. */
static inline bool attach_is_forced(const struct gpu_attach_opts *opts, enum gpu_attach_refusal why)
{
	return opts->forced & GPU_ATTACH_FORCEABLE & 1u << why;
}
enum { GPU_ATTACH_MAX_BYTES = 64 << 20 }; /* limit: bytes of an attached library */

struct gpu_attach_report {
	enum gpu_attach_refusal refusal;
	bool already; /* the library was already loaded: nothing was done */
	bool loaded;
	uint32_t tid;
	char thread[16];
	const char *syscall; /* that the thread was in; NULL: in none */
	bool at_entry;       /* caught on entering it, by watching its system calls */
	bool running;        /* caught in its own code, in no system call */
	bool restarted;      /* the call was interrupted, and was restarted */
	/* used a file in /tmp of the process: memfds cannot be executed there */
	bool by_file;
	uint64_t held_ns; /* from the stop until the thread continued; the longest of all stops */
	uint32_t given_back; /* stops given up because the loader was busy */
	uint64_t load_ns;    /* from then until the library was loaded */
	uint32_t threads;    /* examined in the last round */
	uint32_t parked;     /* of them: in such a call, and safe */
	uint32_t kept_out;   /* in such a call, but filtered, frozen or uninterruptible */
	uint32_t rounds;     /* of looking for a thread */
	uint32_t busy; /* times that its mappings were found busy, and no thread was stopped */
	uint32_t pages_left; /* our pages that stay mapped after the call was given up */
};

/* Returns 0: the library is loaded, or was already, or would be (dry_run). -ECANCELED: refused, as
 * out says; -ESRCH: it ended in the meantime; -EBADMSG: the image is no library; -ETIMEDOUT: given
 * up, nothing waits for the library any more; the thread may still be in pthread_create, and
 * continues as before when that returns; -EFAULT: pthread_create crashed, see above; -EIO: the
 * process's dlopen failed, err has its message; -EBUSY: another process is attaching. In every case
 * nothing is stopped afterwards. *out is filled as far as known. */
int gpu_attach(uint32_t pid, const struct gpu_attach_opts *opts, struct gpu_attach_report *out,
	       struct err *err);

#endif
