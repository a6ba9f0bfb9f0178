/* server/mhd.h: libmicrohttpd, which parses requests and sends answers. It is loaded when a server starts, not when the program does: it
 * brings GnuTLS and nine more libraries, which every other command would have to load, too. */
#ifndef CRESSET_SERVER_MHD_H
#define CRESSET_SERVER_MHD_H

#include "base/err.h"

#include <microhttpd.h>

#define MHD_CALLS(X) \
	X(start_daemon) \
	X(stop_daemon) \
	X(add_connection) \
	X(get_connection_info) \
	X(get_daemon_info) \
	X(get_connection_values_n) \
	X(suspend_connection) \
	X(resume_connection) \
	X(create_response_from_buffer) \
	X(create_response_from_fd64) \
	X(create_response_from_callback) \
	X(add_response_header) \
	X(queue_response) \
	X(destroy_response)

#define MHD_CALL(name) __typeof__(&MHD_##name) name;
struct mhd {
	MHD_CALLS(MHD_CALL)
};
#undef MHD_CALL

/* -ENOSYS with words: the library is not here, or too old. It stays loaded: those behind it keep state that does not survive being
 * unloaded. */
int mhd_load(struct mhd *m, struct err *err);

#endif
