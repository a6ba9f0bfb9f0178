/* collect/process/object_index.h: the keys of an object_table. A file is found by its inode, its
 * build id or its result of stat; an object without a file by its name.
 *
 * A key has one object, the last one that was added under it. Removing an object leaves keys that
 * another one has taken. An inode is a key only while it cannot be reused for another file
 * (collect/process/object.h). The searches return OBJECT_NONE if they find nothing. */
#ifndef CRESSET_COLLECT_PROCESS_OBJECT_INDEX_H
#define CRESSET_COLLECT_PROCESS_OBJECT_INDEX_H

#include <stdint.h>

struct object;
struct object_table;

/* The name is as the kernel writes it; generation 0: unknown. */
uint32_t object_index_find_inode(const struct object_table *t, const char *name, uint32_t maj,
				 uint32_t min, uint64_t ino, uint64_t generation);
uint32_t object_index_find_build_id(const struct object_table *t, const struct object *like);
uint32_t object_index_find_stat(const struct object_table *t, const struct object *like);
uint32_t object_index_find_name(const struct object_table *t, const char *name);

/* An object without an inode is not put. */
void object_index_put_inode(struct object_table *t, const struct object *o);

/* By its build id, or without one by its result of stat. */
void object_index_put_content(struct object_table *t, const struct object *o);

void object_index_put_name(struct object_table *t, const struct object *o);

/* The object then has no inode. */
void object_index_drop_inode(struct object_table *t, struct object *o);

/* Drops all keys of an object. */
void object_index_drop(struct object_table *t, struct object *o);

void object_index_done(struct object_table *t);

#endif
