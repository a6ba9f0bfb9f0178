/* Reads the head of an nmethod: its method, and the places of its debug information. */
#include "runtime/hotspot_parts.h"

#include <errno.h>
#include <string.h>

/* States of an nmethod: not yet installed -1, in use 0, then one or two that new calls do not enter
 * but that may still be on stacks; higher ones are freed. 8 has one of them, later versions two;
 * from 20 on no higher ones exist. */
static bool is_alive(const struct hotspot_offsets *o, uint16_t version,
		     const struct hotspot_blob *b)
{
	int64_t state = (int8_t)hotspot_get(b->bytes, o->nmethod_state);

	return !o->nmethod_state.size || (state >= 0 && state <= (version < 9 ? 1 : 2));
}

bool hotspot_is_nmethod(const struct runtime_memory *m, uint64_t name)
{
	char text[HOTSPOT_MAX_BLOB_NAME];

	return hotspot_blob_name(m, name, text) == 0 &&
	       (strcmp(text, "nmethod") == 0 || strcmp(text, "native nmethod") == 0);
}

/* Parts may be anywhere in the process: only their sizes are checked. */
struct parts {
	uint64_t pcs, pcs_end, scopes, scopes_end, metadata, metadata_end;
};

/* From 23 on it is outside of the blob. */
static void find_scopes(const struct hotspot_offsets *o, const struct hotspot_blob *b,
			struct parts *out)
{
	const uint8_t *bytes = b->bytes;
	uint64_t pcs = hotspot_get(bytes, o->nmethod_pcs);
	uint64_t scopes = hotspot_get(bytes, o->nmethod_scopes_offset);

	if (o->nmethod_immutable_data.size) {
		uint64_t data = hotspot_get(bytes, o->nmethod_immutable_data);

		out->pcs = data + pcs;
		out->pcs_end = out->scopes = data + scopes;
		out->scopes_end = data + hotspot_get(bytes, o->nmethod_immutable_size);
		return;
	}
	out->pcs = out->scopes_end = b->addr + pcs;
	out->pcs_end = b->addr + hotspot_get(bytes, o->nmethod_dependencies);
	out->scopes = o->nmethod_scopes_begin.size ? hotspot_get(bytes, o->nmethod_scopes_begin)
						   : b->addr + scopes;
}

/* From 25 on it is outside of the blob, after the relocations; in 23 and 24 in the blob's data. */
static void find_metadata(const struct hotspot_offsets *o, const struct hotspot_blob *b,
			  struct parts *out)
{
	const uint8_t *bytes = b->bytes;
	uint64_t metadata = hotspot_get(bytes, o->nmethod_metadata);

	if (o->blob_mutable_data.size) {
		uint64_t data = hotspot_get(bytes, o->blob_mutable_data);

		out->metadata = data + hotspot_get(bytes, o->blob_relocation_size);
		out->metadata_end = data + hotspot_get(bytes, o->blob_mutable_size);
	} else if (o->nmethod_immutable_data.size) {
		out->metadata = b->addr + hotspot_get(bytes, o->blob_data_offset) + metadata;
		out->metadata_end = b->addr + b->size;
	} else {
		out->metadata = b->addr + metadata;
		out->metadata_end = out->scopes;
	}
}

static bool is_part(uint64_t start, uint64_t end)
{
	return start <= end && end - start <= HOTSPOT_MAX_NMETHOD;
}

int hotspot_nmethod_read(const struct hotspot_offsets *o, uint16_t version,
			 const struct runtime_memory *m, uint64_t addr, uint32_t compile_id,
			 struct hotspot_nmethod *out)
{
	struct hotspot_blob b;
	struct parts parts;
	int rc = hotspot_blob_read(o, m, addr, &b);

	if (rc < 0)
		return rc;
	uint64_t method = hotspot_get(b.bytes, o->nmethod_method);
	if ((uint32_t)hotspot_get(b.bytes, o->nmethod_compile_id) != compile_id || !method ||
	    !is_alive(o, version, &b))
		return -ESTALE;
	find_scopes(o, &b, &parts);
	find_metadata(o, &b, &parts);
	if (!is_part(parts.pcs, parts.pcs_end) || !is_part(parts.scopes, parts.scopes_end) ||
	    !is_part(parts.metadata, parts.metadata_end))
		return -EBADMSG;
	*out = (struct hotspot_nmethod){
		.name = b.name,
		.method = method,
		.compile_id = compile_id,
		.pcs = parts.pcs,
		.n_pcs = (parts.pcs_end - parts.pcs) / o->pc_bytes,
		.scopes = parts.scopes,
		.scopes_bytes = parts.scopes_end - parts.scopes,
		.metadata = parts.metadata,
		.n_metadata = (parts.metadata_end - parts.metadata) / 8,
	};
	return 0;
}
