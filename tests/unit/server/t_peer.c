// tier: test
/* Which user is at the other end of a connection: by sock_diag where the kernel has it, and by the kernel's tables. Tests real connections, and lines
 * as kernels write them. */
#include "base/clock.h"
#include "base/err.h"
#include "server/peer.h"
#include "unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- lines ------------------------------------------------------------------------------------ */

#define V4(own, other, state, uid, inode) \
	"   3: " own " " other " " state " 00000000:00000000 00:00000000 00000000  " uid \
	"        0 " inode " 1 0000000000000000 20 4 30 10 -1                     "

static const struct peer_end client = { AF_INET, { 0 }, 0 }; /* completed by ends() */

static void ends(struct peer_end *its, struct peer_end *ours)
{
	*its = *ours = client;
	its->address[0] = ours->address[0] = htonl(INADDR_LOOPBACK);
	its->port = htons(0x9C40);
	ours->port = htons(0x1F90);
}

START_TEST(lines)
{
	static const struct {
		const char *line;
		int64_t uid; /* -1: does not match */
	} rows[] = {
		{ V4("0100007F:9C40", "0100007F:1F90", "01", "1000", "31337"), 1000 },
		{ V4("0100007F:9C40", "0100007F:1F90", "01", "   0", "31337"), 0 },
		{ V4("0100007F:9C40", "0100007F:1F90", "08", "1000", "31337"), 1000 },
		/* our own end of it */
		{ V4("0100007F:1F90", "0100007F:9C40", "01", "   0", "31337"), -1 },
		/* no longer owned: TIME_WAIT, LAST_ACK, an orphan, one that is not accepted yet */
		{ V4("0100007F:9C40", "0100007F:1F90", "06", "   0", "0"), -1 },
		{ V4("0100007F:9C40", "0100007F:1F90", "09", "   0", "0"), -1 },
		{ V4("0100007F:9C40", "0100007F:1F90", "04", "   0", "0"), -1 },
		{ V4("0100007F:9C40", "0100007F:1F90", "03", "   0", "7"), -1 },
		/* a listener, and those of others */
		{ V4("0100007F:9C40", "00000000:0000", "0A", "   0", "7"), -1 },
		{ V4("0100007F:9C41", "0100007F:1F90", "01", "   0", "7"), -1 },
		{ V4("0200007F:9C40", "0100007F:1F90", "01", "   0", "7"), -1 },
		/* IPv4 in IPv6 */
		{ V4("0000000000000000FFFF00000100007F:9C40",
		     "0000000000000000FFFF00000100007F:1F90", "01", "1001", "7"),
		  1001 },
		{ V4("00000000000000000000000001000000:9C40",
		     "00000000000000000000000001000000:1F90", "01", "   0", "7"),
		  -1 },
		/* not lines of such a table */
		{ "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when", -1 },
		{ "   3: 0100007F:9C40 0100007F:1F90 01 00000000:00000000 00:0000", -1 },
		{ "   3: 0100007:9C40 0100007F:1F90 01 00000000:00000000 00:00000000 0 0 0 7", -1 },
		{ "", -1 },
	};
	struct peer_end its, ours;

	ends(&its, &ours);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uid_t uid = 4242;
		bool is_it = peer_table_line(rows[i].line, &its, &ours, &uid);

		ck_assert_msg(is_it == (rows[i].uid >= 0), "%s", rows[i].line);
		ck_assert_uint_eq(uid, is_it ? (uid_t)rows[i].uid : 4242);
	}
}
END_TEST

START_TEST(no_table)
{
	struct peer_ask ask = { 0 };
	FILE *f = tmpfile();

	ends(&ask.its, &ask.ours);
	ck_assert_int_eq(peer_table_find(fileno(f), &ask, 1), -ENOENT);
	for (int i = 0; i < 1000; i++)
		fputs("0100007F:9C40 ", f);
	fflush(f);
	ck_assert_int_eq(peer_table_find(fileno(f), &ask, 1), -EBADMSG);
	rewind(f);
	for (int i = 0; i < 300; i++) /* two pieces, with a line across them */
		fprintf(f, "%s\n", V4("0100007F:9C41", "0100007F:1F90", "01", "   0", "7"));
	fprintf(f, "%s\n", V4("0100007F:9C40", "0100007F:1F90", "01", "  12", "7"));
	fflush(f);
	ck_assert_int_eq(peer_table_find(fileno(f), &ask, 1), 0);
	ck_assert_uint_eq(ask.uid, 12);
	ask.is_found = false;
	ck_assert_int_eq(peer_table_find(-1, &ask, 1), -EBADF);
	fclose(f);
}
END_TEST

