/* base/notify.h: notifies the init system of a service's state, like sd_notify(3) but without
 * libsystemd. */
#ifndef CRESSET_BASE_NOTIFY_H
#define CRESSET_BASE_NOTIFY_H

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
