/* base/init_system.h: the listening socket that the init system passes to a service, and messages
 * to it, like sd_listen_fds(3) and sd_notify(3) but without libsystemd. */
#ifndef CRESSET_BASE_INIT_SYSTEM_H
#define CRESSET_BASE_INIT_SYSTEM_H

#include "base/err.h"

/* --- the listening socket that it has opened for this service --- */

/* Returns the socket, which is the caller's; 0 if LISTEN_PID and LISTEN_FDS name none for this
 * process, as in a second call; or -EINVAL with err set: more than one, or one that is not a
 * listening TCP socket. Sets close-on-exec and O_NONBLOCK, and removes both variables. */
int init_socket_take(struct err *err);

/* For a service that does not listen: closes all descriptors that the variables name for this
 * process, so that its own children do not have them, and removes the variables. */
void init_socket_close(void);

/* --- the state of the service --- */

/* Sends "READY=1", "STOPPING=1" … to the socket in $NOTIFY_SOCKET, if set. Any user may send to the
 * init system's socket and fill its queue, so this waits for space for NOTIFY_WAIT_MS at most.
 * Returns -EAGAIN if there was none, and 0 otherwise: other errors are ignored. */
enum { NOTIFY_WAIT_MS = 100 };
int notify_init(const char *state);

/* Do the same in two steps, for callers that cannot open a socket later: notify_open returns the
 * socket or -1; notify_tell may be called any number of times. */
int notify_open(void);
int notify_tell(int fd, const char *state); /* fd -1: does nothing */

#endif
