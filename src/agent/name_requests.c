/* A list of requested frames under a lock, and a condition that wakes queries when names arrive. */
#include "agent/name_requests.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"
#include "profile/frame.h"
#include "profile/profile.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { ASKED_MAX = 1024 }; /* mappings; more are not moved to the front */

struct name_requests {
	pthread_mutex_t lock;
	pthread_cond_t settled;
	struct map waiting; /* frames */
	struct name_keys asked;
	int fd;
};

int name_requests_new(struct name_requests **out, struct err *err)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return err_set(err, errno, "no eventfd: %s", strerror(errno));
	struct name_requests *a = xcalloc(1, sizeof *a);
	pthread_mutex_init(&a->lock, NULL);
	cond_init(&a->settled);
	a->fd = fd;
	*out = a;
	return 0;
}

void name_requests_free(struct name_requests *a)
{
	if (!a)
		return;
	close(a->fd);
	map_done(&a->waiting);
	vec_done(&a->asked.v);
	pthread_cond_destroy(&a->settled);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

uint64_t name_mapping_key(const struct profile *dict, uint32_t mapping)
{
	const struct mapping *m = &dict->frames.mappings.v[mapping];
	uint64_t name = hash_bytes(profile_str(dict, m->name), strtab_len(&dict->strings, m->name));

	return hash_mix(hash_mix(name, hash_bytes(m->build_id, m->build_id_len)), m->identity);
}

/* --- for naming ------------------------------------------------------------------------------- */

int name_requests_fd(const struct name_requests *a)
{
	return a->fd;
}

void name_requests_take(struct name_requests *a, struct name_keys *out)
{
	uint64_t times;

	if (read(a->fd, &times, sizeof times) < 0)
		return; /* no new request */
	pthread_mutex_lock(&a->lock);
	vec_append(&out->v, a->asked.v.v, a->asked.v.n);
	vec_clear(&a->asked.v);
	pthread_mutex_unlock(&a->lock);
}

void name_requests_add(struct name_requests *a, uint64_t frame)
{
	pthread_mutex_lock(&a->lock);
	map_put(&a->waiting, frame, 1);
	pthread_mutex_unlock(&a->lock);
}

void name_requests_finish(struct name_requests *a, const uint64_t *frames, size_t n)
{
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < n; i++)
		map_del(&a->waiting, frames[i]);
	pthread_cond_broadcast(&a->settled);
	pthread_mutex_unlock(&a->lock);
}

void name_requests_finish_all(struct name_requests *a)
{
	pthread_mutex_lock(&a->lock);
	map_clear(&a->waiting);
	pthread_cond_broadcast(&a->settled);
	pthread_mutex_unlock(&a->lock);
}

/* --- for queries ------------------------------------------------------------------------------ */

bool name_requests_has(struct name_requests *a)
{
	pthread_mutex_lock(&a->lock);
	bool has = a->waiting.n > 0;
	pthread_mutex_unlock(&a->lock);
	return has;
}

static void ask_for(struct name_requests *a, uint64_t mapping_key)
{
	for (size_t i = 0; i < a->asked.v.n; i++)
		if (a->asked.v.v[i] == mapping_key)
			return;
	if (a->asked.v.n < ASKED_MAX)
		vec_push(&a->asked.v, mapping_key);
}

/* Call with the lock held. Appends the frames that are pending. */
static void find_waiting(struct name_requests *a, const struct profile *dict,
			 const uint32_t *frames, size_t n, struct name_keys *out)
{
	uint64_t *keys = xcalloc(dict->frames.mappings.n + 1, sizeof *keys);

	for (size_t i = 0; i < n; i++) {
		const struct frame *f = &dict->frames.frames.v[frames[i]];

		if (f->mapping == MAPPING_NONE)
			continue;
		if (!keys[f->mapping])
			keys[f->mapping] = name_mapping_key(dict, f->mapping);
		uint64_t frame = name_frame_key(keys[f->mapping], f->offset);
		if (!map_get(&a->waiting, frame))
			continue;
		vec_push(&out->v, frame);
		ask_for(a, keys[f->mapping]);
	}
	free(keys);
}

static bool still_waits(const struct name_requests *a, const struct name_keys *frames)
{
	for (size_t i = 0; i < frames->v.n; i++)
		if (map_get(&a->waiting, frames->v.v[i]))
			return true;
	return false;
}

static void wake(struct name_requests *a)
{
	uint64_t once = 1;

	if (write(a->fd, &once, sizeof once) < 0)
		return; /* it is readable anyway */
}

bool name_requests_wait(struct name_requests *a, const struct profile *dict, const uint32_t *frames,
			size_t n, uint64_t max_ns)
{
	uint64_t until_ns = clock_mono_ns() + max_ns;
	struct name_keys waiting = { 0 };

	pthread_mutex_lock(&a->lock);
	find_waiting(a, dict, frames, n, &waiting);
	bool any = waiting.v.n > 0;
	if (any)
		wake(a);
	while (max_ns && still_waits(a, &waiting) &&
	       cond_wait_until(&a->settled, &a->lock, until_ns))
		;
	pthread_mutex_unlock(&a->lock);
	vec_done(&waiting.v);
	return any;
}
