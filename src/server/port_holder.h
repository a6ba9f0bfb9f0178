/* server/port_holder.h: the user of the process that has a TCP port of this machine. */
#ifndef CRESSET_SERVER_PORT_HOLDER_H
#define CRESSET_SERVER_PORT_HOLDER_H

#include <sys/socket.h>

enum { PORT_HOLDER_WORDS = 96 };
/* Looks in /proc/net/tcp and tcp6 (proc(5)) for a socket that prevents a bind of addr, an address
 * of AF_INET or AF_INET6. Writes "a process of user alice" or, if none is found, "another program"
 * to words, and returns them. The user's name is that of the name service. */
const char *port_holder(const struct sockaddr *addr, char words[PORT_HOLDER_WORDS]);

#endif
