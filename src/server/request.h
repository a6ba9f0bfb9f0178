/* server/request.h: one request and its answer, from the request line to the last byte sent.
 *
 * What belongs to it lies in its arena. A route's handler reads parameters and body, and calls one of the reply functions once. */
#ifndef CRESSET_SERVER_REQUEST_H
#define CRESSET_SERVER_REQUEST_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "server/server_state.h"
#include "server/tenant.h"

struct request;

/* Parameters of a route, beside those in `params`. */
enum route_takes {
	TAKES_QUERY = 1,   /* q from to by, and filters */
	TAKES_FILTERS = 2, /* filters alone */
	TAKES_BODY = 4,
	TAKES_NO_WORKER = 8, /* answers at once, on the thread that parses */
	TAKES_PAGE = 16,     /* all paths of the page, and whatever parameters, for its own use */
	TAKES_BATCH = 32,    /* a body that is added; the handler calls request_ready itself */
	TAKES_OTLP = 64,     /* errors are messages of protobuf (google.rpc.Status) */
};
enum route_scope { SCOPE_NONE, SCOPE_READ, SCOPE_WRITE, SCOPE_ADMIN };

/* What a path's last part, "{…}", is given as, or a path of the page: a parameter of this name. */
#define ROUTE_VALUE "{}"

struct route {
	const char *method, *path;
	enum route_scope scope;
	unsigned takes;     /* of enum route_takes */
	const char *params; /* "fmt px": that it knows */
	void (*handle)(struct request *r);
	uint32_t max_body;
};
/* The table; its last row has no path. */
extern const struct route routes[];
/* NULL: there is none; *allow: the methods that the path has, NULL: it does not exist. */
const struct route *route_find(const char *method, const char *path, const char **allow);
/* What stands in the place of the path's {…}, or the path of the page; NULL: it has none. */
const char *route_value(const struct route *route, const char *path);
/* -EINVAL: the route has no such parameter. */
int route_check_param(const struct route *route, const char *name, struct err *err);

struct param {
	const char *name, *value;
};

struct body {
	struct buf data;
	struct buf packed; /* of a batch: as it came, where that was zstd */
	uint64_t reserved_bytes, received_bytes;
	const char *encoding; /* NULL: none */
	unsigned failed;      /* the status it is refused with; what still comes is thrown away */
};

struct reply {
	unsigned status;
	const char *type; /* of the content */
	struct buf body;
	int fd;                     /* in place of body; -1: none */
	struct live_client *stream; /* likewise (server/live.h); NULL: none */
	uint64_t bytes;
	const char *policy;       /* Content-Security-Policy; NULL: the strictest */
	const char *encoding;     /* Content-Encoding; NULL: none */
	const char *cache, *etag; /* Cache-Control, NULL: no-store; ETag, NULL: none */
	bool varies;              /* with what the client takes */
	const char *allow;
	const char *challenge; /* WWW-Authenticate */
	unsigned retry_after_s;
	uint64_t key_sequence; /* X-Cresset-Key; 0: none */
	const char *note;      /* X-Cresset-Note; NULL: none */
	bool closes;           /* the connection ends with it */
};

/* Headers that handlers look at; NULL: it did not come. */
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
	struct tenant *tenant; /* whose data it is about */
	struct arena arena;
	_Atomic int state; /* enum request_state */
	const struct route *route;
	bool has_nul; /* in its address */
	struct request_heads heads;
	char token_id[16]; /* "": none */
	VEC(struct param) params;
	struct body body;
	struct reply reply;
	uint64_t start_ns;
};

/* --- reading --- */

/* NULL: it was not given. */
const char *request_param(const struct request *r, const char *name);
/* Whether name=1; 0 and nothing are false. -EINVAL for anything else. */
int request_flag(const struct request *r, const char *name, bool *out, struct err *err);
int request_u64(const struct request *r, const char *name, uint64_t otherwise, uint64_t max,
		uint64_t *out, struct err *err);
/* The n-th of those that may be given several times; NULL: there are no more. */
const char *request_param_n(const struct request *r, const char *name, size_t n);
/* The index of the value in words; 0 when it was not given. */
int request_word(const struct request *r, const char *name, const char *const *words, int *out,
		 struct err *err);

/* --- answering --- */

void reply_body(struct request *r, const char *type, struct buf *body); /* takes body over */
void reply_fd(struct request *r, const char *type, int fd);             /* takes fd over */
/* {"error": {…}} with err's words. */
void reply_error(struct request *r, unsigned status, const struct err *err);
/* The status that fits what a query ended with. */
void reply_failure(struct request *r, const struct err *err);
/* Takes the answer back, if there is one. */
void reply_clear(struct request *r);

/* --- bodies --- */

/* More of it was thrown away than anybody sends who waits for an answer. */
bool body_is_hopeless(const struct request *r);
/* Before any of it is read: 0, or the status it is refused with. length UINT64_MAX: not known. */
unsigned body_begin(struct request *r, uint64_t length);
void body_add(struct request *r, const void *data, size_t len);
/* What is packed inside of it, as files are, is unpacked. -EFBIG, -EBUSY, -EINVAL with words. */
int body_unpack_inside(struct request *r, struct err *err);
/* What it was packed against is there now. key: packed. 0, or the status with words. */
unsigned body_unpack_against(struct request *r, const struct buf *key, struct err *err);
/* Unpacks it, but for one that was packed against another. 0, or the status with words. */
unsigned body_end(struct request *r, struct err *err);
void body_done(struct request *r);

#endif
