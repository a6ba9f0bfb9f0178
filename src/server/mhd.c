#include "server/mhd.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static int find(void *library, const char *name, void *to, struct err *err)
{
	void *call = dlsym(library, name);
	if (!call)
		return err_set(err, ENOSYS, "libmicrohttpd has no %s", name);
	memcpy(to, &call, sizeof call);
	return 0;
}

int mhd_load(struct mhd *m, struct err *err)
{
	int rc = 0;
	void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		err_set(err, ENOSYS, "cannot load libmicrohttpd: %s", dlerror());
		return err_hint(err, "it is in Debian's package libmicrohttpd12");
	}
#define FIND(name) \
	if (rc == 0) \
		rc = find(library, "MHD_" #name, &m->name, err);
	MHD_CALLS(FIND)
#undef FIND
	return rc;
}
