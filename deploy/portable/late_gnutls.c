/* deploy/portable/late_gnutls.c: the functions of GnuTLS that libmicrohttpd calls. In the release
 * program libmicrohttpd is linked in, and GnuTLS is the host's: it is loaded when a server with TLS
 * starts, so the host's security updates apply. Everything else works without it.
 *
 * Each function passes its arguments on as machine words. That is how all of them (pointers, sizes
 * and integers, at most six) are passed on the machines that cresset runs on. */
#include "server/mhd_late.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>

static _Atomic(void *) library;

bool late_gnutls_load(void)
{
	if (!library)
		library = dlopen(GNUTLS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	return library;
}

typedef long call(long a, long b, long c, long d, long e, long f);

/* Looks name up once. A missing function, or call without the library, ends in abort: a server with
 * TLS does not start without it. */
static call *find(_Atomic(call *) *known, const char *name)
{
	call *found = *known;
	if (!found && late_gnutls_load())
		*known = found = (call *)dlsym(library, name);
	if (!found)
		abort();
	return found;
}

#define PASS_ON(name) \
	call name; \
	long name(long a, long b, long c, long d, long e, long f) \
	{ \
		static _Atomic(call *) known; \
		return find(&known, #name)(a, b, c, d, e, f); \
	}

PASS_ON(gnutls_alpn_set_protocols)
PASS_ON(gnutls_bye)
PASS_ON(gnutls_certificate_allocate_credentials)
PASS_ON(gnutls_certificate_free_credentials)
PASS_ON(gnutls_certificate_server_set_request)
PASS_ON(gnutls_certificate_set_dh_params)
PASS_ON(gnutls_certificate_set_retrieve_function2)
PASS_ON(gnutls_certificate_set_retrieve_function3)
PASS_ON(gnutls_certificate_set_x509_key_mem)
PASS_ON(gnutls_certificate_set_x509_key_mem2)
PASS_ON(gnutls_certificate_set_x509_trust_mem)
PASS_ON(gnutls_cipher_get)
PASS_ON(gnutls_credentials_set)
PASS_ON(gnutls_deinit)
PASS_ON(gnutls_dh_params_deinit)
PASS_ON(gnutls_dh_params_import_pkcs3)
PASS_ON(gnutls_dh_params_init)
PASS_ON(gnutls_handshake)
PASS_ON(gnutls_init)
PASS_ON(gnutls_priority_deinit)
PASS_ON(gnutls_priority_init)
PASS_ON(gnutls_priority_set)
PASS_ON(gnutls_protocol_get_version)
PASS_ON(gnutls_psk_allocate_server_credentials)
PASS_ON(gnutls_psk_free_server_credentials)
PASS_ON(gnutls_psk_set_server_credentials_function)
PASS_ON(gnutls_record_check_pending)
PASS_ON(gnutls_record_get_direction)
PASS_ON(gnutls_record_recv)
PASS_ON(gnutls_record_send)
PASS_ON(gnutls_session_get_ptr)
PASS_ON(gnutls_session_set_ptr)
PASS_ON(gnutls_strerror)
PASS_ON(gnutls_transport_set_int2)

/* GnuTLS frees what libmicrohttpd allocates with this; its default is malloc. */
void *(*gnutls_malloc)(size_t) = malloc;

/* libmicrohttpd calls these when a program starts and ends, whether it serves or not; the library
 * does both itself as it is loaded and unloaded. */
int gnutls_global_init(void);
int gnutls_global_init(void)
{
	return 0;
}
void gnutls_global_deinit(void);
void gnutls_global_deinit(void)
{
}
