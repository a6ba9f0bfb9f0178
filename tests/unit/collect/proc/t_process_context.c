// tier: test
/* A process's published context (OTEP 4719): good and damaged messages, and a real process that publishes, changes and lies. */
#include "base/pb.h"
#include "collect/proc/process_context.h"
#include "rand.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- messages --------------------------------------------------------------------------------- */

static void put_pair_as(struct buf *b, uint32_t field, const char *key, const char *value)
{
	size_t pair = pb_begin(b, field);
	pb_put_bytes(b, 1, key, strlen(key));
	size_t any = pb_begin(b, 2);
	pb_put_bytes(b, 1, value, strlen(value));
	pb_end(b, any);
	pb_end(b, pair);
}

static void put_pair(struct buf *b, const char *key, const char *value)
{
	put_pair_as(b, 1, key, value);
}

static void put_message(struct buf *b, const char *name, const char *version)
{
	size_t resource = pb_begin(b, 1);
	put_pair(b, "telemetry.sdk.name", "test");
	put_pair(b, "service.name", name);
	put_pair(b, "service.version", version);
	put_pair(b, "service.namespace", "shop");
	put_pair(b, "deployment.environment.name", "staging");
	pb_end(b, resource);
	put_pair_as(b, 2, "service.name", "an extra attribute");
}

START_TEST(messages)
{
	/* {1: {1: {1: "service.name", 2: {1: "front"}}}, 2: {1: "threadlocal.x"}}, as protoc writes it */
	static const uint8_t known[] = "\x0a\x17\x0a\x15\x0a\x0cservice.name\x12\x05\x0a\x03"
				       "abc\x12\x0f\x0a\x0dthreadlocal.x";
	struct process_context s;

	ck_assert(process_context_parse(known, sizeof known - 1, &s));
	ck_assert_str_eq(s.name, "abc");
	ck_assert_str_eq(s.version, "");
	ck_assert(process_context_parse("", 0, &s));
	ck_assert_str_eq(s.name, "");
	for (size_t cut = 1; cut < 25; cut++) { /* inside of the resource */
		ck_assert(!process_context_parse(known, cut, &s));
		ck_assert_str_eq(s.name, "");
	}
}
END_TEST

START_TEST(odd_values)
{
	struct process_context s;
	struct buf b = { 0 };
	char text[1000];

	memset(text, 'n', sizeof text);
	text[sizeof text - 1] = '\0';
	size_t resource = pb_begin(&b, 1);
	put_pair(&b, "service.name", text); /* too long */
	put_pair(&b, "service.version", "1");
	put_pair(&b, "service.version", "2"); /* the last one counts */
	size_t pair = pb_begin(&b, 1);
	pb_put_bytes(&b, 1, "service.namespace", 17);
	size_t any = pb_begin(&b, 2);
	pb_put_bytes(&b, 1, "a\0b", 3);
	pb_end(&b, any);
	pb_end(&b, pair);
	pb_end(&b, resource);
	ck_assert(process_context_parse(b.data, b.len, &s));
	ck_assert_str_eq(s.name, "");
	ck_assert_str_eq(s.version, "2");
	ck_assert_str_eq(s.name_space, "");
	buf_done(&b);
}
END_TEST

START_TEST(mappings)
{
	ck_assert(process_context_is_mapping("/memfd:OTEL_CTX"));
	ck_assert(process_context_is_mapping("/memfd:OTEL_CTX (deleted)"));
	ck_assert(process_context_is_mapping("[anon:OTEL_CTX]"));
	ck_assert(process_context_is_mapping("[anon_shmem:OTEL_CTX]"));
	ck_assert(!process_context_is_mapping("/memfd:OTEL_CTX_OLD"));
	ck_assert(!process_context_is_mapping("/tmp/memfd:OTEL_CTX"));
	ck_assert(!process_context_is_mapping(""));
}
END_TEST

/* --- a process -------------------------------------------------------------------------------- */

struct header {
	char signature[8];
	uint32_t version, bytes;
	_Atomic uint64_t published_ns;
	uint64_t message;
};
_Static_assert(sizeof(struct header) == 32, "as published");

