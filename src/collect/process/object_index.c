/* Keys are hashes, so a search compares the object that it finds. */
#include "collect/process/object.h"

#include "base/hash.h"
#include "collect/process/object_name.h"

#include <stdlib.h>
#include <string.h>

/* --- keys ------------------------------------------------------------------------------------- */

static uint64_t inode_key(uint32_t maj, uint32_t min, uint64_t ino)
{
	return hash_mix((uint64_t)maj << 32 | min, ino);
}

static uint64_t name_key(const char *name)
{
	return hash_bytes(name, strlen(name));
}

static uint64_t inode_name_key(uint32_t maj, uint32_t min, uint64_t ino, const char *name)
{
	return hash_mix(inode_key(maj, min, ino), name_key(name));
}

static uint64_t stat_key(const struct object *o)
{
	return hash_mix(hash_mix(o->dev, o->file_ino), hash_mix(o->size, o->mtime_ns));
}

static uint64_t build_id_key(const struct object *o)
{
	return hash_bytes(o->build_id, o->build_id_len);
}

/* --- finding ---------------------------------------------------------------------------------- */

/* Whether a file of this inode number is the object's. The number of a deleted file is given to a
 * new one; its generation is known from records only. An open file retains its number, and so
 * otherwise the name decides. */
static bool is_file_of(const struct object *o, const char *name, uint64_t generation)
{
	if (generation && o->ino_generation)
		return generation == o->ino_generation;
	if (o->fd >= 0 && !o->is_copy)
		return true;
	char *clean = object_name_clean(name);
	bool same = strcmp(clean, o->name) == 0;
	free(clean);
	return same;
}

uint32_t object_index_find_inode(const struct object_table *t, const char *name, uint32_t maj,
				 uint32_t min, uint64_t ino, uint64_t generation)
{
	const uint32_t *id = map_get(&t->by_inode, inode_key(maj, min, ino));

	for (int tries = 0; tries < 2; tries++) {
		const struct object *o = id ? t->all.v[*id] : NULL;

		if (o && o->maj == maj && o->min == min && o->ino == ino &&
		    is_file_of(o, name, generation))
			return *id;
		char *clean = object_name_clean(name);
		id = map_get(&t->by_inode_and_name, inode_name_key(maj, min, ino, clean));
		free(clean);
	}
	return OBJECT_NONE;
}

uint32_t object_index_find_build_id(const struct object_table *t, const struct object *like)
{
	const uint32_t *id = map_get(&t->by_build_id, build_id_key(like));

	if (!id)
		return OBJECT_NONE;
	const struct object *o = t->all.v[*id];
	bool same = o->build_id_len == like->build_id_len &&
		    !memcmp(o->build_id, like->build_id, like->build_id_len);
	return same ? *id : OBJECT_NONE;
}

uint32_t object_index_find_stat(const struct object_table *t, const struct object *like)
{
	const uint32_t *id = map_get(&t->by_stat, stat_key(like));

	if (!id)
		return OBJECT_NONE;
	const struct object *o = t->all.v[*id];
	bool same = o->dev == like->dev && o->file_ino == like->file_ino && o->size == like->size &&
		    o->mtime_ns == like->mtime_ns;
	return same ? *id : OBJECT_NONE;
}

uint32_t object_index_find_name(const struct object_table *t, const char *name)
{
	const uint32_t *id = map_get(&t->by_name, name_key(name));

	return id ? *id : OBJECT_NONE;
}

/* --- changing --------------------------------------------------------------------------------- */

void object_index_put_inode(struct object_table *t, const struct object *o)
{
	if (!o->ino)
		return;
	map_put(&t->by_inode, inode_key(o->maj, o->min, o->ino), o->id);
	map_put(&t->by_inode_and_name, inode_name_key(o->maj, o->min, o->ino, o->name), o->id);
}

void object_index_put_content(struct object_table *t, const struct object *o)
{
	if (o->build_id_len)
		map_put(&t->by_build_id, build_id_key(o), o->id);
	else
		map_put(&t->by_stat, stat_key(o), o->id);
}

void object_index_put_name(struct object_table *t, const struct object *o)
{
	map_put(&t->by_name, name_key(o->name), o->id);
}

static void drop_key(struct map *index, uint64_t key, uint32_t id)
{
	const uint32_t *at = map_get(index, key);

	if (at && *at == id)
		map_del(index, key);
}

void object_index_drop_inode(struct object_table *t, struct object *o)
{
	if (!o->ino)
		return;
	drop_key(&t->by_inode, inode_key(o->maj, o->min, o->ino), o->id);
	drop_key(&t->by_inode_and_name, inode_name_key(o->maj, o->min, o->ino, o->name), o->id);
	o->ino = 0;
}

void object_index_drop(struct object_table *t, struct object *o)
{
	object_index_drop_inode(t, o);
	drop_key(&t->by_build_id, build_id_key(o), o->id);
	drop_key(&t->by_stat, stat_key(o), o->id);
	drop_key(&t->by_name, name_key(o->name), o->id);
}

void object_index_done(struct object_table *t)
{
	map_done(&t->by_inode);
	map_done(&t->by_inode_and_name);
	map_done(&t->by_build_id);
	map_done(&t->by_stat);
	map_done(&t->by_name);
}
