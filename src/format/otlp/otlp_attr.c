/* Tables of attribute names, and conversion of their values. */
#include "format/otlp/otlp_attr.h"

#include "base/escape.h"
#include "base/pb.h"
#include "format/otlp/otlp.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* opentelemetry.io/docs/specs/semconv/registry/attributes: thread, process, container, host, cpu,
 * profile. */
const struct otlp_role_info otlp_roles[OTLP_ROLES] = {
	[ATTR_LABEL] = { "", NULL, false },
	[ATTR_COMM] = { "thread.name", "comm", false },
	[ATTR_PROCESS] = { "process.executable.name", "process", false },
	[ATTR_CONTAINER_ID] = { "container.id", "container_id", true },
	[ATTR_CONTAINER] = { "container.name", "container", true },
	[ATTR_HOST] = { "host.name", "host", true },
	[ATTR_KERNEL] = { OTLP_OWN "kernel", "kernel", true },
	[ATTR_ARCH] = { "host.arch", "arch", true },
	[ATTR_POD] = { "k8s.pod.name", "pod", true },
	[ATTR_NAMESPACE] = { "k8s.namespace.name", "namespace", true },
	[ATTR_USER] = { "process.owner", "user", false },
	[ATTR_PID] = { "process.pid", NULL, false },
	[ATTR_TID] = { "thread.id", NULL, false },
	[ATTR_CPU] = { "cpu.logical_number", NULL, false },
	[ATTR_FRAME_TYPE] = { "profile.frame.type", NULL, false },
	[ATTR_BUILD_ID_GNU] = { "process.executable.build_id.gnu", NULL, false },
	[ATTR_BUILD_ID_GO] = { "process.executable.build_id.go", NULL, false },
	[ATTR_BUILD_ID_HASH] = { "process.executable.build_id.htlhash", NULL, false },
	[ATTR_TYPE] = { OTLP_OWN "type", NULL, false },
	[ATTR_SNAPSHOT] = { OTLP_OWN "snapshot", NULL, false },
	[ATTR_LENGTHS] = { OTLP_OWN "lengths", NULL, false },
	[ATTR_DEFAULT] = { OTLP_OWN "default", NULL, false },
	[ATTR_IDENTITY] = { OTLP_OWN "identity", NULL, false },
	[ATTR_MAPPING] = { OTLP_OWN "mapping", NULL, false },
	[ATTR_FOLDED] = { OTLP_OWN "folded", NULL, false },
	[ATTR_AT_ZERO] = { OTLP_OWN "at_zero", NULL, false },
	[ATTR_STACK_ID] = { OTLP_OWN "stack_id", NULL, false },
	[ATTR_HOST_ONCE] = { OTLP_OWN "host_once", NULL, false },
};

/* Prefixes of resource attributes. */
static const char *const resource_prefixes[] = { "service.",    "k8s.",      "host.",
						 "os.",         "cloud.",    "container.",
						 "deployment.", "telemetry." };

enum otlp_role otlp_role_of_key(const char *key, size_t len)
{
	for (int i = 1; i < OTLP_ROLES; i++)
		if (strlen(otlp_roles[i].key) == len && memcmp(otlp_roles[i].key, key, len) == 0)
			return i;
	return ATTR_LABEL;
}

enum otlp_role otlp_role_of_label(const char *label)
{
	for (int i = 1; i < OTLP_ROLES; i++)
		if (otlp_roles[i].label && strcmp(otlp_roles[i].label, label) == 0)
			return i;
	return ATTR_LABEL;
}

bool otlp_label_is_resource(const char *label)
{
	enum otlp_role role = otlp_role_of_label(label);
	if (role != ATTR_LABEL)
		return otlp_roles[role].of_resource;
	for (size_t i = 0; i < sizeof resource_prefixes / sizeof *resource_prefixes; i++)
		if (strncmp(label, resource_prefixes[i], strlen(resource_prefixes[i])) == 0)
			return true;
	return false;
}

/* --- kinds of frames -------------------------------------------------------------------------- */

/* The first of each kind is written. */
static const struct {
	const char *type;
	enum frame_kind kind;
} frame_types[] = {
	{ "native", FRAME_NATIVE }, { "kernel", FRAME_KERNEL }, { "cpython", FRAME_PYTHON },
	{ "jvm", FRAME_JAVA },      { "go", FRAME_GO },         { "v8js", FRAME_JS },
	{ "ruby", FRAME_RUBY },     { "php", FRAME_PHP },       { "phpjit", FRAME_PHP },
	{ "perl", FRAME_PERL },     { "beam", FRAME_ERLANG },   { "luajit", FRAME_LUA },
	{ "rust", FRAME_NATIVE },   { "dotnet", FRAME_JIT },    { "abort-marker", FRAME_MARKER },
};