/* --- connections ------------------------------------------------------------------------------ */

struct connection {
	int listener, accepted;
	pid_t client; /* a process of another user, which only keeps its end open */
};

/* A server of one address family, with a client of the same family or of IPv4. */
static bool connect_as(struct connection *c, int family, int client_family, uid_t uid)
{
	struct sockaddr_in6 at = { .sin6_family = AF_INET6 };
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	socklen_t len = family == AF_INET6 ? sizeof at : sizeof v4;
	struct sockaddr *place =
		family == AF_INET6 ? (struct sockaddr *)&at : (struct sockaddr *)&v4;

	at.sin6_addr = client_family == AF_INET6 ? in6addr_loopback : in6addr_any;
	v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->listener = socket(family, SOCK_STREAM, 0);
	if (c->listener < 0 || bind(c->listener, place, len) || listen(c->listener, 1))
		return false;
	ck_assert_int_eq(getsockname(c->listener, place, &len), 0);
	if (family == AF_INET6)
		v4.sin_port = at.sin6_port;
	c->client = fork();
	if (!c->client) {
		int fd = -1;

		if (setuid(uid) == 0)
			fd = socket(client_family, SOCK_STREAM, 0);
		place = client_family == AF_INET6 ? (struct sockaddr *)&at : (struct sockaddr *)&v4;
		if (fd < 0 || connect(fd, place, client_family == AF_INET6 ? sizeof at : sizeof v4))
			_exit(1);
		pause();
		_exit(0);
	}
	c->accepted = accept(c->listener, NULL, NULL);
	return c->accepted >= 0;
}

static void end_client(struct connection *c)
{
	kill(c->client, SIGKILL);
	waitpid(c->client, NULL, 0);
}

static void disconnect(struct connection *c)
{
	close(c->accepted);
	close(c->listener);
}

static void check_users(struct peers *p)
{
	static const struct {
		int family, client_family;
	} ways[] = { { AF_INET, AF_INET }, { AF_INET6, AF_INET6 }, { AF_INET6, AF_INET } };
	const uid_t users[] = { getuid(), getuid() ? getuid() : 12345 };

	for (size_t i = 0; i < 6; i++) {
		struct connection c;
		uid_t uid = 4242;

		if (!connect_as(&c, ways[i / 2].family, ways[i / 2].client_family, users[i % 2]))
			continue; /* a machine without IPv6 */
		ck_assert_int_eq(peers_user(p, c.accepted, &uid), 0);
		ck_assert_uint_eq(uid, users[i % 2]);
		end_client(&c); /* unowned, so root's for the kernel */
		ck_assert_int_eq(peers_user(p, c.accepted, &uid), -ENOENT);
		disconnect(&c);
	}
}

START_TEST(by_the_kernel)
{
	struct err err = { 0 };
	struct peers p;

	ck_assert_int_eq(peers_open(&p, &err), 0);
	printf("# by %s\n", p.fd >= 0 ? "sock_diag" : "the tables: this kernel has no sock_diag");
	check_users(&p);
	peers_close(&p);
	peers_close(&p);
}
END_TEST

START_TEST(by_the_tables)
{
	struct err err = { 0 };
	struct peers p;

	ck_assert_int_eq(peers_open(&p, &err), 0);
	if (p.fd >= 0)
		close(p.fd);
	p.fd = -1;
	check_users(&p);
	peers_close(&p);
}
END_TEST

/* --- long tables ------------------------------------------------------------------------------ */

enum { PAIRS = 2000, NEW = 200 };

struct found {
	uint32_t n, right;
};

static void note_found(void *ctx, const struct peer_waiting *w, int64_t user)
{
	struct found *f = ctx;

	close(w->fd);
	__atomic_add_fetch(&f->right, user == (int64_t)getuid(), __ATOMIC_RELAXED);
	__atomic_add_fetch(&f->n, 1, __ATOMIC_RELEASE);
}

