/* A thread reads the devices; others copy the latest result. */
#include "gpu/device/watch.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/vec.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#define SECOND_NS 1000000000ull
enum { SLOW_EVERY = 10 }; /* readings */

/* Shared by the caller and the thread; the last user frees it. */
struct gpu_watch {
	struct gpu_source source;
	uint64_t interval_ns, retry_ns;
	gpu_call call;
	pthread_mutex_t lock; /* protects what follows */
	pthread_cond_t wakes, answered;
	int users;
	bool is_over, has_ended;
	struct gpu_machine machine;
	struct gpu_reading reading;
	struct gpu_status status;
};

/* --- lifetime --------------------------------------------------------------------------------- */

static void drop(struct gpu_watch *w)
{
	pthread_mutex_lock(&w->lock);
	bool is_last = --w->users == 0;
	pthread_mutex_unlock(&w->lock);
	if (!is_last)
		return;
	pthread_mutex_destroy(&w->lock);
	pthread_cond_destroy(&w->wakes);
	pthread_cond_destroy(&w->answered);
	vec_done(&w->machine.devices);
	gpu_reading_done(&w->reading);
	free((char *)w->source.script);
	free(w);
}

/* --- the thread ------------------------------------------------------------------------------- */

/* State used only by the thread. */
struct watching {
	struct gpu_watch *w;
	const struct gpu_backend *backend;
	struct gpu_session *session; /* NULL: none */
	struct gpu_machine machine;
	struct gpu_reading reading;
	uint64_t retry_ns; /* when to start again; 0: not needed */
	uint64_t readings;
};

static void say(struct watching *t, enum gpu_state state, const char *words)
{
	struct gpu_watch *w = t->w;

	pthread_mutex_lock(&w->lock);
	w->status.state = state;
	w->status.backend = t->backend ? t->backend->name : NULL;
	snprintf(w->status.words, sizeof w->status.words, "%.*s", (int)sizeof w->status.words - 1,
		 words);
	if (state != GPU_WORKS)
		vec_clear(&w->machine.devices);
	pthread_cond_broadcast(&w->answered);
	pthread_mutex_unlock(&w->lock);
}

static void leave(struct watching *t)
{
	if (t->session)
		t->backend->close(t->session);
	t->session = NULL;
	t->backend = NULL;
}

/* Opens the first backend that is present and discovers its devices. If none works, err is from the
 * one that is present but fails, or else from the last one tried. */
static enum gpu_state begin(struct watching *t, struct err *err)
{
	enum gpu_state state = GPU_ABSENT;

	for (int i = 0; gpu_backends[i] && !t->session; i++) {
		struct err why = { 0 };
		int rc = gpu_backends[i]->open(&t->w->source, &t->w->call, &t->session, &why);
		if (rc == 0)
			t->backend = gpu_backends[i];
		if (rc && (rc != -ENODEV || state == GPU_ABSENT))
			*err = why;
		state = rc && rc != -ENODEV ? GPU_FAILED : state;
		if (state == GPU_FAILED && !t->session)
			return state;
	}
	if (!t->session)
		return state;
	if (t->backend->discover(t->session, &t->machine, err) == 0) {
		if (t->machine.devices.n)
			return GPU_WORKS;
		err_set(err, ENODEV, "its driver knows of no GPU");
		state = GPU_ABSENT;
	} else {
		state = GPU_FAILED;
	}
	leave(t);
	return state;
}

static bool are_same(const struct gpu_machine *a, const struct gpu_machine *b)
{
	bool same = a->devices.n == b->devices.n;

	for (size_t i = 0; same && i < a->devices.n; i++)
		same = strcmp(a->devices.v[i].label, b->devices.v[i].label) == 0 &&
		       strcmp(a->devices.v[i].uuid, b->devices.v[i].uuid) == 0;
	return same;
}

/* Pending points refer to devices by index: they are useless after a change of devices. */
static void drop_strange(struct watching *t, bool works)
{
	struct gpu_watch *w = t->w;

	pthread_mutex_lock(&w->lock);
	if (!works || !are_same(&w->machine, &t->machine)) {
		w->status.dropped += w->reading.points.n;
		vec_clear(&w->reading.points);
		vec_clear(&w->reading.processes);
	}
	pthread_mutex_unlock(&w->lock);
}

