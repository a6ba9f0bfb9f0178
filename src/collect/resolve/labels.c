/* Reads the files of a process that labels come from, and caches the result until exec. */
#include "collect/resolve/labels.h"

#include "base/mem.h"
#include "collect/proc/cgroup_path.h"
#include "collect/proc/proc_stat.h"
#include "collect/proc/process_context.h"
#include "collect/process/context_search.h"
#include "collect/process/process.h"
#include "collect/worker/proc_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CGROUPS_MAX = 4096 /* cached; then all are forgotten */ };
#define LOOK_AGAIN_FIRST_NS 500000000ull
#define LOOK_AGAIN_LAST_NS  64000000000ull
/* 0.1 % of a CPU. */
#define BUDGET_NS           1000000ull
#define SECOND_NS           1000000000ull

const char *const process_label_keys[PROCESS_LABELS] = {
	[LABEL_EXECUTABLE] = "executable",
	[LABEL_USER] = "user",
	[LABEL_UNIT] = "unit",
	[LABEL_USER_UNIT] = "user_unit",
	[LABEL_CONTAINER_ID] = "container_id",
	[LABEL_CONTAINER] = "container",
	[LABEL_POD] = "pod",
	[LABEL_NAMESPACE] = "namespace",
	[LABEL_SERVICE] = "service.name",
	[LABEL_SERVICE_NAMESPACE] = "service.namespace",
	[LABEL_SERVICE_VERSION] = "service.version",
	[LABEL_ENVIRONMENT] = "deployment.environment.name",
};

/* --- life ------------------------------------------------------------------------------------- */

static void clear_sets(struct label_table *t)
{
	vec_clear(&t->sets);
	map_clear(&t->index);
	vec_push(&t->sets, (struct label_values){ 0 });
}

void label_table_init(struct label_table *t, const char *root)
{
	enum { FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC };

	*t = (struct label_table){ .root = open(root ? root : "/proc/1/root", FLAGS) };
	if (t->root < 0)
		t->root = open("/", FLAGS);
	strtab_init(&t->texts);
	clear_sets(t);
}

static void forget_cgroups(struct label_table *t)
{
	for (size_t i = 0; i < t->known.n; i++)
		free(t->known.v[i].place);
	vec_clear(&t->known);
	map_clear(&t->cgroups);
}

void label_table_done(struct label_table *t)
{
	forget_cgroups(t);
	vec_done(&t->known);
	map_done(&t->cgroups);
	vec_done(&t->sets);
	map_done(&t->index);
	strtab_done(&t->texts);
	container_cache_done(&t->containers);
	user_names_done(&t->users);
	if (t->root >= 0)
		close(t->root);
}

/* --- sets ------------------------------------------------------------------------------------- */

struct set_search {
	const struct label_table *t;
	const struct label_values *values;
};

static bool same_set(const void *ctx, uint32_t i)
{
	const struct set_search *s = ctx;

	return memcmp(&s->t->sets.v[i], s->values, sizeof *s->values) == 0;
}

static uint32_t intern_set(struct label_table *t, const struct label_values *values)
{
	static const struct label_values none;
	struct set_search search = { t, values };

	if (memcmp(values, &none, sizeof none) == 0)
		return 0;
	uint32_t i = map_intern(&t->index, hash_bytes(values, sizeof *values), t->sets.n, same_set,
				&search);
	if (i == t->sets.n)
		vec_push(&t->sets, *values);
	return i;
}

/* --- executable ------------------------------------------------------------------------------- */

static uint32_t put_file_name(struct label_table *t, const char *path, size_t len)
{
	static const char deleted[] = " (deleted)";
	const char *slash;

	if (len > sizeof deleted - 1 &&
	    memcmp(path + len - (sizeof deleted - 1), deleted, sizeof deleted - 1) == 0)
		len -= sizeof deleted - 1;
	slash = memrchr(path, '/', len);
	return slash ? strtab_putn(&t->texts, slash + 1, path + len - (slash + 1))
		     : strtab_putn(&t->texts, path, len);
}

