// tier: test
/* Messages and descriptors over a socket: the output is the input, in pieces of any size; a hostile peer gets end of stream, and keeps nothing open
 * here. */
#include "rand.h"
#include "unit.h"

#include "base/stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BYTES = 50000 };

static void pair(int fds[2])
{
	int small = 16384;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static uint64_t inode_of(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_ino;
}

static size_t random_len(struct rng *r)
{
	return rng_next(r) % 4 ? rng_next(r) % 50 : rng_next(r) % MAX_BYTES;
}

/* Byte j of message i. */
static char content(int i, size_t j)
{
	return (char)(i * 31 + j * 7);
}

static void check_message(struct stream *in, const struct stream_message *m, int i, size_t len,
			  uint64_t inode)
{
	ck_assert_uint_eq(m->type, (uint32_t)i + 1);
	ck_assert_uint_eq(m->len, len);
	for (size_t j = 0; j < len; j++)
		ck_assert_int_eq(((const char *)m->payload)[j], content(i, j));
	ck_assert_int_eq(m->with_fd, inode != 0);
	if (!inode)
		return;
	int fd = stream_take_fd(in);
	ck_assert_uint_eq(inode_of(fd), inode);
	close(fd);
}

START_TEST(output_equals_input)
{
	enum { N = 150 };
	struct rng rng = { 7 };
	struct stream out, in;
	struct stream_message m;
	static char payload[MAX_BYTES];
	static size_t len[N];
	static uint64_t inode[N];
	int fds[2], before = open_fds(), got = 0;

	pair(fds);
	stream_open(&out, fds[0], MAX_BYTES);
	stream_open(&in, fds[1], MAX_BYTES);
	for (int i = 0; i < N; i++) {
		int fd = rng_next(&rng) % 3 == 0 ? open("/tmp", O_TMPFILE | O_RDWR, 0600) : -1;
		len[i] = random_len(&rng);
		inode[i] = fd < 0 ? 0 : inode_of(fd);
		for (size_t j = 0; j < len[i]; j++)
			payload[j] = content(i, j);
		ck_assert_int_eq(stream_put(&out, i + 1, payload, len[i], fd), 0);
		if (fd >= 0)
			close(fd);
	}
	while (got < N) {
		ck_assert_int_eq(stream_flush(&out), 0);
		int rc = stream_read(&in);
		ck_assert(rc == 1 || rc == -EAGAIN);
		while ((rc = stream_next(&in, &m)) > 0) {
			check_message(&in, &m, got, len[got], inode[got]);
			got++;
		}
		ck_assert_int_eq(rc, 0);
	}
	ck_assert(!stream_has_more(&out));
	stream_close(&out);
	ck_assert_int_eq(stream_read(&in), 0);
	stream_close(&in);
	ck_assert_int_eq(open_fds(), before);
}
END_TEST

/* The result of the first stream_next after these bytes; the peer has closed. */
static int answer_to(const void *bytes, size_t len)
{
	struct stream in;
	struct stream_message m;
	int fds[2];

	pair(fds);
	ck_assert_int_eq(write(fds[0], bytes, len), (ssize_t)len);
	close(fds[0]);
	stream_open(&in, fds[1], 1000);
	ck_assert_int_eq(stream_read(&in), 1);
	int rc = stream_next(&in, &m);
	if (!rc)
		ck_assert_int_eq(stream_read(&in), 0);
	stream_close(&in);
	return rc;
}

START_TEST(odd_messages)
{
	const uint32_t none[] = { 5, 0 }, huge[] = { 5, UINT32_MAX }, over[] = { 5, 1001 },
		       cut[] = { 5, 1000 }, no_fd[] = { 1u << 31 | 5, 0 };

	ck_assert_int_eq(answer_to(none, sizeof none), 1);
	ck_assert_int_eq(answer_to(huge, sizeof huge), -EPROTO);
	ck_assert_int_eq(answer_to(over, sizeof over), -EPROTO);
	ck_assert_int_eq(answer_to(cut, sizeof cut), 0);
	ck_assert_int_eq(answer_to(cut, 3), 0);
	ck_assert_int_eq(answer_to(no_fd, sizeof no_fd), -EPROTO);
}
END_TEST

START_TEST(random_bytes)
{
	struct rng rng = { 11 };

	for (int i = 0; i < 2000; i++) {
		uint8_t bytes[64];
		size_t n = 1 + rng_next(&rng) % sizeof bytes;
		for (size_t k = 0; k < n; k++)
			bytes[k] = rng_next(&rng) % 3 ? 0 : rng_next(&rng);
		int rc = answer_to(bytes, n);
		ck_assert(rc == 0 || rc == 1 || rc == -EPROTO);
	}
}
END_TEST

START_TEST(unclaimed_descriptors)
{
	struct stream out, in;
	int fds[2], before = open_fds(), rc = 1;

	pair(fds);
	stream_open(&out, fds[0], 100);
	stream_open(&in, fds[1], 100);
	for (int i = 0; i < 2 * STREAM_MAX_FDS; i++)
		stream_put(&out, 1, "x", 1, STDERR_FILENO);
	ck_assert_int_eq(stream_flush(&out), 0);
	for (int i = 0; i < 2 * STREAM_MAX_FDS && rc > 0; i++)
		rc = stream_read(&in);
	ck_assert_int_eq(rc, -EPROTO);
	stream_close(&in);
	stream_put(&out, 1, "x", 1, STDERR_FILENO);
	ck_assert_int_lt(stream_flush(&out), 0);
	stream_close(&out);
	ck_assert_int_eq(open_fds(), before);
}
END_TEST

UNIT_MAIN("stream", output_equals_input, odd_messages, random_bytes, unclaimed_descriptors)
