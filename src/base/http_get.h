/* base/http_get.h: one file fetched, one question asked, or one message sent, over HTTP or HTTPS. The only user of libcurl.
 *
 * The library is loaded when the first client is made, not when the program starts: linked, it and the 30 libraries behind it
 * cost every start 16 ms and the collector 5.4 MB of Pss (of the 8 MB it may have), and hardly anybody fetches anything.
 *
 * The server is not trusted: time, bytes of the answer, bytes of its headers and redirects are bounded, and redirects
 * lead to http and https only. No cookies, no passwords, no compression. Proxies are those of the environment (http_proxy …). */
#ifndef CRESSET_BASE_HTTP_GET_H
#define CRESSET_BASE_HTTP_GET_H

#include "base/err.h"

#include "base/buf.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HTTP_MAX_REDIRECTS = 5,
	HTTP_MAX_HEADER_BYTES = 64 << 10, /* of all answers to one request, redirects included */
	HTTP_MIN_BYTES_PER_S = 1024,      /* slower for stall_s is too slow */
};

struct http_client;

/* -ENOSYS: there is no libcurl here. */
int http_client_new(struct http_client **out, struct err *err);
void http_client_free(struct http_client *c); /* NULL is fine */

struct http_request {
	const char *url;
	uint32_t connect_ms; /* until connected; all three > 0 */
	uint32_t total_ms;   /* until the last byte */
	uint32_t stall_s;    /* see HTTP_MIN_BYTES_PER_S */
	uint64_t max_bytes;  /* of the answer's body */
	const char *
		token; /* Authorization: Bearer …, sent nowhere else when it is redirected; NULL: none */
	const char *ca_file; /* PEM: trusted in place of the system's; NULL: the system's */
	const char *method;  /* "HEAD", "PUT"; NULL: POST with a body, GET without */
	/* What is sent; NULL: nothing. */
	const void *body;
	size_t body_len;
	const char *content_type;   /* of it; NULL: application/octet-stream */
	const char *const *headers; /* more of them, "Name: value"; the last is NULL */
	bool stays;                 /* redirects are not followed: they are answers */
	const atomic_bool *give_up; /* looked at while nothing comes, once a second; may be NULL */
	struct buf *answer;         /* the body is appended, not written to fd; NULL: it is */
	/* A header of the answer to look for, and room for what it says, cut; "" when it did not come. */
	const char *want_header;
	char *header_value;
	size_t header_size;
	uint64_t
		*retry_after_s; /* what Retry-After says, in either form; 0: nothing. May be NULL */
	/* NULL: an answer of another status than 200 is a failure, and its body is not read. Else it is the status, and the body comes. */
	long *status;
};

/* Writes the body to fd, where it is. 0, or -ENOENT: the server has no such thing (404); -ETIMEDOUT: one of the times is up;
 * -ECONNREFUSED: no connection; -EFBIG; -ELOOP: redirects without end; -EPROTO: any other answer. On failure part of a body may
 * be written. -ECANCELED: give_up. A client keeps its connection for the next request. */
int http_get(struct http_client *c, const struct http_request *r, int fd, struct err *err);

#endif
