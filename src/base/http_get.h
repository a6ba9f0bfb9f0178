/* base/http_get.h: HTTP and HTTPS requests: fetches a file, or sends a request with or without a
 * body. The only user of libcurl.
 *
 * The library is loaded with the first client, not when the program starts: linked, it and its 30
 * dependencies would cost every start 16 ms and the collector 5.4 MB of Pss (of its limit of
 * 8 MB), and few users fetch anything.
 *
 * The server is not trusted: time, size of the response, size of its headers and redirects are
 * limited, and redirects may lead only to http and https. No cookies, no passwords, no
 * compression. Proxies are those of the environment (http_proxy …). */
#ifndef CRESSET_BASE_HTTP_GET_H
#define CRESSET_BASE_HTTP_GET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

/* The names that libcurl is loaded by: the first one that is here. */
#define HTTP_LIBRARIES "libcurl-gnutls.so.4", "libcurl.so.4"

enum {
	HTTP_MAX_REDIRECTS = 5, /* limit: redirects of one request */
	/* limit: headers of all its responses */
	HTTP_MAX_HEADER_BYTES = 64 << 10,
	HTTP_MIN_BYTES_PER_S = 1024, /* slower than this for stall_s is a timeout */
};

struct http_client;

/* -ENOSYS: libcurl is not installed. */
int http_client_new(struct http_client **out, struct err *err);
void http_client_free(struct http_client *c); /* NULL is fine */

struct http_request {
	const char *url;
	uint32_t connect_ms; /* until connected; all three > 0 */
	uint32_t total_ms;   /* until the last byte */
	uint32_t stall_s;    /* see HTTP_MIN_BYTES_PER_S */
	uint64_t max_bytes;  /* maximum size of the response's body */
	/* Authorization: Bearer …, not sent to another host after a redirect; NULL: none */
	const char *token;
	const char *ca_file; /* PEM: trusted in place of the system's; NULL: the system's */
	const char *method;  /* "HEAD", "PUT"; NULL: POST with a body, GET without */
	/* Body of the request; NULL: none. */
	const void *body;
	size_t body_len;
	const char *content_type;   /* of body; NULL: application/octet-stream */
	const char *const *headers; /* further headers, "Name: value"; ends with NULL */
	bool stays;                 /* do not follow redirects: return them as answers */
	const atomic_bool *give_up; /* checked once a second while no data arrive; may be NULL */
	struct buf *answer;         /* appends the body here; NULL: writes it to fd */
	/* A header of the response to return, and space for its value, truncated; "" if missing. */
	const char *want_header;
	char *header_value;
	size_t header_size;
	uint64_t *retry_after_s; /* value of Retry-After, in either form; 0: none. May be NULL */
	/* Set to the HTTP status, and the body is read for any status. NULL: any status but 200 is
	 * a failure, and its body is not read. */
	long *status;
};

/* Writes the body to fd at its current offset. Returns 0, or -ENOENT: not found (404); -ETIMEDOUT:
 * one of the timeouts; -ECONNREFUSED: no connection; -EFBIG; -ELOOP: too many redirects; -EPROTO:
 * any other response; -ECANCELED: give_up. After a failure part of a body may be written. A client
 * retains its connection for the next request. */
int http_get(struct http_client *c, const struct http_request *r, int fd, struct err *err);

#endif