static void begin_anew(struct watching *t)
{
	struct err err = { 0 };

	leave(t);
	enum gpu_state state = begin(t, &err);
	drop_strange(t, state == GPU_WORKS);
	t->retry_ns = state == GPU_WORKS ? 0 : clock_mono_ns() + t->w->retry_ns;
	t->readings = 0;
	if (state != GPU_WORKS)
		say(t, state, err.text);
}

static void name_processes(struct gpu_reading *r)
{
	for (size_t i = 0; i < r->processes.n; i++) {
		struct gpu_process *p = &r->processes.v[i];
		char path[32], name[GPU_TEXT];
		snprintf(path, sizeof path, "/proc/%u/comm", p->pid);
		fs_read_line(path, name, sizeof name);
		snprintf(p->name, sizeof p->name, "%.*s", GPU_PROCESS_NAME - 1, name);
	}
}

/* Beyond the limit the older half is dropped. */
static void bound(struct gpu_watch *w)
{
	struct gpu_reading *r = &w->reading;

	if (r->points.n > GPU_MAX_POINTS) {
		size_t old = r->points.n / 2;
		memmove(r->points.v, r->points.v + old, (r->points.n - old) * sizeof *r->points.v);
		r->points.n -= old;
		w->status.dropped += old;
	}
	if (r->processes.n > GPU_MAX_POINTS / 4) {
		w->status.dropped += r->processes.n;
		vec_clear(&r->processes);
	}
}

static void hand_over(struct watching *t)
{
	struct gpu_watch *w = t->w;

	pthread_mutex_lock(&w->lock);
	vec_append(&w->reading.points, t->reading.points.v, t->reading.points.n);
	vec_append(&w->reading.processes, t->reading.processes.v, t->reading.processes.n);
	vec_clear(&w->machine.devices);
	vec_append(&w->machine.devices, t->machine.devices.v, t->machine.devices.n);
	memcpy(w->machine.driver, t->machine.driver, sizeof w->machine.driver);
	w->machine.left_out = t->machine.left_out;
	w->status.implausible += t->reading.implausible;
	w->status.truncated += t->reading.truncated;
	w->status.readings++;
	bound(w);
	pthread_mutex_unlock(&w->lock);
	vec_clear(&t->reading.points);
	vec_clear(&t->reading.processes);
	t->reading.implausible = t->reading.truncated = 0;
	say(t, GPU_WORKS, "");
}

static void read_once(struct watching *t)
{
	uint64_t now_ns = clock_mono_ns();

	if ((!t->session && !t->retry_ns) || (t->retry_ns && now_ns >= t->retry_ns))
		begin_anew(t);
	if (!t->session)
		return;
	t->backend->metrics(t->session, &t->machine, t->readings % SLOW_EVERY == 0, &t->reading);
	atomic_store(&t->w->call, 0);
	t->readings++;
	name_processes(&t->reading);
	hand_over(t);
	/* A lost device may come back, and the driver only finds it when it is started again. */
	for (size_t i = 0; !t->retry_ns && i < t->machine.devices.n; i++)
		if (t->machine.devices.v[i].is_lost)
			t->retry_ns = now_ns + t->w->retry_ns;
}

/* Returns false when it is over. Seconds that the driver's calls took are skipped. */
static bool wait_for_turn(const struct watching *t, uint64_t *next_ns)
{
	struct gpu_watch *w = t->w;
	uint64_t now_ns = clock_mono_ns();

	*next_ns += w->interval_ns;
	if (*next_ns < now_ns)
		*next_ns = now_ns + w->interval_ns;
	if (!t->session)
		*next_ns = t->retry_ns;
	pthread_mutex_lock(&w->lock);
	while (!w->is_over && cond_wait_until(&w->wakes, &w->lock, *next_ns))
		;
	bool is_over = w->is_over;
	pthread_mutex_unlock(&w->lock);
	return !is_over;
}

