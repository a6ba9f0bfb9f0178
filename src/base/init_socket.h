/* base/init_socket.h: the listening socket that the init system has opened for this service, like
 * sd_listen_fds(3) but without libsystemd. */
#ifndef CRESSET_BASE_INIT_SOCKET_H
#define CRESSET_BASE_INIT_SOCKET_H

#include "base/err.h"

/* Returns the socket, which is the caller's; 0 if LISTEN_PID and LISTEN_FDS name none for this
 * process, as in a second call; or -EINVAL with err set: more than one, or one that is not a
 * listening TCP socket. Sets close-on-exec and O_NONBLOCK, and removes both variables. */
int init_socket_take(struct err *err);

/* For a service that does not listen: closes all descriptors that the variables name for this
 * process, so that its own children do not have them, and removes the variables. */
void init_socket_close(void);

#endif
