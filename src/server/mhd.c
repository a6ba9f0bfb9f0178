/* Loads libmicrohttpd's functions. */
#include "base/err.h"
#include "server/mhd_late.h"
#include "server/server_state.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

/* Null unless the library is linked in. */
#define WEAK(name) extern __typeof__(MHD_##name) MHD_##name __attribute__((weak));
MHD_CALLS(WEAK)
#undef WEAK

static int find(void *library, const char *name, void *to, struct err *err)
{
	void *call = dlsym(library, name);
	if (!call)
		return err_set(err, ENOSYS, "libmicrohttpd has no %s", name);
	memcpy(to, &call, sizeof call);
	return 0;
}

static int load(struct mhd *m, struct err *err)
{
	int rc = 0;
	void *library = dlopen(MHD_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		err_set(err, ENOSYS, "cannot load libmicrohttpd: %s", dlerror());
		return err_hint(err, "install GNU libmicrohttpd, or use the program of a release, "
				     "which includes it");
	}
#define FIND(name) \
	if (rc == 0) \
		rc = find(library, "MHD_" #name, &m->name, err);
	MHD_CALLS(FIND)
#undef FIND
	return rc;
}

/* What a linked-in library needs for TLS; a loaded one has brought it. */
static int load_tls(struct err *err)
{
	if (!late_gnutls_load || late_gnutls_load())
		return 0;
	err_set(err, ENOSYS, "TLS needs the library " GNUTLS_LIBRARY ", which is not installed");
	return err_hint(err, "install GnuTLS, or let a proxy in front of this server do TLS");
}

int mhd_load(struct mhd *m, bool with_tls, struct err *err)
{
	if (!MHD_start_daemon)
		return load(m, err);
#define LINKED(name) m->name = MHD_##name;
	MHD_CALLS(LINKED)
#undef LINKED
	return with_tls ? load_tls(err) : 0;
}