static void *run(void *arg)
{
	struct gpu_watch *w = arg;
	struct watching t = { .w = w };
	uint64_t next_ns = clock_mono_ns();

	prctl(PR_SET_NAME, "cresset-gpu", 0, 0, 0);
	do
		read_once(&t);
	while (wait_for_turn(&t, &next_ns));
	leave(&t);
	vec_done(&t.machine.devices);
	gpu_reading_done(&t.reading);
	pthread_mutex_lock(&w->lock);
	w->has_ended = true;
	pthread_cond_broadcast(&w->answered);
	pthread_mutex_unlock(&w->lock);
	drop(w);
	return NULL;
}

/* --- the caller ------------------------------------------------------------------------------- */

/* The thread is detached, as it may never end. */
static int start_thread(struct gpu_watch *w)
{
	pthread_t thread;
	int rc = thread_start(&thread, run, w);

	return rc ? rc : pthread_detach(thread);
}

struct gpu_watch *gpu_watch_start(const struct gpu_watch_opts *opts)
{
	struct gpu_watch *w = xcalloc(1, sizeof *w);

	w->source.script = opts->source.script ? xstrdup(opts->source.script) : NULL;
	w->interval_ns = opts->interval_ns ? opts->interval_ns : SECOND_NS;
	w->retry_ns = opts->retry_ns ? opts->retry_ns : 60 * SECOND_NS;
	pthread_mutex_init(&w->lock, NULL);
	cond_init(&w->wakes);
	cond_init(&w->answered);
	w->users = 2;
	if (start_thread(w) == 0)
		return w;
	w->users = 1;
	drop(w);
	return NULL;
}

void gpu_watch_stop(struct gpu_watch *w)
{
	uint64_t until_ns = clock_mono_ns() + GPU_WATCHDOG_NS;

	if (!w)
		return;
	pthread_mutex_lock(&w->lock);
	w->is_over = true;
	pthread_cond_broadcast(&w->wakes);
	while (!w->has_ended && cond_wait_until(&w->answered, &w->lock, until_ns))
		;
	pthread_mutex_unlock(&w->lock);
	drop(w);
}

static void copy_machine(const struct gpu_machine *from, struct gpu_machine *to)
{
	vec_clear(&to->devices);
	vec_append(&to->devices, from->devices.v, from->devices.n);
	memcpy(to->driver, from->driver, sizeof to->driver);
	to->left_out = from->left_out;
}

bool gpu_watch_machine(struct gpu_watch *w, struct gpu_machine *out)
{
	pthread_mutex_lock(&w->lock);
	bool is_known = w->status.state != GPU_STARTING;
	if (is_known)
		copy_machine(&w->machine, out);
	pthread_mutex_unlock(&w->lock);
	return is_known;
}

void gpu_watch_take(struct gpu_watch *w, struct gpu_machine *machine, struct gpu_reading *out)
{
	pthread_mutex_lock(&w->lock);
	copy_machine(&w->machine, machine);
	vec_append(&out->points, w->reading.points.v, w->reading.points.n);
	vec_append(&out->processes, w->reading.processes.v, w->reading.processes.n);
	vec_clear(&w->reading.points);
	vec_clear(&w->reading.processes);
	pthread_mutex_unlock(&w->lock);
}

struct gpu_status gpu_watch_state(struct gpu_watch *w)
{
	uint64_t began_ns = atomic_load(&w->call), now_ns = clock_mono_ns();

	pthread_mutex_lock(&w->lock);
	struct gpu_status status = w->status;
	pthread_mutex_unlock(&w->lock);
	if (began_ns && now_ns > began_ns + GPU_WATCHDOG_NS)
		status.hangs_ns = now_ns - began_ns;
	return status;
}

void gpu_watch_wait(struct gpu_watch *w, uint64_t max_ns)
{
	uint64_t until_ns = clock_mono_ns() + max_ns;

	pthread_mutex_lock(&w->lock);
	while (w->status.state == GPU_STARTING && cond_wait_until(&w->answered, &w->lock, until_ns))
		;
	pthread_mutex_unlock(&w->lock);
}
