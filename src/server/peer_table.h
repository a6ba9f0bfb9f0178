/* server/peer_table.h: whose a connection is by the kernel's tables of TCP connections, /proc/net/tcp and tcp6 (proc(5)), for kernels that have no
 * sock_diag(7) for TCP. One look reads as much of a table as comes before the connection; a table of more than PEER_TABLE_MOST bytes is not read to
 * its end. */
#ifndef CRESSET_SERVER_PEER_TABLE_H
#define CRESSET_SERVER_PEER_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { PEER_TABLE_MOST = 32 << 20 };

/* One end of a connection, as the kernel has it in memory. */
struct peer_end {
	int family; /* AF_INET, also where IPv6 carries it, or AF_INET6 */
	uint32_t address[4];
	uint16_t port; /* big-endian */
};

/* The user of one line, if it is the socket whose own end is `its` and whose other end is `ours`, and some process has it open. */
bool peer_table_line(const char *line, const struct peer_end *its, const struct peer_end *ours,
		     uid_t *out);

/* Reads the table fd from its begin. -ENOENT: it is not there; -EFBIG; or what reading says. */
int peer_table_find(int fd, const struct peer_end *its, const struct peer_end *ours, uid_t *out);

#endif
