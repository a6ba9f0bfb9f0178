/* gpu/attach.h: late attach: a library put into a process that runs already, which never notices.
 *
 *     look      what the process is: what cannot be attached to is refused by name, nothing was touched
 *     choose    a thread that is parked in a system call where it holds no lock of malloc or of the loader
 *     stop      that one thread, for some hundred microseconds: memfd_create, mmap, pthread_create in it; everything back as it was
 *     load      the thread that was made, without ptrace: the library's bytes go into a memfd, dlopen there, all signals blocked
 *
 * The stopped thread calls pthread_create and nothing else of the C library: dlopen would wait there for the loader's lock. Signals wait as long as it
 * is held.
 *
 * If this program is killed meanwhile, the thread waits in code of its own C library, and a guardian
 * restores its registers, signal mask and priority (gpu/attach_guard.h). A thread in pthread_create
 * completes that call and restores itself (gpu/attach_code.h). Then the system call that it had been
 * in is restarted, with its whole time-out. What can still harm the process:
 *
 *     - SIGKILL of this program and of its guardian at once, as of a whole control group: the thread waits for ever, or keeps a real-time priority
 *     - a fault in pthread_create: the thread is taken out of it, and locks may be held
 *     - a filter of system calls that another thread puts on all threads while one of them is stopped
 *
 * Linux on x86-64, as root or with CAP_SYS_PTRACE over the process. */
#ifndef CRESSET_GPU_ATTACH_H
#define CRESSET_GPU_ATTACH_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the process has mapped, and the files behind it: of the layer above. */
struct gpu_map {
	uint64_t start, end, pgoff;
	uint32_t maj, min;
	uint64_t ino;
	bool executable;
	const char *name; /* "" for anonymous memory */
};
typedef bool gpu_map_fn(void *ctx, const struct gpu_map *m); /* false: no further ones */
struct gpu_attach_view {
	int (*maps)(uint32_t pid, gpu_map_fn *fn, void *ctx); /* 0 or -errno */
	int (*open)(uint32_t pid,
		    const struct gpu_map *m); /* a descriptor for reading, or -errno */
};

/* Why a process is left alone. */
enum gpu_attach_refusal {
	GPU_ATTACH_NOT_REFUSED,
	GPU_ATTACH_GONE,
	GPU_ATTACH_IS_THREAD, /* the number of a thread, not of a process */
	GPU_ATTACH_KERNEL_THREAD,
	GPU_ATTACH_ZOMBIE,
	GPU_ATTACH_STOPPED,
	GPU_ATTACH_UNINTERRUPTIBLE,
	GPU_ATTACH_TRACED,
	GPU_ATTACH_YOUNG, /* may still be about to load what it needs, or to run another program */
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
	GPU_ATTACH_CHANGED,      /* it ran another program after it was looked at */
	GPU_ATTACH_SHADOW_STACK, /* its returns are checked: it could not wait for a guardian */
	GPU_ATTACH_REFUSALS,
};
/* One word for each, for scripts: "static". */
extern const char *const gpu_attach_refusal_words[GPU_ATTACH_REFUSALS];
/* Those that can be passed over. */
enum {
	GPU_ATTACH_FORCEABLE = 1u << GPU_ATTACH_YOUNG | 1u << GPU_ATTACH_NO_LIBRARY |
			       1u << GPU_ATTACH_SECCOMP | 1u << GPU_ATTACH_USER_NAMESPACE,
};

/* The library. Strings and image are the caller's. */
struct gpu_attach_library {
	const char *name;  /* "libx.so": the memfd is called that, and so it is found again */
	const char *needs; /* a library that the process must have mapped; NULL: none */
	const char *const *pollers; /* names of threads that are the best to stop; NULL: none */
};

struct gpu_attach_opts {
	const struct gpu_attach_view *view;
	const struct gpu_attach_library *library;
	const void *image; /* its bytes; an ELF file for this machine; NULL: of a dry run */
	size_t size;
	bool dry_run;      /* look and choose */
	uint32_t forced;   /* 1 << refusal: is passed over, if it is of GPU_ATTACH_FORCEABLE */
	uint64_t wait_ns;  /* for a thread that can be stopped; 0: 5 s */
	uint64_t call_ns;  /* then the call in the stopped thread is given up; 0: 2 s */
	uint64_t load_ns;  /* for dlopen; 0: 10 s */
	uint64_t young_ns; /* a process is young so long; 0: 2 s */
	/* The thread is in a system call of ours for a second, and is waited for. NULL: nobody wants to know. */
	void (*slow)(void *ctx, uint32_t pid, uint32_t tid);
	void *slow_ctx;
};
enum { GPU_ATTACH_MAX_BYTES = 64 << 20 };

struct gpu_attach_report {
	enum gpu_attach_refusal refusal;
	bool already; /* the library was there: nothing was done */
	bool loaded;
	uint32_t tid;
	char thread[16];
	const char *syscall; /* in which the thread was */
	bool at_entry;       /* it was caught as it entered that, by watching its system calls */
	bool restarted;      /* the call had been interrupted, and was restarted */
	bool by_file; /* a file in /tmp of the process instead of memory: memfds cannot be run there */
	uint64_t held_ns; /* from the stop until the thread went on; of several stops the longest */
	uint32_t given_back; /* stops that came to nothing, because the loader was at work */
	uint64_t load_ns;    /* from then on until the library was loaded */
	uint32_t threads;    /* that were looked at, the last time */
	uint32_t parked;     /* of them: in one of the calls, and safe */
	uint32_t kept_out;   /* in one of the calls, but filtered, frozen or not interruptible */
	uint32_t rounds;     /* of looking for one */
	uint32_t pages_left; /* of ours, that stayed mapped since the call was given up */
};

/* 0: it is loaded, or was already, or would be (dry_run). -ECANCELED: refused, as out says; -ESRCH: it ended meanwhile; -EBADMSG: the image is no library;
 * -ETIMEDOUT: given up, nothing waits for the library any more; the thread may still be in pthread_create, and goes on as it was when that returns; -EFAULT: pthread_create
 * crashed, see above; -EIO: the process's dlopen failed, err has its words; -EBUSY: somebody else is attaching.
 * In every case nothing is stopped afterwards. *out is filled as far as it is known. */
int gpu_attach(uint32_t pid, const struct gpu_attach_opts *opts, struct gpu_attach_report *out,
	       struct err *err);

#endif