void process_labels_exec(struct label_table *t, struct process *p, const char *path)
{
	struct label_values values = t->sets.v[p->labels];

	p->awaits_exe = false;
	for (int k = LABEL_SERVICE; k < PROCESS_LABELS; k++)
		values.v[k] = 0;
	values.v[LABEL_EXECUTABLE] = put_file_name(t, path, strlen(path));
	p->labels = intern_set(t, &values);
	p->exe_known = true;
}

static void look_at_exe(struct label_table *t, struct process *p, struct label_values *values)
{
	char link[40], path[4096];

	snprintf(link, sizeof link, "/proc/%" PRIu32 "/exe", p->pid);
	ssize_t len = readlink(link, path, sizeof path);
	if (len <= 0) {
		if (p->awaits_exe) /* the inherited name is not what it ran */
			values->v[LABEL_EXECUTABLE] = 0;
		return;
	}
	values->v[LABEL_EXECUTABLE] = put_file_name(t, path, len);
	p->exe_known = true;
}

/* --- place ------------------------------------------------------------------------------------ */

static const struct cgroup_place *remember(struct label_table *t, uint64_t cgroup_id,
					   const struct cgroup_place *place)
{
	struct known_cgroup k = { cgroup_id, xmalloc(sizeof *place) };

	*k.place = *place;
	if (t->known.n >= CGROUPS_MAX)
		forget_cgroups(t);
	map_put(&t->cgroups, cgroup_id, t->known.n);
	vec_push(&t->known, k);
	return k.place;
}

/* Returns NULL when the place can no longer be found. cgroup_id 0: the process was never sampled;
 * places are not cached. */
static const struct cgroup_place *place_of(struct label_table *t, const struct process *p,
					   uint64_t cgroup_id, struct cgroup_place *space)
{
	const uint32_t *known = cgroup_id ? map_get(&t->cgroups, cgroup_id) : NULL;
	bool unified;

	if (known)
		return t->known.v[*known].place;
	if (cgroup_place_of(p->pid, space, &unified))
		return NULL;
	return unified && cgroup_id ? remember(t, cgroup_id, space) : space;
}

static void look_at_place(struct label_table *t, const struct cgroup_place *place, bool may_look,
			  uint64_t now_ns, struct label_values *values)
{
	const struct container_names *names =
		container_names_get(&t->containers, t->root, place, may_look, now_ns);
	const char *container = names && *names->container ? names->container : place->container;

	values->v[LABEL_UNIT] = strtab_put(&t->texts, place->unit);
	values->v[LABEL_USER_UNIT] = strtab_put(&t->texts, place->user_unit);
	values->v[LABEL_CONTAINER_ID] = strtab_put(&t->texts, place->container_id);
	values->v[LABEL_CONTAINER] = strtab_put(&t->texts, container);
	values->v[LABEL_POD] = strtab_put(&t->texts, names ? names->pod : "");
	values->v[LABEL_NAMESPACE] = strtab_put(&t->texts, names ? names->name_space : "");
}

/* --- user and service ------------------------------------------------------------------------- */

/* The host's file does not know the users of a container: there all but root are numbers. */
static void set_user(struct label_table *t, uint32_t uid, uint64_t now_ns,
		     struct label_values *values)
{
	bool in_container = values->v[LABEL_CONTAINER_ID] || values->v[LABEL_CONTAINER];
	char digits[16];
	const char *name = digits;

	if (in_container && uid)
		snprintf(digits, sizeof digits, "%" PRIu32, uid);
	else
		name = user_name(&t->users, t->root, uid, now_ns, digits);
	values->v[LABEL_USER] = strtab_put(&t->texts, name);
}

static void look_at_user(struct label_table *t, const struct process *p, uint64_t now_ns,
			 struct label_values *values)
{
	uint32_t uid = p->uid;

	if (p->has_uid || proc_uid(p->pid, &uid) == 0)
		set_user(t, uid, now_ns, values);
}

/* A process may run as another user than its parent, and has inherited the labels. */
static void take_user(struct label_table *t, struct process *p, uint32_t uid, uint64_t now_ns)
{
	struct label_values values = t->sets.v[p->labels];

	if (p->is_kernel_thread || (p->has_uid && p->uid == uid))
		return;
	p->has_uid = true;
	p->uid = uid;
	set_user(t, uid, now_ns, &values);
	p->labels = intern_set(t, &values);
}