const char *otlp_frame_type(enum frame_kind kind)
{
	for (size_t i = 0; i < sizeof frame_types / sizeof *frame_types; i++)
		if (frame_types[i].kind == kind && kind != FRAME_JIT && kind != FRAME_MARKER)
			return frame_types[i].type;
	return frame_kinds[kind].name;
}

bool otlp_frame_kind(struct cur text, enum frame_kind *kind)
{
	for (size_t i = 0; i < sizeof frame_types / sizeof *frame_types; i++) {
		if (!cur_is(text, frame_types[i].type))
			continue;
		*kind = frame_types[i].kind;
		return true;
	}
	for (int k = 0; k < FRAME_KINDS; k++) {
		if (!cur_is(text, frame_kinds[k].name))
			continue;
		*kind = k;
		return true;
	}
	return false;
}

/* --- values ----------------------------------------------------------------------------------- */

bool otlp_value_read(struct cur c, struct otlp_value *v)
{
	struct pb_field f;
	*v = (struct otlp_value){ 0 };
	while (pb_next(&c, &f)) {
		if (f.wire == PB_VARINT &&
		    (f.num == ANY_BOOL || f.num == ANY_INT || f.num == ANY_STRING_INDEX)) {
			v->form = f.num == ANY_STRING_INDEX ? FORM_STRING_INDEX : FORM_NUMBER;
			v->number = f.u;
			v->is_bool = f.num == ANY_BOOL;
		} else if (f.wire == PB_I64 && f.num == ANY_DOUBLE) {
			v->form = FORM_REAL;
			memcpy(&v->real, &f.u, sizeof v->real);
		} else if (f.wire == PB_LEN && (f.num == ANY_STRING || f.num == ANY_BYTES)) {
			v->form = f.num == ANY_STRING ? FORM_TEXT : FORM_BYTES;
			v->text = f.len;
		} else if (f.num == ANY_ARRAY || f.num == ANY_MAP) {
			v->form = FORM_NONE;
		}
	}
	return !c.bad;
}

static struct cur text_of_bytes(struct cur bytes, char room[OTLP_VALUE_ROOM])
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;
	while (cur_left(&bytes) && n + 2 <= OTLP_VALUE_ROOM) {
		uint8_t byte = cur_u8(&bytes);
		room[n++] = digits[byte >> 4];
		room[n++] = digits[byte & 15];
	}
	return cur_of(room, n);
}

struct cur otlp_value_text(const struct otlp_value *v, char room[OTLP_VALUE_ROOM])
{
	switch (v->form) {
	case FORM_TEXT:
		return v->text.p ? v->text : cur_of("", 0);
	case FORM_BYTES:
		return text_of_bytes(v->text, room);
	case FORM_NUMBER:
		if (v->is_bool)
			return v->number ? cur_of("true", 4) : cur_of("false", 5);
		return cur_of(room, snprintf(room, OTLP_VALUE_ROOM, "%" PRId64, v->number));
	case FORM_REAL:
		return cur_of(room, snprintf(room, OTLP_VALUE_ROOM, "%.17g", v->real));
	case FORM_STRING_INDEX:
	case FORM_NONE:
		break;
	}
	return cur_of("", 0);
}

void otlp_put_text(struct buf *b, uint32_t field, const char *text, size_t len)
{
	size_t value = pb_begin(b, field), string = pb_begin(b, ANY_STRING);
	esc_utf8(b, text, len, len);
	pb_end(b, string);
	pb_end(b, value);
}

void otlp_put_number(struct buf *b, uint32_t field, int64_t number)
{
	size_t value = pb_begin(b, field);
	pb_put_u64(b, ANY_INT, number);
	pb_end(b, value);
}

void otlp_put_true(struct buf *b, uint32_t field)
{
	size_t value = pb_begin(b, field);
	pb_put_u64(b, ANY_BOOL, 1);
	pb_end(b, value);
}

void otlp_put_key_text(struct buf *b, uint32_t field, const char *key, const char *text, size_t len)
{
	size_t pair = pb_begin(b, field), name = pb_begin(b, KEY_VALUE_KEY);
	esc_utf8(b, key, strlen(key), strlen(key));
	pb_end(b, name);
	otlp_put_text(b, KEY_VALUE_VALUE, text, len);
	pb_end(b, pair);
}
