/* The table of code kinds, and calls through it. */
#include "gpu/code/device_code.h"

#include "base/mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

const struct device_code_kind *const device_code_kinds[] = { &cuda_code, NULL };

struct device_code {
	const struct device_code_kind *kind;
	void *image, *code;
};

int device_code_open(void *image, size_t size, struct device_code **out, struct err *err)
{
	int rc = -ENOEXEC;
	void *code = NULL;

	for (size_t i = 0; rc && device_code_kinds[i]; i++) {
		rc = device_code_kinds[i]->open(image, size, &code, err);
		if (rc)
			continue;
		*out = xcalloc(1, sizeof **out);
		**out = (struct device_code){ device_code_kinds[i], image, code };
	}
	if (rc)
		free(image);
	return rc;
}

void device_code_close(struct device_code *c)
{
	if (!c)
		return;
	c->kind->close(c->code);
	free(c->image);
	free(c);
}

uint32_t device_code_layers(struct device_code *c, const char *function, uint64_t offset,
			    const char *stall, device_layer_fn *fn, void *ctx)
{
	uint32_t text;

	if (!c->kind->find(c->code, function, &text))
		return 0;
	return c->kind->layers(c->code, text, offset, stall, fn, ctx);
}

const char *device_stall_name(const char *reason, char text[DEVICE_STALL_MAX], bool *not_issued)
{
	const char *name = NULL;

	*not_issued = false;
	for (size_t i = 0; !name && device_code_kinds[i]; i++)
		name = device_code_kinds[i]->stall(reason, text, not_issued);
	if (name)
		return name;
	snprintf(text, DEVICE_STALL_MAX, "%.*s", DEVICE_STALL_MAX - 1, reason);
	return text;
}
