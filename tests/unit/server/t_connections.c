// tier: test
/* Which connection gives way when there is no room for another, and how much of the room one address may take. */
#include "unit.h"

#include "base/clock.h"
#include "base/err.h"
#include "server/connections.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 64, AN_EIGHTH = 8 };

struct room {
	struct connections all;
	int other[MOST + 1], n; /* the other ends, of one that was cut as well */
};

static uint64_t network(const char *address)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	if (inet_pton(AF_INET, address, &v4.sin_addr) == 1)
		return connections_network((struct sockaddr *)&v4);
	ck_assert_int_eq(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
	return connections_network((struct sockaddr *)&v6);
}

static void open_room(struct room *r)
{
	struct err err = { 0 };
	r->n = 0;
	ck_assert_int_eq(connections_start(&r->all, &err), 0);
}

static struct connection *enter(struct room *r, const char *from)
{
	int fds[2];
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	r->other[r->n++] = fds[1];
	return connections_add(&r->all, fds[0], network(from), UINT64_MAX);
}

static bool may_come(struct room *r, const char *from)
{
	return connections_make_room(&r->all, network(from), MOST);
}

static void close_room(struct room *r)
{
	while (r->all.first) {
		int fd = r->all.first->fd;
		connections_remove(&r->all, r->all.first);
		close(fd);
	}
	for (int i = 0; i < r->n; i++)
		close(r->other[i]);
	connections_stop(&r->all);
}

START_TEST(networks)
{
	ck_assert(network("192.0.2.1") != network("192.0.2.2"));
	ck_assert(network("192.0.2.1") == network("::ffff:192.0.2.1"));
	ck_assert(network("2001:db8::1") == network("2001:db8::ffff:2"));
	ck_assert(network("2001:db8::1") != network("2001:db8:0:1::1"));
	ck_assert_uint_eq(network("127.0.0.1"), 0);
	ck_assert_uint_eq(network("127.5.6.7"), 0);
	ck_assert_uint_eq(network("::1"), 0);
	ck_assert_uint_eq(network("::ffff:127.0.0.1"), 0);
	ck_assert_uint_eq(connections_network(NULL), 0);
}
END_TEST

/* The connection that has been silent longest goes first. One that was answered before goes after all silent ones, and one at work never goes. */
START_TEST(eviction_order)
{
	struct room r;
	open_room(&r);
	struct connection *answered = enter(&r, "::1");
	connections_asked(&r.all, answered);
	connections_answered(&r.all, answered);
	struct connection *works = enter(&r, "::1");
	connections_asked(&r.all, works);
	struct connection *known = enter(&r, "::1");
	connections_known(&r.all, known);
	struct connection *silent[MOST - 3];
	for (int i = 0; i < MOST - 3; i++)
		silent[i] = enter(&r, "::1");
	for (int i = 0; i < MOST - 3; i++) {
		ck_assert(!silent[i]->is_cut);
		ck_assert(may_come(&r, "::1"));
		ck_assert(silent[i]->is_cut);
		r.n--; /* in its place */
		close(r.other[r.n]);
		struct connection *next = enter(&r, "::1");
		connections_asked(&r.all, next);
	}
	ck_assert(!answered->is_cut);
	ck_assert(may_come(&r, "::1"));
	ck_assert(answered->is_cut);
	connections_asked(&r.all, enter(&r, "::1"));
	ck_assert(!may_come(&r, "::1"));
	ck_assert(!works->is_cut && !known->is_cut);
	close_room(&r);
}
END_TEST

START_TEST(an_address_has_an_eighth)
{
	struct room r;
	open_room(&r);
	struct connection *first = enter(&r, "2001:db8::1");
	for (int i = 1; i < AN_EIGHTH; i++)
		connections_asked(&r.all, enter(&r, "2001:db8::2"));
	ck_assert(may_come(&r, "2001:db8:1::1"));
	ck_assert(!first->is_cut);
	ck_assert(may_come(&r, "2001:db8::3"));
	ck_assert(first->is_cut);
	struct connection *last = enter(&r, "2001:db8::3");
	connections_asked(&r.all, last);
	ck_assert(!may_come(&r, "2001:db8::4"));
	connections_known(&r.all, last); /* a token outweighs an address */
	ck_assert(may_come(&r, "2001:db8::4"));
	for (int i = 0; i < 2 * AN_EIGHTH; i++) { /* where a proxy may be */
		ck_assert(may_come(&r, "127.0.0.1"));
		connections_asked(&r.all, enter(&r, "127.0.0.1"));
	}
	close_room(&r);
}
END_TEST

UNIT_MAIN("connections", networks, eviction_order, an_address_has_an_eighth)
