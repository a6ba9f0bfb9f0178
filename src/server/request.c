/* Parameters, headers and sending of the response. */
#include "server/request.h"

#include "base/err.h"
#include "base/escape.h"
#include "base/json/json.h"
#include "base/parse.h"
#include "base/pb.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- reading ---------------------------------------------------------------------------------- */

const char *request_param(const struct request *r, const char *name)
{
	for (size_t i = 0; i < r->params.n; i++)
		if (strcmp(r->params.v[i].name, name) == 0)
			return r->params.v[i].value;
	return NULL;
}

int request_flag(const struct request *r, const char *name, bool *out, struct err *err)
{
	const char *value = request_param(r, name);
	if (value && strcmp(value, "1") != 0 && strcmp(value, "0") != 0 && *value)
		return err_set(err, EINVAL, "parameter %s: '%s' is neither 0 nor 1", name, value);
	*out = value && *value == '1';
	return 0;
}

int request_u64(const struct request *r, const char *name, uint64_t otherwise, uint64_t max,
		uint64_t *out, struct err *err)
{
	const char *value = request_param(r, name);
	uint64_t n = otherwise;
	if (value && (parse_u64(value, &n) < 0 || n > max))
		return err_set(err, EINVAL, "parameter %s: '%s' is not a number up to %llu", name,
			       value, (unsigned long long)max);
	*out = n;
	return 0;
}

int request_word(const struct request *r, const char *name, const char *const *words, int *out,
		 struct err *err)
{
	const char *value = request_param(r, name);
	struct buf list = { 0 };
	int i = 0;
	while (value && words[i] && strcmp(words[i], value) != 0)
		i++;
	if (words[i]) {
		*out = i;
		return 0;
	}
	for (i = 0; words[i]; i++)
		buf_addf(&list, "%s%s", i ? ", " : "", words[i]);
	err_set(err, EINVAL, "parameter %s: unknown value '%s'", name, value);
	err_hint(err, "it is one of: %s", buf_cstr(&list));
	buf_done(&list);
	return -EINVAL;
}

const char *request_param_n(const struct request *r, const char *name, size_t n)
{
	for (size_t i = 0; i < r->params.n; i++)
		if (strcmp(r->params.v[i].name, name) == 0 && n-- == 0)
			return r->params.v[i].value;
	return NULL;
}

/* --- answering -------------------------------------------------------------------------------- */

void reply_clear(struct request *r)
{
	buf_done(&r->reply.body);
	if (r->reply.fd >= 0)
		close(r->reply.fd);
	r->reply = (struct reply){ .fd = -1 };
}

void reply_body(struct request *r, const char *type, struct buf *body)
{
	reply_clear(r);
	r->reply.status = 200;
	r->reply.type = type;
	r->reply.body = *body;
	r->reply.bytes = body->len;
	*body = (struct buf){ 0 };
}

void reply_fd(struct request *r, const char *type, int fd)
{
	struct stat st;
	struct err err = { 0 };
	if (fstat(fd, &st) < 0) {
		err_set(&err, errno, "cannot inspect the response: %s", strerror(errno));
		close(fd);
		reply_error(r, 500, &err);
		return;
	}
	reply_clear(r);
	r->reply.status = 200;
	r->reply.type = type;
	r->reply.fd = fd;
	r->reply.bytes = st.st_size;
}

static const char *status_code(unsigned status)
{
	switch (status) {
	case 400:
		return "bad_request";
	case 401:
		return "unauthorized";
	case 403:
		return "forbidden";
	case 404:
		return "not_found";
	case 405:
		return "method_not_allowed";
	case 409:
		return "conflict";
	case 412:
		return "precondition_failed";
	case 413:
		return "too_large";
	case 415:
		return "unsupported_encoding";
	case 417:
		return "expectation_failed";
	case 421:
		return "misdirected_request";
	case 422:
		return "expired";
	case 429:
		return "too_many_requests";
	case 503:
		return "unavailable";
	}
	return "internal";
}

/* https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto */
static unsigned grpc_code(unsigned status)
{
	enum { INVALID_ARGUMENT = 3, PERMISSION_DENIED = 7, RESOURCE_EXHAUSTED = 8 };
	enum { FAILED_PRECONDITION = 9, INTERNAL = 13, UNAVAILABLE = 14, UNAUTHENTICATED = 16 };
	switch (status) {
	case 401:
		return UNAUTHENTICATED;
	case 403:
		return PERMISSION_DENIED;
	case 409:
	case 412:
		return FAILED_PRECONDITION;
	case 413:
	case 429:
		return RESOURCE_EXHAUSTED;
	case 503:
		return UNAVAILABLE;
	}
	return status < 500 ? INVALID_ARGUMENT : INTERNAL;
}

/* google.rpc.Status, the format of errors in OTLP over HTTP. */
static void error_message(unsigned status, const struct err *err, struct buf *b)
{
	enum { STATUS_CODE = 1, STATUS_MESSAGE = 2 };
	pb_put_u64(b, STATUS_CODE, grpc_code(status));
	pb_put_bytes(b, STATUS_MESSAGE, err->text, strlen(err->text));
}

static void error_json(unsigned status, const struct err *err, struct buf *b)
{
	struct json j = json_to(b);
	json_obj(&j);
	json_key(&j, "error");
	json_obj(&j);
	json_key_str(&j, "code", status_code(status));
	json_key_str(&j, "message", err->text);
	json_key_text(&j, "hint", err->hint);
	json_end(&j);
	json_end(&j);
	buf_addc(b, '\n');
}

/* Shown by a browser in place of the page. */
static void error_html(unsigned status, const struct err *err, struct buf *b)
{
	buf_addf(b,
		 "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\">"
		 "<title>%u: cresset</title>\n<h1>",
		 status);
	esc_xml(b, err->text, strlen(err->text), sizeof err->text);
	buf_adds(b, "</h1>\n<pre>");
	esc_xml(b, err->hint, strlen(err->hint), sizeof err->hint);
	buf_adds(b, "</pre>\n</html>\n");
}

void reply_error(struct request *r, unsigned status, const struct err *err)
{
	static const struct {
		const char *type;
		void (*write)(unsigned status, const struct err *err, struct buf *b);
	} forms[] = {
		{ "application/json", error_json },
		{ "application/x-protobuf", error_message },
		{ "text/html; charset=utf-8", error_html },
	};
	bool is_page = r->route && r->route->takes & TAKES_PAGE && r->heads.takes_html;
	bool is_otlp = r->route && r->route->takes & TAKES_OTLP;
	int form = is_otlp ? 1 : is_page ? 2 : 0;
	struct buf b = { 0 };
	forms[form].write(status, err, &b);
	reply_body(r, forms[form].type, &b);
	r->reply.status = status;
	if (status == 429 || status == 503)
		r->reply.retry_after_s = 1;
}

void reply_failure(struct request *r, const struct err *err)
{
	switch (err->code) {
	case EINVAL:
		reply_error(r, 400, err);
		break;
	case ENOENT:
		reply_error(r, 404, err);
		break;
	case E2BIG:
	case ENOMEM:
	case EFBIG:
		reply_error(r, 413, err);
		break;
	case ETIME:
		reply_error(r, 413, err);
		r->reply.retry_after_s = 10; /* other queries may have used the time */
		break;
	case ECANCELED:
	case EBUSY:
		reply_error(r, 503, err);
		break;
	default:
		reply_error(r, 500, err);
	}
}
