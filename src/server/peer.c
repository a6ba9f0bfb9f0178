/* Queries sock_diag for the socket at the other end, and reads its owner; or reads the tables of
 * connections for all waiting ones together. */
#include "server/peer.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/thread.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OVERFLOW_UID = 65534, ALL_USERS = UINT32_MAX, MOST_ANSWERS = 16 };

/* --- the kernel ------------------------------------------------------------------------------- */

static bool knows_all_users(void)
{
	unsigned inside, outside, n;
	FILE *f = fopen("/proc/self/uid_map", "re");
	bool all = f && fscanf(f, "%u %u %u", &inside, &outside, &n) == 3 && !inside && !outside &&
		   n == ALL_USERS;

	if (f)
		fclose(f);
	return all;
}

struct question {
	struct nlmsghdr head;
	struct inet_diag_req_v2 body;
};
struct answer {
	struct nlmsghdr head;
	struct inet_diag_msg body; /* attributes may follow */
	char more[512];
};

/* Returns the length of the next message. Its sender is 0, the kernel, or the port id of a process:
 * one that has CAP_NET_ADMIN here may send to any netlink socket. */
static ssize_t receive_one(struct peers *p, struct answer *a, uint32_t *sender)
{
	struct sockaddr_nl from = { 0 };
	socklen_t len = sizeof from;
	ssize_t n = recvfrom(p->fd, a, sizeof *a, MSG_DONTWAIT, (struct sockaddr *)&from, &len);

	*sender = len == sizeof from ? from.nl_pid : UINT32_MAX;
	return n;
}

/* Skips what is not the kernel's, and late responses to earlier queries. */
static int receive(struct peers *p, struct answer *a)
{
	for (int i = 0; i < MOST_ANSWERS; i++) {
		uint32_t sender;
		ssize_t n = receive_one(p, a, &sender);

		if (n < 0)
			return -errno;
		if (!sender && (size_t)n >= sizeof a->head && a->head.nlmsg_seq == p->sequence)
			return (size_t)n >= sizeof a->head + sizeof a->body &&
					       a->head.nlmsg_type == SOCK_DIAG_BY_FAMILY
				       ? 0
				       : -ENOENT;
	}
	return -ENOENT;
}

