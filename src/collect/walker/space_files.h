/* collect/walker/space_files.h: the objects that frames of the walker may refer to, by number, and
 * the slots of their unwind tables (table_store.h). A user has a share of the slots; a file without
 * one is retried when others are gone. */
#ifndef CRESSET_COLLECT_WALKER_SPACE_FILES_H
#define CRESSET_COLLECT_WALKER_SPACE_FILES_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/process/user_shares.h"

#include <stdint.h>

struct object;
struct object_table;
struct table_store;

/* An object that frames may refer to. */
struct numbered {
	uint32_t object, number, table;
	uint32_t user; /* charged for the table; 0: none */
};
struct space_files {
	struct object_table *objects; /* both are the caller's */
	struct table_store *tables;
	struct map awaited;   /* ids of objects that need a table, and await their file */
	struct map by_number; /* → object */
	VEC(struct numbered) numbered;
	uint32_t next_number;
	struct user_shares table_users;
	uint64_t without_table; /* objects so far */
};

void space_files_init(struct space_files *f, struct object_table *objects,
		      struct table_store *tables);
void space_files_done(struct space_files *f);

/* Sets the number and the table of an object without a number. */
void space_files_number(struct space_files *f, struct object *o);
struct object *space_files_object(const struct space_files *f, uint32_t number);

/* Requests the table of an object, if it is missing. */
void space_files_want(struct space_files *f, struct object *o);
void space_files_want_table(struct space_files *f, uint32_t table);
/* For files that were awaited. Without this, the walk of the next copied stack would request the
 * table, and end without it. */
void space_files_want_arrived(struct space_files *f);

/* Gives back the tables of freed objects. */
void space_files_sweep(struct space_files *f);
/* Retries some of the objects without a slot, as others may be gone. Adds their ids to given. */
void space_files_give_slots(struct space_files *f, struct map *given);

#endif