/* A listener with idle pairs of connections; at most as many as descriptors allow. */
static int listen_here(struct sockaddr_in *at)
{
	socklen_t len = sizeof *at;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	*at = (struct sockaddr_in){ .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	ck_assert_int_eq(bind(fd, (struct sockaddr *)at, len), 0);
	ck_assert_int_eq(listen(fd, 1000), 0);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)at, &len), 0);
	return fd;
}

static bool connect_pair(int listener, const struct sockaddr_in *at, int *accepted)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)at, sizeof *at))
		return false;
	*accepted = accept(listener, NULL, NULL);
	return *accepted >= 0;
}

/* The long table of a user without rights, if the test is root's. */
static pid_t begin_pairs(uint32_t n)
{
	struct sockaddr_in at;
	int ready[2], fd;
	char c;

	ck_assert_int_eq(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(1);
		int listener = listen_here(&at);
		for (uint32_t i = 0; i < n; i++)
			if (!connect_pair(listener, &at, &fd))
				_exit(1);
		if (write(ready[1], "", 1) == 1)
			pause();
		_exit(0);
	}
	close(ready[1]);
	ck_assert_int_eq(read(ready[0], &c, 1), 1);
	close(ready[0]);
	return pid;
}

/* One read is for all that wait, and reads keep to their budget: beside a long table, new
 * connections come faster than they could be looked up one by one. */
START_TEST(a_read_is_for_many)
{
	struct found found = { 0 };
	struct err err = { 0 };
	struct sockaddr_in at;
	struct peers p;
	struct peer_queue q = { .peers = &p, .found = note_found, .ctx = &found };
	const struct rlimit many = { 6000, 6000 };
	int fd;

	if (setrlimit(RLIMIT_NOFILE, &many))
		T_SKIP("not enough descriptors here");
	ck_assert_int_eq(peers_open(&p, &err), 0);
	if (p.fd >= 0)
		close(p.fd);
	p.fd = -1;
	ck_assert(peers_is_slow(&p));
	pid_t pairs = begin_pairs(PAIRS);
	int listener = listen_here(&at);
	ck_assert_int_eq(peer_queue_start(&q, &err), 0);
	for (int i = 0; i < NEW; i++) {
		ck_assert(connect_pair(listener, &at, &fd));
		ck_assert(peer_queue_put(&q, fd, (struct sockaddr *)&at, sizeof at));
	}
	while (__atomic_load_n(&found.n, __ATOMIC_ACQUIRE) < NEW)
		usleep(1000);
	ck_assert_uint_eq(found.right, p.has_outsiders && getuid() == 65534 ? 0 : NEW);
	ck_assert_uint_lt(p.reads, NEW);
	printf("# %u connections: %llu reads\n", NEW, (unsigned long long)p.reads);
	kill(pairs, SIGKILL);
	waitpid(pairs, NULL, 0);
	peer_queue_stop(&q);
	peers_close(&p);
}
END_TEST

/* The time that reads have taken: what was saved, 5 % of the time that has passed, one read. */
START_TEST(reads_respect_their_budget)
{
	struct found found = { 0 };
	struct err err = { 0 };
	struct sockaddr_in at;
	struct peers p;
	struct peer_queue q = { .peers = &p, .found = note_found, .ctx = &found };
	int fd, listener = listen_here(&at);

	ck_assert_int_eq(peers_open(&p, &err), 0);
	if (p.fd >= 0)
		close(p.fd);
	p.fd = -1;
	ck_assert_int_eq(peer_queue_start(&q, &err), 0);
	q.budget.most_ns = 1; /* nothing is saved */
	uint64_t begun_ns = clock_mono_ns(), cpu_ns = clock_cpu_ns();
	for (uint32_t i = 0; i < 30; i++) {
		ck_assert(connect_pair(listener, &at, &fd));
		ck_assert(peer_queue_put(&q, fd, (struct sockaddr *)&at, sizeof at));
		while (__atomic_load_n(&found.n, __ATOMIC_ACQUIRE) <= i)
			usleep(1000);
	}
	uint64_t passed_ns = clock_mono_ns() - begun_ns;
	uint64_t spent_ns = clock_cpu_ns() - cpu_ns;
	ck_assert_uint_eq(p.reads, 30);
	printf("# 30 reads: %.1f ms of %.1f ms\n", spent_ns / 1e6, passed_ns / 1e6);
	peer_queue_stop(&q);
	peers_close(&p);
	/* The test itself sleeps, and connects: as much again is for that. */
	ck_assert_uint_lt(spent_ns, passed_ns / 10 + spent_ns / 30 + 20000000);
}
END_TEST

