#include "server/peer_table.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The longest line, of IPv6, has some 200 bytes. */
enum { LINE_MOST = 512, PIECE = 16 << 10 };

/* Eight digits for IPv4, four times as many for IPv6: each word as the machine has it in memory. */
static bool read_address(const char *digits, struct peer_end *out)
{
	const bool is_v6 = strlen(digits) == 32;

	if (!is_v6 && strlen(digits) != 8)
		return false;
	*out = (struct peer_end){ .family = is_v6 ? AF_INET6 : AF_INET };
	for (int i = 0; i < (is_v6 ? 4 : 1); i++)
		if (sscanf(digits + 8 * i, "%8x", &out->address[i]) != 1)
			return false;
	if (is_v6 && !out->address[0] && !out->address[1] && out->address[2] == htonl(0xffff))
		*out = (struct peer_end){ .family = AF_INET, .address = { out->address[3] } };
	return true;
}

static bool is_same(const char *digits, unsigned port, const struct peer_end *end)
{
	struct peer_end e;

	return port == ntohs(end->port) && read_address(digits, &e) && e.family == end->family &&
	       memcmp(e.address, end->address, sizeof e.address) == 0;
}

bool peer_table_line(const char *line, const struct peer_end *its, const struct peer_end *ours,
		     uid_t *out)
{
	char own[33], other[33];
	unsigned own_port, other_port, state, uid;
	unsigned long inode;

	if (sscanf(line, " %*u: %32[0-9A-F]:%4x %32[0-9A-F]:%4x %2x %*x:%*x %*x:%*x %*x %u %*u %lu",
		   own, &own_port, other, &other_port, &state, &uid, &inode) != 7)
		return false;
	/* What no process has open any more is said to be root's. */
	if (!inode || (state != TCP_ESTABLISHED && state != TCP_FIN_WAIT1 &&
		       state != TCP_FIN_WAIT2 && state != TCP_CLOSE_WAIT))
		return false;
	if (!is_same(own, own_port, its) || !is_same(other, other_port, ours))
		return false;
	*out = uid;
	return true;
}

/* Whole lines of text[0..n). Returns how much of it they take; *found says whether one of them was it. */
static size_t look_at_lines(char *text, size_t n, const struct peer_end *its,
			    const struct peer_end *ours, uid_t *out, bool *found)
{
	size_t at = 0;
	char *end;

	while (!*found && (end = memchr(text + at, '\n', n - at))) {
		*end = 0;
		*found = peer_table_line(text + at, its, ours, out);
		at = (size_t)(end - text) + 1;
	}
	return at;
}

int peer_table_find(int fd, const struct peer_end *its, const struct peer_end *ours, uid_t *out)
{
	char text[PIECE + LINE_MOST];
	size_t kept = 0;
	bool found = false;
	off_t at = 0;

	while (at < PEER_TABLE_MOST) {
		ssize_t n = pread(fd, text + kept, PIECE, at);

		if (n < 0)
			return -errno;
		if (!n)
			return -ENOENT;
		at += n;
		kept += (size_t)n;
		size_t done = look_at_lines(text, kept, its, ours, out, &found);
		if (found)
			return 0;
		kept -= done;
		if (kept > LINE_MOST) /* no such table */
			return -EBADMSG;
		memmove(text, text + done, kept);
	}
	return -EFBIG;
}