/* The kernel has responded when send returns. */
static int ask(struct peers *p, struct question *q, struct answer *a)
{
	int rc = -EIO;

	pthread_mutex_lock(&p->lock);
	q->head.nlmsg_seq = ++p->sequence;
	if (send(p->fd, q, sizeof *q, 0) == sizeof *q)
		rc = receive(p, a);
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* --- the two ends ----------------------------------------------------------------------------- */

/* IPv4-mapped IPv6 addresses become IPv4, so that the kernel finds the client's socket, whichever
 * kind it is. */
static bool read_end(const struct sockaddr_storage *from, struct peer_end *out)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	*out = (struct peer_end){ .family = from->ss_family };
	if (from->ss_family == AF_INET) {
		memcpy(&v4, from, sizeof v4);
		out->address[0] = v4.sin_addr.s_addr;
		out->port = v4.sin_port;
		return true;
	}
	if (from->ss_family != AF_INET6)
		return false;
	memcpy(&v6, from, sizeof v6);
	memcpy(out->address, &v6.sin6_addr, sizeof out->address);
	out->port = v6.sin6_port;
	if (!IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
		return true;
	out->family = AF_INET;
	out->address[0] = out->address[3];
	memset(out->address + 1, 0, 3 * sizeof *out->address);
	return true;
}

static bool read_ends(int fd, struct peer_end *ours, struct peer_end *its)
{
	struct sockaddr_storage a, b;
	socklen_t a_len = sizeof a, b_len = sizeof b;

	return getsockname(fd, (struct sockaddr *)&a, &a_len) == 0 &&
	       getpeername(fd, (struct sockaddr *)&b, &b_len) == 0 && read_end(&a, ours) &&
	       read_end(&b, its) && ours->family == its->family;
}

/* While our end is connected, no other socket can have the same two ends. */
static bool is_connected(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof info;

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0 &&
	       (info.tcpi_state == TCP_ESTABLISHED || info.tcpi_state == TCP_CLOSE_WAIT);
}

/* A socket that a process has open has an inode. For one without, the kernel does not know the
 * owner and reports root. A listener may reply as well, if no connection exists. The kernel reads
 * the user before the inode. */
static bool is_owned(const struct inet_diag_msg *m, const struct peer_end *its,
		     const struct peer_end *ours)
{
	bool is_open = m->idiag_state == TCP_ESTABLISHED || m->idiag_state == TCP_FIN_WAIT1 ||
		       m->idiag_state == TCP_FIN_WAIT2 || m->idiag_state == TCP_CLOSE_WAIT;

	return is_open && m->idiag_inode && m->id.idiag_sport == its->port &&
	       m->id.idiag_dport == ours->port;
}

static int ask_kernel(struct peers *p, const struct peer_end *its, const struct peer_end *ours,
		      uid_t *out)
{
	struct answer a;
	struct question q = {
		.head = { .nlmsg_len = sizeof q,
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.body = { .sdiag_family = (uint8_t)its->family,
			  .sdiag_protocol = IPPROTO_TCP,
			  .idiag_states = UINT32_MAX,
			  .id = { .idiag_sport = its->port,
				  .idiag_dport = ours->port,
				  .idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE } } },
	};

	memcpy(q.body.id.idiag_src, its->address, sizeof its->address);
	memcpy(q.body.id.idiag_dst, ours->address, sizeof ours->address);
	if (ask(p, &q, &a) < 0 || !is_owned(&a.body, its, ours))
		return -ENOENT;
	*out = a.body.idiag_uid;
	return 0;
}

/* One reader at a time: the kernel makes a table again for each read. */
static void ask_tables(struct peers *p, struct peer_ask *asks, size_t n)
{
	pthread_mutex_lock(&p->lock);
	for (int i = 0; i < 2; i++)
		if (p->tables[i] >= 0)
			peer_table_find(p->tables[i], asks, n);
	p->reads++;
	pthread_mutex_unlock(&p->lock);
}

void peers_users(struct peers *p, const int *fds, size_t n, int64_t *users)
{
	struct peer_ask *asks = xcalloc(n + 1, sizeof *asks);

	for (size_t i = 0; i < n; i++)
		if (!read_ends(fds[i], &asks[i].ours, &asks[i].its))
			asks[i] = (struct peer_ask){ 0 }; /* no line has its ports */
	ask_tables(p, asks, n);
	for (size_t i = 0; i < n; i++) {
		bool is_known = asks[i].is_found && is_connected(fds[i]) &&
				!(p->has_outsiders && asks[i].uid == OVERFLOW_UID);
		users[i] = is_known ? (int64_t)asks[i].uid : -1;
	}
	free(asks);
}

bool peers_is_slow(const struct peers *p)
{
	return p->fd < 0 && (p->tables[0] >= 0 || p->tables[1] >= 0);
}

static int ask_one(struct peers *p, const struct peer_end *its, const struct peer_end *ours,
		   uid_t *out)
{
	struct peer_ask ask = { .its = *its, .ours = *ours };

	ask_tables(p, &ask, 1);
	*out = ask.uid;
	return ask.is_found ? 0 : -ENOENT;
}

int peers_user(struct peers *p, int fd, uid_t *out)
{
	struct peer_end ours, its;
	uid_t uid;
	int rc;

	if (!read_ends(fd, &ours, &its))
		return -ENOENT;
	rc = p->fd >= 0 ? ask_kernel(p, &its, &ours, &uid) : ask_one(p, &its, &ours, &uid);
	if (rc < 0 || !is_connected(fd) || (p->has_outsiders && uid == OVERFLOW_UID))
		return -ENOENT;
	*out = uid;
	return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* Connects to this process. Returns the accepted end, with the other one in *client, or -1 on
 * failure. */
static int connect_to_ourselves(int *client)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof at;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd = -1;

	*client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener >= 0 && *client >= 0 && bind(listener, (struct sockaddr *)&at, len) == 0 &&
	    listen(listener, 1) == 0 && getsockname(listener, (struct sockaddr *)&at, &len) == 0 &&
	    connect(*client, (struct sockaddr *)&at, len) == 0)
		fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (listener >= 0)
		close(listener);
	return fd;
}

