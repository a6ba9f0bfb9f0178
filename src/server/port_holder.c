/* Reads the kernel's tables of TCP sockets. */
#include "server/port_holder.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum {
	LINE_MOST = 512,
	LINES_MOST = 1 << 20, /* limit: lines read of a table; a holder beyond has no name */
	USER_NAME_BYTES = 51, /* of a name that is shown */
};

/* A line of a table. */
struct line {
	uint32_t address[4];
	unsigned n_words, port, state, uid;
	unsigned long inode;
};

/* An address is in words of 32 bits, in the byte order of this machine. */
static bool read_address(const char *text, struct line *l)
{
	size_t len = strlen(text);

	l->n_words = (unsigned)(len / 8);
	if (len != 8 && len != 32)
		return false;
	for (unsigned i = 0; i < l->n_words; i++)
		if (sscanf(text + 8 * i, "%8x", &l->address[i]) != 1)
			return false;
	return true;
}

static bool read_line(const char *text, struct line *l)
{
	char address[33];

	return sscanf(text,
		      " %*u: %32[0-9A-F]:%4x %*[0-9A-F]:%*x %2x %*x:%*x %*x:%*x %*x %u %*u %lu",
		      address, &l->port, &l->state, &l->uid, &l->inode) == 5 &&
	       read_address(address, l);
}

static bool is_any(const uint32_t *address, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (address[i])
			return false;
	return true;
}

static void split(const struct sockaddr *a, uint32_t address[4], unsigned *n, unsigned *port)
{
	const struct sockaddr_in *v4 = (const void *)a;
	const struct sockaddr_in6 *v6 = (const void *)a;
	bool is_v4 = a->sa_family == AF_INET;

	*n = is_v4 ? 1 : 4;
	*port = ntohs(is_v4 ? v4->sin_port : v6->sin6_port);
	memset(address, 0, 4 * sizeof *address);
	if (is_v4)
		address[0] = v4->sin_addr.s_addr;
	else
		memcpy(address, &v6->sin6_addr, sizeof v6->sin6_addr);
}

/* Addresses of different kinds meet only where one of them is all addresses. Sockets that no
 * process has open are listed as root's. */
static bool is_in_the_way(const struct line *l, const struct sockaddr *a)
{
	uint32_t address[4];
	unsigned n, port;

	split(a, address, &n, &port);
	return l->port == port && l->inode &&
	       (is_any(l->address, l->n_words) || is_any(address, n) ||
		(l->n_words == n && memcmp(l->address, address, n * sizeof *address) == 0));
}

/* One that listens counts more than one that is connected. */
static void look(const char *table, const struct sockaddr *addr, struct line *best)
{
	FILE *f = fopen(table, "re");
	char text[LINE_MOST];
	struct line l;

	for (int i = 0; f && i < LINES_MOST && fgets(text, sizeof text, f); i++)
		if (read_line(text, &l) && is_in_the_way(&l, addr) &&
		    (!best->inode || (best->state != TCP_LISTEN && l.state == TCP_LISTEN)))
			*best = l;
	if (f)
		fclose(f);
}

/* Of the file alone: a name service may not respond, and the supervisor of up must not wait. */
static bool name_of(uid_t uid, char name[USER_NAME_BYTES])
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *user = NULL;

	for (int i = 0; f && i < LINES_MOST && (user = fgetpwent(f)) && user->pw_uid != uid; i++)
		;
	bool is_known = user && user->pw_uid == uid;
	if (is_known)
		snprintf(name, USER_NAME_BYTES, "%s", user->pw_name);
	if (f)
		fclose(f);
	return is_known;
}

const char *port_holder(const struct sockaddr *addr, char words[PORT_HOLDER_WORDS])
{
	struct line best = { 0 };
	char name[USER_NAME_BYTES];

	look("/proc/net/tcp", addr, &best);
	look("/proc/net/tcp6", addr, &best);
	if (!best.inode)
		snprintf(words, PORT_HOLDER_WORDS, "another program");
	else if (name_of(best.uid, name))
		snprintf(words, PORT_HOLDER_WORDS, "a process of user %s", name);
	else
		snprintf(words, PORT_HOLDER_WORDS, "a process of user %u", best.uid);
	return words;
}
