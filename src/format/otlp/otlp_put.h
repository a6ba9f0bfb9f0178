/* format/otlp/otlp_put.h: the dictionary of an OTLP message being written. Requesting an entry also
 * adds the entries it refers to. Entries are numbered in the order of requests, so messages with
 * the same content are similar. */
#ifndef CRESSET_FORMAT_OTLP_OTLP_PUT_H
#define CRESSET_FORMAT_OTLP_OTLP_PUT_H

#include "base/buf.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/otlp/otlp.h"
#include "format/otlp/otlp_attr.h"

struct label;

/* A table whose entries are identified by their bytes. */
struct otlp_interned {
	VEC(struct {
		size_t at;
		size_t len;
	})
	entries;
	struct map index;
};

struct otlp_put {
	struct profile *p;
	struct buf tables[OTLP_TABLES]; /* by enum otlp_table */
	uint32_t n[OTLP_TABLES];
	struct otlp_interned attributes, mappings;
	struct map string_of, function_by_name;
	VEC(uint32_t)
	location_of_frame, function_of, mapping_of, stack_of, link_of; /* 0: not added yet */
	uint32_t keys[OTLP_ROLES];                                     /* strings of the model */
	uint32_t type_of_kind[FRAME_KINDS];                            /* attributes */
	VEC(uint32_t) frames, locations;
	struct buf entry; /* the attribute or mapping being built */
};

void otlp_put_init(struct otlp_put *w, struct profile *p);
void otlp_put_done(struct otlp_put *w);

/* Return the index in its table of a string, stack, link or attribute. */
uint32_t otlp_put_string(struct otlp_put *w, uint32_t string);
uint32_t otlp_put_stack(struct otlp_put *w, uint32_t stack);
uint32_t otlp_put_link(struct otlp_put *w, uint32_t link);
uint32_t otlp_put_label(struct otlp_put *w, const struct label *l);
uint32_t otlp_put_role_number(struct otlp_put *w, enum otlp_role role, int64_t number);
uint32_t otlp_put_role_true(struct otlp_put *w, enum otlp_role role);
uint32_t otlp_put_role_string(struct otlp_put *w, enum otlp_role role, uint32_t string);

/* Appends the ProfilesDictionary. */
void otlp_put_tables(struct otlp_put *w, struct buf *out);

#endif