/* Reads what context_search_look has found. */
static void look_at_service(struct label_table *t, struct process *p, struct label_values *values)
{
	struct process_context s = { 0 };
	int rc = p->context_addr ? proc_reader_context(t->reader, p->pid, p->context_addr, &s) : 0;

	p->is_published = false;
	if (rc)
		context_search_resume(p);
	if (rc != -EAGAIN) /* -EAGAIN: being changed */
		p->has_threads = process_context_has_threads(&s);
	values->v[LABEL_SERVICE] = strtab_put(&t->texts, s.name);
	values->v[LABEL_SERVICE_NAMESPACE] = strtab_put(&t->texts, s.name_space);
	values->v[LABEL_SERVICE_VERSION] = strtab_put(&t->texts, s.version);
	values->v[LABEL_ENVIRONMENT] = strtab_put(&t->texts, s.environment);
}

/* --- lookups ---------------------------------------------------------------------------------- */

static bool has_budget(struct label_table *t, bool again, uint64_t now_ns)
{
	if (now_ns >= t->second_ns + SECOND_NS) {
		t->second_ns = now_ns;
		t->spent_ns[0] = t->spent_ns[1] = 0;
	}
	return t->spent_ns[again] < BUDGET_NS;
}

static void look_at_process(struct label_table *t, struct process *p, uint64_t cgroup_id,
			    bool again, uint64_t now_ns)
{
	struct label_values values = t->sets.v[p->labels];
	uint64_t begin_ns = proc_reader_clock_ns(t->reader);
	struct cgroup_place space;
	const struct cgroup_place *place = place_of(t, p, cgroup_id, &space);

	if (place)
		look_at_place(t, place, has_budget(t, again, now_ns), now_ns, &values);
	if (!p->is_kernel_thread) {
		if (!p->exe_known)
			look_at_exe(t, p, &values);
		look_at_user(t, p, now_ns, &values);
		look_at_service(t, p, &values);
	}
	p->looks++;
	p->labels = intern_set(t, &values);
	t->spent_ns[again] += proc_reader_clock_ns(t->reader) - begin_ns;
	t->looks++;
}

uint32_t process_labels(struct label_table *t, struct process *p, struct sampled_owner owner,
			uint64_t now_ns)
{
	uint64_t cgroup_id = owner.cgroup_id;

	if (owner.uid != EVENT_NO_UID)
		take_user(t, p, owner.uid, now_ns);
	bool again = p->labels_known && p->cgroup_id == cgroup_id;
	bool inherits = !again && p->labels && p->exe_known && p->cgroup_id == cgroup_id &&
			!p->is_published;

	/* Inherited labels are right with few exceptions, which are looked up at a later sample. A
	 * process that has ended has nothing left in /proc. */
	if (inherits && (p->is_over || !has_budget(t, false, now_ns)))
		return p->labels;
	if (again && !p->is_published &&
	    (now_ns < p->look_again_ns || p->is_kernel_thread || !has_budget(t, true, now_ns)))
		return p->labels;
	p->look_wait_ns = !again                                 ? LOOK_AGAIN_FIRST_NS
			  : p->look_wait_ns < LOOK_AGAIN_LAST_NS ? 2 * p->look_wait_ns
								 : LOOK_AGAIN_LAST_NS;
	p->look_again_ns = now_ns + p->look_wait_ns;
	p->labels_known = true;
	p->cgroup_id = cgroup_id;
	look_at_process(t, p, cgroup_id, again, now_ns);
	return p->labels;
}

void label_table_renew(struct label_table *t, struct process_table *processes)
{
	struct strtab old = t->texts;
	VEC(struct label_values) sets = { t->sets.v, t->sets.n, t->sets.cap };

	strtab_init(&t->texts);
	t->sets.v = NULL;
	t->sets.n = t->sets.cap = 0;
	clear_sets(t);
	for (size_t i = 0; i < processes->all.n; i++) {
		struct process *p = processes->all.v[i];
		struct label_values values = { 0 };

		if (!p || !p->labels)
			continue;
		for (int k = 0; k < PROCESS_LABELS; k++)
			values.v[k] =
				strtab_put(&t->texts, strtab_get(&old, sets.v[p->labels].v[k]));
		p->labels = intern_set(t, &values);
	}
	vec_done(&sets);
	strtab_done(&old);
}