/* As in the reference: a memory file, mapped and closed; the signature last. */
static struct header *publish(const struct buf *message)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	ck_assert_int_eq(ftruncate(fd, sizeof(struct header)), 0);
	struct header *h = mmap(NULL, sizeof *h, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	close(fd);
	h->version = 2;
	h->bytes = message->len;
	h->message = (uintptr_t)message->data;
	h->published_ns = 1;
	atomic_thread_fence(memory_order_seq_cst);
	memcpy(h->signature, "OTEL_CTX", 8);
	return h;
}

struct publisher {
	pid_t pid;
	int out;
};

/* fn runs in a separate process, which lives until it is killed, and is read after it has written a byte. */
static struct publisher begin(void (*fn)(int out))
{
	struct publisher p;
	int out[2];
	char byte;

	ck_assert_int_eq(pipe(out), 0);
	p.pid = fork();
	if (p.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		fn(out[1]);
		for (;;)
			pause();
	}
	close(out[1]);
	p.out = out[0];
	ck_assert_int_eq(read(p.out, &byte, 1), 1);
	return p;
}

static void end(struct publisher *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	close(p->out);
}

static void say_ready(int out)
{
	if (write(out, "x", 1) != 1)
		_exit(1);
}

static void publish_once(int out)
{
	struct buf b = { 0 };

	put_message(&b, "front", "1.2");
	publish(&b);
	say_ready(out);
}

START_TEST(published)
{
	struct publisher p = begin(publish_once);
	struct process_context s;
	uint64_t addr = process_context_find(p.pid);

	ck_assert_uint_ne(addr, 0);
	ck_assert_int_eq(process_context_read(p.pid, addr, &s), 0);
	ck_assert_str_eq(s.name, "front");
	ck_assert_str_eq(s.version, "1.2");
	ck_assert_str_eq(s.name_space, "shop");
	ck_assert_str_eq(s.environment, "staging");
	ck_assert_int_lt(process_context_read(p.pid, addr + 4096 * 1000, &s), 0);
	ck_assert_str_eq(s.name, "");
	end(&p);
	ck_assert_int_lt(process_context_read(p.pid, addr, &s), 0);
	ck_assert_uint_eq(process_context_find(p.pid), 0);
	ck_assert_uint_eq(process_context_find(getpid()), 0);
}
END_TEST

/* Both messages have the same value twice: what is read must be from one of them. */
static void publish_always(int out)
{
	struct buf a = { 0 }, b = { 0 };

	put_message(&a, "aaaaaaaa", "aaaaaaaa");
	put_message(&b, "bb", "bb");
	struct header *h = publish(&a);
	say_ready(out);
	for (uint64_t n = 2;; n++) {
		const struct buf *m = n % 2 ? &a : &b;
		h->published_ns = 0;
		h->message = (uintptr_t)m->data;
		h->bytes = m->len;
		h->published_ns = n;
	}
}

START_TEST(changing)
{
	struct publisher p = begin(publish_always);
	struct process_context s;
	uint64_t addr = process_context_find(p.pid);
	int n_read = 0;

	for (int i = 0; i < 20000; i++) {
		int rc = process_context_read(p.pid, addr, &s);
		ck_assert(rc == 0 || rc == -EAGAIN);
		ck_assert_msg(strcmp(s.version, rc                  ? ""
						: *s.version == 'a' ? "aaaaaaaa"
								    : "bb") == 0,
			      "torn: %s", s.version);
		n_read += rc == 0;
	}
	ck_assert_int_gt(n_read, 0);
	end(&p);
}
END_TEST

static void publish_lies(int out)
{
	static struct buf b;

	put_message(&b, "front", "1");
	struct header *h = publish(&b);
	struct rng r = { 1 };
	say_ready(out);
	for (;;) {
		h->bytes = rng_next(&r) >> (32 + rng_next(&r) % 32);
		h->message = rng_next(&r) % 2 ? rng_next(&r) : (uintptr_t)h;
		h->version = rng_next(&r) % 8 ? 2 : 3;
		h->published_ns = rng_next(&r) % 4;
	}
}

START_TEST(lying)
{
	struct publisher p = begin(publish_lies);
	struct process_context s;
	uint64_t addr = process_context_find(p.pid);

	for (int i = 0; i < 20000; i++)
		if (process_context_read(p.pid, addr, &s))
			ck_assert_str_eq(s.name, "");
	end(&p);
}
END_TEST

UNIT_MAIN("process_context", messages, odd_values, mappings, published, changing, lying)
