/* Numbers objects, gives them slots for tables, and has the tables built. */
#include "collect/walker/space_files.h"

#include "bpf/space.h"
#include "collect/process/object.h"
#include "collect/walker/table_store.h"

#include <fcntl.h>
#include <stdbool.h>

/* limit: tables of files of a user but root */
enum { USER_TABLES = SPACE_MAX_TABLES / 4 };

void space_files_init(struct space_files *f, struct object_table *objects,
		      struct table_store *tables)
{
	*f = (struct space_files){ .objects = objects, .tables = tables, .next_number = 1 };
}

void space_files_done(struct space_files *f)
{
	map_done(&f->awaited);
	map_done(&f->by_number);
	vec_done(&f->numbered);
	user_shares_done(&f->table_users);
}

void space_files_want(struct space_files *f, struct object *o)
{
	if (!o->table || !table_store_misses(f->tables, o->table))
		return;
	if (o->state == OBJECT_AWAITED) {
		map_put(&f->awaited, o->id, 1);
		return;
	}
	int fd = object_fd(f->objects, o);
	int own = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (own >= 0)
		table_store_want(f->tables, o->table, own);
	else
		table_store_give_up(f->tables, o->table);
}

void space_files_want_arrived(struct space_files *f)
{
	VEC(uint32_t) ids = { 0 };

	map_each (&f->awaited, slot) {
		const struct object *o = f->objects->all.v[slot->key];

		if (!o || o->state != OBJECT_AWAITED)
			vec_push(&ids, (uint32_t)slot->key);
	}
	for (size_t i = 0; i < ids.n; i++) {
		struct object *o = f->objects->all.v[ids.v[i]];

		map_del(&f->awaited, ids.v[i]);
		if (o)
			space_files_want(f, o);
	}
	vec_done(&ids);
}

/* Gives it the slot of a table, if one is free and its user may have one. */
static void give_slot(struct space_files *f, struct object *o, struct numbered *k)
{
	if (user_shares_may(&f->table_users, o->user, USER_TABLES))
		o->table = table_store_add(f->tables);
	k->table = o->table;
	k->user = o->table ? o->user : 0;
	user_shares_change(&f->table_users, k->user, 0, 1);
}

void space_files_number(struct space_files *f, struct object *o)
{
	if (o->number || f->next_number >= FRAME_MAX_OBJECT)
		return;
	struct numbered k = { .object = o->id, .number = f->next_number++ };

	o->number = k.number;
	give_slot(f, o, &k);
	f->without_table += !k.table;
	map_put(&f->by_number, o->number, o->id);
	vec_push(&f->numbered, k);
}

void space_files_sweep(struct space_files *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->numbered.n; i++) {
		struct numbered *k = &f->numbered.v[i];
		const struct object *o = f->objects->all.v[k->object];

		if (o && o->number == k->number) {
			f->numbered.v[n++] = *k;
			continue;
		}
		map_del(&f->by_number, k->number);
		if (k->table)
			table_store_remove(f->tables, k->table);
		user_shares_change(&f->table_users, k->user, 1, 0);
	}
	f->numbered.n = n;
}

struct object *space_files_object(const struct space_files *f, uint32_t number)
{
	const uint32_t *id = map_get(&f->by_number, number);
	struct object *o = id ? f->objects->all.v[*id] : NULL;

	return o && o->number == number ? o : NULL;
}

/* Until the next sweep the object may be gone, and another one may have its id. */
static struct object *object_of(const struct space_files *f, const struct numbered *k)
{
	struct object *o = f->objects->all.v[k->object];

	return o && o->number == k->number ? o : NULL;
}

void space_files_want_table(struct space_files *f, uint32_t table)
{
	for (size_t i = 0; i < f->numbered.n; i++) {
		const struct numbered *k = &f->numbered.v[i];
		struct object *o = k->table == table ? object_of(f, k) : NULL;

		if (o)
			space_files_want(f, o);
	}
}

void space_files_give_slots(struct space_files *f, struct map *given)
{
	enum { AT_ONCE = 256 };

	for (size_t i = 0; i < f->numbered.n && given->n < AT_ONCE; i++) {
		struct numbered *k = &f->numbered.v[i];

		if (k->table)
			continue;
		give_slot(f, f->objects->all.v[k->object], k);
		if (k->table)
			map_put(given, k->object, 1);
	}
}