/* --- answers that are not the kernel's -------------------------------------------------------- */

/* An ordinary user has the capability in namespaces of its own, which know that user. */
static bool may_send(void)
{
	const unsigned uid = getuid();

	if (geteuid() == 0)
		return true;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return false;
	FILE *f = fopen("/proc/self/uid_map", "we");
	bool is_mapped = f && fprintf(f, "%u %u 1\n", uid, uid) > 0;
	return f && fclose(f) == 0 && is_mapped;
}

static bool set_loopback_up(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	bool is_up = fd >= 0 && (ioctl(fd, SIOCSIFFLAGS, &lo) == 0 || geteuid() == 0);

	close(fd);
	return is_up;
}

/* The ports of the connection whose accepted end fd is. */
static void read_ports(int fd, uint16_t *ours, uint16_t *its)
{
	struct sockaddr_in a, b;
	socklen_t len = sizeof a;

	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	len = sizeof b;
	ck_assert_int_eq(getpeername(fd, (struct sockaddr *)&b, &len), 0);
	*ours = a.sin_port;
	*its = b.sin_port;
}

static const uid_t claimed = 777;

/* Puts an answer to the next question into the socket, as another process could. */
static bool forge(const struct peers *p, uint16_t ours, uint16_t its)
{
	struct {
		struct nlmsghdr head;
		struct inet_diag_msg body;
	} m = { .head = { .nlmsg_len = sizeof m,
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_seq = p->sequence + 1 },
		.body = { .idiag_family = AF_INET,
			  .idiag_state = TCP_ESTABLISHED,
			  .idiag_inode = 1,
			  .idiag_uid = claimed,
			  .id = { .idiag_sport = its, .idiag_dport = ours } } };
	struct sockaddr_nl to;
	socklen_t len = sizeof to;
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_SOCK_DIAG);

	ck_assert_int_eq(getsockname(p->fd, (struct sockaddr *)&to, &len), 0);
	bool is_sent = sendto(fd, &m, sizeof m, 0, (struct sockaddr *)&to, len) == sizeof m;
	close(fd);
	return is_sent;
}

START_TEST(only_from_the_kernel)
{
	const struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	struct err err = { 0 };
	struct connection c;
	struct peers p;
	uint16_t ours, its;
	uid_t uid = 4242;

	if (!may_send() || !set_loopback_up())
		T_SKIP("no namespaces for users here");
	ck_assert(connect_as(&c, AF_INET, AF_INET, getuid()));
	read_ports(c.accepted, &ours, &its);
	ck_assert_int_eq(peers_open(&p, &err), 0);
	close(p.fd);
	p.fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
	ck_assert_int_eq(bind(p.fd, (struct sockaddr *)&any, sizeof any), 0);
	p.has_outsiders = false;
	ck_assert(forge(&p, ours, its));
	int rc = peers_user(&p, c.accepted, &uid);
	ck_assert_uint_eq(uid, rc ? 4242 : getuid()); /* without sock_diag there is no answer */
	end_client(&c);
	disconnect(&c);
	peers_close(&p);
}
END_TEST

START_TEST(queries_start_anywhere)
{
	struct err err = { 0 };
	struct peers a, b;

	ck_assert_int_eq(peers_open(&a, &err), 0);
	ck_assert_int_eq(peers_open(&b, &err), 0);
	ck_assert_uint_ne(a.sequence, b.sequence); /* by chance: once in 2^32 */
	peers_close(&a);
	peers_close(&b);
}
END_TEST

UNIT_MAIN("peer", lines, no_table, by_the_kernel, by_the_tables, a_read_is_for_many,
	  reads_respect_their_budget, only_from_the_kernel, queries_start_anywhere)
