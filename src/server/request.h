/* server/request.h: one request and its response, from the request line to the last byte sent.
 *
 * Its memory is in its arena. A route's handler reads parameters and body, and calls one reply
 * function once. */
#ifndef CRESSET_SERVER_REQUEST_H
#define CRESSET_SERVER_REQUEST_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/vec.h"

struct err;
struct guard_limits;
struct profile;
struct request;

/* What a route takes besides the parameters in `params`. */
enum route_takes {
	TAKES_QUERY = 1,   /* q from to by, and filters */
	TAKES_FILTERS = 2, /* filters only */
	TAKES_BODY = 4,
	TAKES_NO_WORKER = 8, /* responds immediately, on the thread that parses */
	TAKES_PAGE = 16,     /* all paths of the page, with any parameters, for its own use */
	TAKES_BATCH = 32,    /* a body to add; the handler calls request_ready itself */
	TAKES_OTLP = 64,     /* errors are protobuf messages (google.rpc.Status) */
};
enum route_scope { SCOPE_NONE, SCOPE_READ, SCOPE_WRITE, SCOPE_ADMIN };

/* The parameter that holds a path's last part, "{…}", or a path of the page. */
#define ROUTE_VALUE "{}"

struct route {
	const char *method, *path;
	enum route_scope scope;
	unsigned takes;     /* of enum route_takes */
	const char *params; /* "fmt px": the parameters it has */
	void (*handle)(struct request *r);
	uint32_t max_body;
};
/* The table; its last row has no path. */
extern const struct route routes[];
/* Returns NULL if no such route exists; *allow: the methods of the path, NULL if the path does
 * not exist. */
const struct route *route_find(const char *method, const char *path, const char **allow);
/* Returns the path's part at {…}, or the path of the page; NULL if the route has none. */
const char *route_value(const struct route *route, const char *path);
/* Returns -EINVAL if the route has no such parameter. */
int route_check_param(const struct route *route, const char *name, struct err *err);

struct param {
	const char *name, *value;
};

struct body {
	struct buf data;
	struct buf packed; /* of a batch: the body as received, if it was zstd */
	uint64_t reserved_bytes, received_bytes;
	const char *encoding; /* NULL: none */
	unsigned failed;      /* the status of the refusal; further data is discarded */
};

struct reply {
	unsigned status;
	const char *type; /* Content-Type */
	struct buf body;
	int fd;                     /* in place of body; -1: none */
	struct live_client *stream; /* in place of body (server/live.h); NULL: none */
	uint64_t bytes;
	const char *policy;       /* Content-Security-Policy; NULL: the strictest */
	const char *encoding;     /* Content-Encoding; NULL: none */
	const char *cache, *etag; /* Cache-Control, NULL: no-store; ETag, NULL: none */
	bool varies;              /* by Accept-Encoding */
	const char *allow;
	const char *challenge; /* WWW-Authenticate */
	unsigned retry_after_s;
	uint64_t key_sequence; /* X-Cresset-Key; 0: none */
	const char *note;      /* X-Cresset-Note; NULL: none */
	bool closes;           /* closes the connection afterwards */
};

/* Headers that handlers read; NULL: absent. */
struct request_heads {
	const char *content_type;
	const char *agent, *sequence, *base; /* X-Cresset-… */
	const char *if_none_match;
	bool takes_gzip, takes_html;
};

enum request_state { REQUEST_NEW, REQUEST_BODY, REQUEST_WORKS, REQUEST_READY, REQUEST_SENT };

struct request {
	struct server *server;
	struct MHD_Connection *mhd;
	struct connection *from;
	struct tenant *tenant; /* the owner of the data */
	struct arena arena;
	_Atomic int state; /* enum request_state */
	const struct route *route;
	bool has_nul; /* in its path */
	struct request_heads heads;
	char token_id[16]; /* "": none */
	VEC(struct param) params;
	struct body body;
	struct reply reply;
	uint64_t start_ns;
};

/* --- reading --- */

/* Returns NULL if the parameter is absent. */
const char *request_param(const struct request *r, const char *name);
/* Whether name=1; false for 0 and if absent or empty. -EINVAL for anything else. */
int request_flag(const struct request *r, const char *name, bool *out, struct err *err);
int request_u64(const struct request *r, const char *name, uint64_t otherwise, uint64_t max,
		uint64_t *out, struct err *err);
/* The n-th value of a parameter that may be repeated; NULL: there are no more. */
const char *request_param_n(const struct request *r, const char *name, size_t n);
/* The index of the value in words; 0 if the parameter is absent. */
int request_word(const struct request *r, const char *name, const char *const *words, int *out,
		 struct err *err);

/* --- answering --- */

void reply_body(struct request *r, const char *type, struct buf *body); /* takes body over */
void reply_fd(struct request *r, const char *type, int fd);             /* takes fd over */
/* Replies {"error": {…}} with err's text. */
void reply_error(struct request *r, unsigned status, const struct err *err);
/* Replies an error, with the status that fits err's code. */
void reply_failure(struct request *r, const struct err *err);
/* Discards the response, if there is one. */
void reply_clear(struct request *r);

/* --- bodies --- */

/* More was discarded than a client that waits for a response would send. */
bool body_is_abandoned(const struct request *r);
/* Called before the body is read. Returns 0 or the status of the refusal. length UINT64_MAX:
 * unknown. */
unsigned body_begin(struct request *r, uint64_t length);
void body_add(struct request *r, const void *data, size_t len);
/* Decompresses a body that is itself a compressed file. -EFBIG, -EBUSY, -EINVAL with err set. */
int body_unpack_inside(struct request *r, struct err *err);
/* Decompresses the body against key, an earlier batch, which is compressed. Returns 0, or the
 * status with err set. */
unsigned body_unpack_against(struct request *r, const struct buf *key, struct err *err);
/* Decompresses the body, unless it was compressed against another. Returns 0, or the status with
 * err set. */
unsigned body_end(struct request *r, struct err *err);
void body_done(struct request *r);

/* Reads a body that is a profile in any known format, detected by content (body_profile.c). A
 * compressed file, such as a pprof, is decompressed and counts against the limit of bodies. limits:
 * limits of reading besides the body; NULL: what its formats allow. Returns -ENOTSUP if the
 * format is unknown; -EFBIG, -EBUSY, -EINVAL, -ECANCELED, -ETIME, -ENOMEM, or a reader's error. */
int body_read_profile(struct request *r, struct profile *p, const struct guard_limits *limits,
		      struct err *err);

#endif