/* Tests whether the kernel has sock_diag for TCP: without it, it reports that no connection
 * exists. */
static bool kernel_answers(struct peers *p)
{
	int client, fd = connect_to_ourselves(&client);
	bool does = fd >= 0 && peers_user(p, fd, &(uid_t){ 0 }) == 0;

	if (fd >= 0)
		close(fd);
	if (client >= 0)
		close(client);
	return does;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int peers_open(struct peers *p, struct err *err)
{
	*p = (struct peers){ .fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
					  NETLINK_SOCK_DIAG),
			     .tables = { open("/proc/self/net/tcp", O_RDONLY | O_CLOEXEC),
					 open("/proc/self/net/tcp6", O_RDONLY | O_CLOEXEC) } };
	pthread_mutex_init(&p->lock, NULL);
	if (getrandom(&p->sequence, sizeof p->sequence, 0) != sizeof p->sequence)
		close_one(&p->fd);
	p->has_outsiders = !knows_all_users();
	if (p->fd >= 0 && !kernel_answers(p))
		close_one(&p->fd);
	if (p->fd >= 0 || p->tables[0] >= 0)
		return 0;
	err_set(err, errno, "cannot query the users of connections: %s", strerror(errno));
	return err_hint(
		err,
		"without tokens every request is refused: see --tokens. Either sock_diag(7) or "
		"/proc/net/tcp is needed");
}

void peers_close(struct peers *p)
{
	close_one(&p->fd);
	close_one(&p->tables[0]);
	close_one(&p->tables[1]);
}

/* --- the kernel's tables ---------------------------------------------------------------------- */

/* The longest line, of IPv6, has some 200 bytes. */
enum { LINE_MOST = 512, PIECE = 16 << 10 };

/* Eight digits for IPv4, four times as many for IPv6: each word as it is in the machine's
 * memory. */
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
	/* Sockets that no process has open are listed as root's. */
	if (!inode || (state != TCP_ESTABLISHED && state != TCP_FIN_WAIT1 &&
		       state != TCP_FIN_WAIT2 && state != TCP_CLOSE_WAIT))
		return false;
	if (!is_same(own, own_port, its) || !is_same(other, other_port, ours))
		return false;
	*out = uid;
	return true;
}

/* The ports of the local ends that are requested. */
struct port_set {
	uint64_t bits[(UINT16_MAX + 1) / 64];
};

/* Returns the local port of a line, or -1. Looking at this alone takes a tenth of reading all. */
static int port_of(const char *line)
{
	const char *colon = strchr(line, ':');
	unsigned port;

	colon = colon ? strchr(colon + 1, ':') : NULL;
	return colon && sscanf(colon + 1, "%4x", &port) == 1 ? (int)port : -1;
}

static void look_at_line(const char *line, const struct port_set *ports, struct peer_ask *asks,
			 size_t n)
{
	int port = port_of(line);

	if (port < 0 || !(ports->bits[port / 64] & 1ull << port % 64))
		return;
	for (size_t i = 0; i < n; i++)
		if (!asks[i].is_found && ntohs(asks[i].its.port) == port)
			asks[i].is_found =
				peer_table_line(line, &asks[i].its, &asks[i].ours, &asks[i].uid);
}

/* Looks at the whole lines of text[0..n). Returns their length. */
static size_t look_at_lines(char *text, size_t len, const struct port_set *ports,
			    struct peer_ask *asks, size_t n)
{
	size_t at = 0;
	char *end;

	while ((end = memchr(text + at, '\n', len - at))) {
		*end = 0;
		look_at_line(text + at, ports, asks, n);
		at = (size_t)(end - text) + 1;
	}
	return at;
}

static size_t mark_ports(const struct peer_ask *asks, size_t n, struct port_set *ports)
{
	size_t left = 0;

	*ports = (struct port_set){ 0 };
	for (size_t i = 0; i < n; i++) {
		unsigned port = ntohs(asks[i].its.port);
		ports->bits[port / 64] |= 1ull << port % 64;
		left += !asks[i].is_found;
	}
	return left;
}

