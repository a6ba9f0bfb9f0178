/* base/notify.h: what the init system wants to know of a service: sd_notify(3), without its library. */
#ifndef CRESSET_BASE_NOTIFY_H
#define CRESSET_BASE_NOTIFY_H

/* "READY=1", "STOPPING=1" … to the socket in $NOTIFY_SOCKET; nothing where there is none. That it did not arrive is no failure of
 * ours. */
void notify_init(const char *state);

/* The same in two steps, for who may open no socket later on: the socket, or -1; then as often as there is something to say. */
int notify_open(void);
void notify_tell(int fd, const char *state); /* fd -1: to nobody */

#endif
