/* format/otlp/otlp_attr.h: OpenTelemetry attributes: their names and values here.
 *
 * Besides those of the semantic conventions there are our own, for data without a field in the
 * message:
 *
 *     of a Profile     cresset.type       the type's name, if a reader would guess another
 *                      cresset.snapshot   values are states, not sums
 *                      cresset.lengths    each sample lasts as long as its value says
 *                      cresset.default    this type is shown first
 *     of a sample      cresset.stack_id   the id of its stack (profile/stack_id.h), in files
 *     of a mapping     cresset.identity   distinguishes files without a build id
 *                      cresset.mapping    its flags (profile/frame.h), if the source gave them
 *     of a location    cresset.folded     the name is one of several
 *                      cresset.at_zero    the address is 0, not unknown
 *     of a resource    cresset.kernel     kernel release (os.version is the distribution's)
 *                      cresset.host_once  the host.name after it is metadata of the whole
 *                                         profile, not a label
 *     of the scope     cresset.KEY        metadata of the whole profile, keys as in pprof's
 *                                         comments; cresset.comment.N */
#ifndef CRESSET_FORMAT_OTLP_OTLP_ATTR_H
#define CRESSET_FORMAT_OTLP_OTLP_ATTR_H

#include "base/buf.h"
#include "profile/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum otlp_role {
	ATTR_LABEL, /* any other one: a label of the same name */
	ATTR_COMM,
	ATTR_PROCESS,
	ATTR_CONTAINER_ID,
	ATTR_CONTAINER,
	ATTR_HOST,
	ATTR_KERNEL,
	ATTR_ARCH,
	ATTR_POD,
	ATTR_NAMESPACE,
	ATTR_USER,
	ATTR_PID,
	ATTR_TID,
	ATTR_CPU,
	ATTR_FRAME_TYPE,
	ATTR_BUILD_ID_GNU,
	ATTR_BUILD_ID_GO,
	ATTR_BUILD_ID_HASH,
	ATTR_TYPE,
	ATTR_SNAPSHOT,
	ATTR_LENGTHS,
	ATTR_DEFAULT,
	ATTR_IDENTITY,
	ATTR_MAPPING,
	ATTR_FOLDED,
	ATTR_AT_ZERO,
	ATTR_STACK_ID,
	ATTR_HOST_ONCE,
	OTLP_ROLES
};
struct otlp_role_info {
	const char *key;   /* OpenTelemetry's */
	const char *label; /* ours; NULL: not a label */
	bool of_resource;
};
extern const struct otlp_role_info otlp_roles[OTLP_ROLES];

enum otlp_role otlp_role_of_key(const char *key, size_t len);
/* Returns the role of a label, or ATTR_LABEL if it has the same name there. */
enum otlp_role otlp_role_of_label(const char *label);
/* Whether a label states where something ran: it is then an attribute of the resource. */
bool otlp_label_is_resource(const char *label);

#define OTLP_OWN "cresset."

/* Values of profile.frame.type. Kinds without one in the conventions use our own name. Returns
 * false if the kind is unknown. */
const char *otlp_frame_type(enum frame_kind kind);
bool otlp_frame_kind(struct cur text, enum frame_kind *kind);

/* A value other than an array or a map. */
enum otlp_form { FORM_NONE, FORM_TEXT, FORM_NUMBER, FORM_REAL, FORM_BYTES, FORM_STRING_INDEX };
struct otlp_value {
	enum otlp_form form;
	struct cur text; /* FORM_TEXT, FORM_BYTES */
	int64_t number;  /* FORM_NUMBER; FORM_STRING_INDEX */
	double real;
	bool is_bool;
};
/* Reads an AnyValue. Returns false if it is damaged. An empty value, an array or a map is
 * FORM_NONE. */
bool otlp_value_read(struct cur c, struct otlp_value *v);
/* Returns its text as for a label; numbers are written to room. */
enum { OTLP_VALUE_ROOM = 128 };
struct cur otlp_value_text(const struct otlp_value *v, char room[OTLP_VALUE_ROOM]);

/* Appends AnyValues as a field of a message. */
void otlp_put_text(struct buf *b, uint32_t field, const char *text, size_t len);
void otlp_put_number(struct buf *b, uint32_t field, int64_t number);
void otlp_put_true(struct buf *b, uint32_t field);
/* Appends a KeyValue. */
void otlp_put_key_text(struct buf *b, uint32_t field, const char *key, const char *text,
		       size_t len);

#endif