int peer_table_find(int fd, struct peer_ask *asks, size_t n)
{
	char text[PIECE + LINE_MOST];
	struct port_set ports;
	size_t kept = 0;
	off_t at = 0;

	while (mark_ports(asks, n, &ports) && at < PEER_TABLE_MOST) {
		ssize_t got = pread(fd, text + kept, PIECE, at);

		if (got <= 0)
			return got < 0 ? -errno : -ENOENT;
		at += got;
		kept += (size_t)got;
		size_t done = look_at_lines(text, kept, &ports, asks, n);
		kept -= done;
		if (kept > LINE_MOST) /* not such a table */
			return -EBADMSG;
		memmove(text, text + done, kept);
	}
	return at < PEER_TABLE_MOST ? 0 : -EFBIG;
}

/* 5 % of a CPU. */
#define PER_S_NS 50000000ull
#define SAVED_NS 500000000ull

typedef VEC(struct peer_waiting) waiting_list;

/* --- the queue: its thread -------------------------------------------------------------------- */

/* Waits until there is a connection, and CPU time for a read. Returns false at the end. */
static bool wait_for_turn(struct peer_queue *q)
{
	int64_t left_ns;

	while (!q->ends && !q->waiting.n)
		pthread_cond_wait(&q->changed, &q->lock);
	while (!q->ends && (left_ns = cpu_budget_left(&q->budget, clock_mono_ns())) <= 0)
		cond_wait_until(&q->changed, &q->lock,
				clock_mono_ns() + 1000000 +
					(uint64_t)-left_ns * 1000000000 / PER_S_NS);
	return !q->ends;
}

/* Connections that arrive in the meantime are for the next read: this one may not have them. */
static void look_up(struct peer_queue *q, const struct peer_waiting *v, size_t n)
{
	int *fds = xcalloc(n, sizeof *fds);
	int64_t *users = xcalloc(n, sizeof *users);

	for (size_t i = 0; i < n; i++)
		fds[i] = v[i].fd;
	peers_users(q->peers, fds, n, users);
	for (size_t i = 0; i < n; i++)
		q->found(q->ctx, &v[i], users[i]);
	free(users);
	free(fds);
}

static void *run(void *ctx)
{
	struct peer_queue *q = ctx;

	pthread_mutex_lock(&q->lock);
	while (wait_for_turn(q)) {
		waiting_list taken;
		memcpy(&taken, &q->waiting, sizeof taken);
		memset(&q->waiting, 0, sizeof q->waiting);
		pthread_mutex_unlock(&q->lock);
		uint64_t begun_ns = clock_thread_ns();
		look_up(q, taken.v, taken.n);
		cpu_budget_spend(&q->budget, clock_mono_ns(), clock_thread_ns() - begun_ns);
		vec_done(&taken);
		pthread_mutex_lock(&q->lock);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* --- the queue -------------------------------------------------------------------------------- */

int peer_queue_start(struct peer_queue *q, struct err *err)
{
	q->budget = (struct cpu_budget){ .per_s_ns = PER_S_NS, .most_ns = SAVED_NS };
	pthread_mutex_init(&q->lock, NULL);
	cond_init(&q->changed);
	int rc = thread_start(&q->thread, run, q);
	if (rc)
		return err_set(err, rc, "cannot start a thread: %s", strerror(rc));
	q->runs = true;
	return 0;
}

void peer_queue_stop(struct peer_queue *q)
{
	if (!q->runs)
		return;
	pthread_mutex_lock(&q->lock);
	q->ends = true;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	pthread_join(q->thread, NULL);
	for (size_t i = 0; i < q->waiting.n; i++)
		close(q->waiting.v[i].fd);
	vec_done(&q->waiting);
	q->runs = false;
}

bool peer_queue_put(struct peer_queue *q, int fd, const struct sockaddr *from, socklen_t len)
{
	struct peer_waiting w = { .fd = fd, .len = len };

	if (len > sizeof w.from)
		return false;
	memcpy(&w.from, from, len);
	pthread_mutex_lock(&q->lock);
	bool has_room = q->waiting.n < PEER_QUEUE_MOST;
	if (has_room)
		vec_push(&q->waiting, w);
	pthread_cond_signal(&q->changed);
	pthread_mutex_unlock(&q->lock);
	return has_room;
}
