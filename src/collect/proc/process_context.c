/* Finds the mapping with the process context, and decodes its protobuf. */
#include "collect/proc/process_context.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/pb.h"
#include "collect/proc/proc_maps.h"
#include "collect/proc/process_memory.h"
#include "format/otlp/otlp_attr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEADER_BYTES = 32,
	HEADER_VERSION = 2,
	MESSAGE_MAX_BYTES = 64 << 10,
	ATTRIBUTES_MAX = 1024,
};
/* Fields of the messages (opentelemetry-proto). */
enum {
	CONTEXT_RESOURCE = 1,
	CONTEXT_ATTRIBUTE = 2,
	RESOURCE_ATTRIBUTE = 1,
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2
};

/* A named or unnamed memory file, or anonymous memory with a name. */
bool process_context_is_mapping(const char *name)
{
	return strcmp(name, "/memfd:OTEL_CTX") == 0 ||
	       strcmp(name, "/memfd:OTEL_CTX (deleted)") == 0 ||
	       strcmp(name, "[anon_shmem:OTEL_CTX]") == 0 || strcmp(name, "[anon:OTEL_CTX]") == 0;
}

/* --- the message ------------------------------------------------------------------------------ */

/* Attributes of the process, or of the message (is_resource false). */
static char *field_of(struct process_context *out, struct cur key, bool is_resource)
{
	const struct {
		const char *key;
		char *value;
		bool is_resource;
	} known[] = {
		{ "service.name", out->name, true },
		{ "service.namespace", out->name_space, true },
		{ "service.version", out->version, true },
		{ "deployment.environment.name", out->environment, true },
		{ "threadlocal.schema_version", out->threads, false },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].is_resource == is_resource && cur_left(&key) == strlen(known[i].key) &&
		    memcmp(key.p, known[i].key, cur_left(&key)) == 0)
			return known[i].value;
	return NULL;
}

static bool take_attribute(struct cur c, bool is_resource, struct process_context *out)
{
	struct cur key = { 0 }, value = { 0 };
	struct pb_field f;
	struct otlp_value v;

	while (pb_next(&c, &f)) {
		if (f.wire == PB_LEN && f.num == KEY_VALUE_KEY)
			key = f.len;
		else if (f.wire == PB_LEN && f.num == KEY_VALUE_VALUE)
			value = f.len;
	}
	char *to = c.bad ? NULL : field_of(out, key, is_resource);
	if (!to)
		return !c.bad;
	if (!otlp_value_read(value, &v))
		return false;
	size_t len = v.form == FORM_TEXT ? cur_left(&v.text) : 0;
	if (len && len < SERVICE_NAME_BYTES && !memchr(v.text.p, '\0', len)) {
		memcpy(to, v.text.p, len);
		to[len] = '\0';
	}
	return true;
}

static bool take_resource(struct cur c, struct process_context *out)
{
	struct pb_field f;
	int n = 0;

	while (pb_next(&c, &f))
		if (f.wire == PB_LEN && f.num == RESOURCE_ATTRIBUTE &&
		    (++n > ATTRIBUTES_MAX || !take_attribute(f.len, true, out)))
			return false;
	return !c.bad;
}

bool process_context_parse(const void *data, size_t len, struct process_context *out)
{
	struct cur c = cur_of(data, len);
	struct pb_field f;
	bool ok = true;
	int n = 0;

	*out = (struct process_context){ 0 };
	while (ok && pb_next(&c, &f)) {
		if (f.wire == PB_LEN && f.num == CONTEXT_RESOURCE)
			ok = take_resource(f.len, out);
		else if (f.wire == PB_LEN && f.num == CONTEXT_ATTRIBUTE)
			ok = ++n <= ATTRIBUTES_MAX && take_attribute(f.len, false, out);
	}
	if (ok && !c.bad)
		return true;
	*out = (struct process_context){ 0 };
	return false;
}

/* Names of the schema after the proposal is accepted, and until then. */
bool process_context_has_threads(const struct process_context *c)
{
	return strcmp(c->threads, "tls_v1") == 0 || strcmp(c->threads, "tlsdesc_v1") == 0 ||
	       strcmp(c->threads, "tlsdesc_v1_dev") == 0;
}

/* --- the process ------------------------------------------------------------------------------ */

struct header {
	uint32_t bytes;
	uint64_t published_ns, message;
};

static int read_header(uint32_t pid, uint64_t addr, struct header *h)
{
	uint8_t raw[HEADER_BYTES];
	int rc = process_memory_read(pid, addr, raw, sizeof raw);

	if (rc)
		return rc;
	struct cur c = cur_of(raw, sizeof raw);
	const void *signature = cur_take(&c, 8);
	if (memcmp(signature, "OTEL_CTX", 8) != 0 || cur_u32(&c) != HEADER_VERSION)
		return -ENODATA;
	h->bytes = cur_u32(&c);
	h->published_ns = cur_u64(&c);
	h->message = cur_u64(&c);
	if (!h->published_ns)
		return -EAGAIN;
	return h->bytes && h->bytes <= MESSAGE_MAX_BYTES ? 0 : -ENODATA;
}

static int read_once(uint32_t pid, uint64_t addr, struct process_context *out)
{
	struct header h, again;
	int rc = read_header(pid, addr, &h);

	if (rc)
		return rc;
	uint8_t *message = xmalloc(h.bytes);
	rc = process_memory_read(pid, h.message, message, h.bytes);
	int changed = read_header(pid, addr, &again);
	if (changed || again.published_ns != h.published_ns)
		rc = -EAGAIN;
	if (!rc && !process_context_parse(message, h.bytes, out))
		rc = -ENODATA;
	free(message);
	return rc;
}

int process_context_read(uint32_t pid, uint64_t addr, struct process_context *out)
{
	enum { TRIES = 3 };
	int rc = -EAGAIN;

	*out = (struct process_context){ 0 };
	for (int i = 0; i < TRIES && rc == -EAGAIN; i++)
		rc = read_once(pid, addr, out);
	return rc;
}

static bool is_other_mapping(void *ctx, const struct proc_map *m)
{
	uint64_t *addr = ctx;

	if (!process_context_is_mapping(m->name))
		return true;
	*addr = m->start;
	return false;
}

uint64_t process_context_find(uint32_t pid)
{
	uint64_t addr = 0;

	proc_maps_read(pid, is_other_mapping, &addr);
	return addr;
}
