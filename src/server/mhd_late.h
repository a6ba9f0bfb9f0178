/* server/mhd_late.h: parts of a release program outside this directory (deploy/portable): it has
 * libmicrohttpd linked in, and loads GnuTLS when it is needed. Other builds load libmicrohttpd,
 * which brings in GnuTLS. */
#ifndef CRESSET_SERVER_MHD_LATE_H
#define CRESSET_SERVER_MHD_LATE_H

#include <stdbool.h>

#define MHD_LIBRARY    "libmicrohttpd.so.12"
#define GNUTLS_LIBRARY "libgnutls.so.30"

/* Loads GnuTLS for TLS. Returns false if this machine has none. Null in other builds. */
bool late_gnutls_load(void) __attribute__((weak));

/* Whether this is the program of a release. */
static inline bool libraries_are_linked_in(void)
{
	return late_gnutls_load;
}

#endif
