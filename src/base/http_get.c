/* Loads libcurl on first use and sets its options: schemes, redirects, time and size limits. */
#include "base/http_get.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The functions of libcurl in use. */
struct curl_functions {
	typeof(curl_global_init) *global_init;
	typeof(curl_easy_init) *init;
	typeof(curl_easy_setopt) *setopt;
	typeof(curl_easy_perform) *perform;
	typeof(curl_easy_getinfo) *getinfo;
	typeof(curl_easy_reset) *reset;
	typeof(curl_easy_cleanup) *cleanup;
	typeof(curl_easy_strerror) *strerror;
	typeof(curl_slist_append) *list_add;
	typeof(curl_slist_free_all) *list_free;
};

struct http_client {
	struct curl_functions curl;
	CURL *easy;
};

/* --- the library ------------------------------------------------------------------------------ */

static void *load_library(void)
{
	static const char *const names[] = { HTTP_LIBRARIES };
	void *library = NULL;
	for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

static bool load_functions(void *library, struct curl_functions *f)
{
	const struct {
		const char *name;
		void *to;
	} all[] = {
		{ "curl_global_init", &f->global_init }, { "curl_easy_init", &f->init },
		{ "curl_easy_setopt", &f->setopt },      { "curl_easy_perform", &f->perform },
		{ "curl_easy_getinfo", &f->getinfo },    { "curl_easy_reset", &f->reset },
		{ "curl_easy_cleanup", &f->cleanup },    { "curl_easy_strerror", &f->strerror },
		{ "curl_slist_append", &f->list_add },   { "curl_slist_free_all", &f->list_free },
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		void *function = dlsym(library, all[i].name);
		if (!function)
			return false;
		memcpy(all[i].to, &function, sizeof function);
	}
	return true;
}

/* The library stays loaded: its dependencies keep state that does not survive unloading. */
int http_client_new(struct http_client **out, struct err *err)
{
	struct http_client *c = xcalloc(1, sizeof *c);
	void *library = load_library();
	if (library && load_functions(library, &c->curl) &&
	    c->curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
		c->easy = c->curl.init();
	if (c->easy) {
		*out = c;
		return 0;
	}
	free(c);
	err_set(err, ENOSYS, "cannot fetch files: libcurl is not installed");
	err_hint(err, "install libcurl: libcurl.so.4 or libcurl-gnutls.so.4");
	return -ENOSYS;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	c->curl.cleanup(c->easy);
	free(c);
}

/* --- one request ------------------------------------------------------------------------------ */

struct transfer {
	const struct http_request *r;
	int fd, write_error;
	uint64_t body_left, headers_left;
};

/* Returning less than n makes libcurl abort. */
static size_t on_body(char *data, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	n *= size;
	if (n > t->body_left) {
		t->write_error = EFBIG;
		return 0;
	}
	t->body_left -= n;
	if (t->r->answer) {
		buf_add(t->r->answer, data, n);
		return n;
	}
	for (size_t done = 0; done < n;) {
		ssize_t some = write(t->fd, data + done, n - done);
		if (some < 0 && errno != EINTR) {
			t->write_error = errno;
			return 0;
		}
		done += some > 0 ? some : 0;
	}
	return n;
}

/* "Name:  value\r\n" */
static void keep_header(const struct http_request *r, const char *line, size_t len)
{
	size_t name = strlen(r->want_header), n = 0;
	if (len <= name || strncasecmp(line, r->want_header, name) != 0 || line[name] != ':')
		return;
	for (line += name + 1, len -= name + 1; len && (*line == ' ' || *line == '\t'); len--)
		line++;
	while (n < len && n + 1 < r->header_size && line[n] != '\r' && line[n] != '\n')
		n++;
	memcpy(r->header_value, line, n);
	r->header_value[n] = '\0';
}

static size_t on_header(char *data, size_t size, size_t n, void *ctx)
{
	struct transfer *t = ctx;
	n *= size;
	if (n > t->headers_left)
		return 0;
	t->headers_left -= n;
	if (t->r->want_header)
		keep_header(t->r, data, n);
	return n;
}

/* A result other than 0 makes libcurl abort. */
static int on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
	const struct transfer *t = ctx;
	(void)a, (void)b, (void)c, (void)d;
	return atomic_load(t->r->give_up);
}

/* libcurl sends the token only to the same host. */
static bool set_question(const struct http_client *c, const struct http_request *r,
			 struct curl_slist **headers)
{
	typeof(curl_easy_setopt) *set = c->curl.setopt;
	if (r->token) {
		set(c->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		if (set(c->easy, CURLOPT_XOAUTH2_BEARER, r->token))
			return false;
	}
	if (r->ca_file && set(c->easy, CURLOPT_CAINFO, r->ca_file))
		return false;
	if (r->method && strcmp(r->method, "HEAD") == 0)
		set(c->easy, CURLOPT_NOBODY, 1L);
	else if (r->method && set(c->easy, CURLOPT_CUSTOMREQUEST, r->method))
		return false;
	if (!r->body)
		return true;
	char type[128];
	snprintf(type, sizeof type, "Content-Type: %s",
		 r->content_type ? r->content_type : "application/octet-stream");
	/* No "Expect: 100-continue": it costs a second with servers that do not support it. */
	*headers = c->curl.list_add(c->curl.list_add(NULL, "Expect:"), type);
	for (size_t i = 0; r->headers && r->headers[i]; i++)
		*headers = c->curl.list_add(*headers, r->headers[i]);
	set(c->easy, CURLOPT_HTTPHEADER, *headers);
	set(c->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
	return set(c->easy, CURLOPT_POSTFIELDS, r->body) == CURLE_OK;
}

static bool set_options(const struct http_client *c, const struct http_request *r,
			struct transfer *t)
{
	typeof(curl_easy_setopt) *set = c->curl.setopt;
	c->curl.reset(c->easy);
	/* The first three are restrictions: if one cannot be set, no request is made. */
	if (set(c->easy, CURLOPT_PROTOCOLS_STR, "http,https") ||
	    set(c->easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https") ||
	    set(c->easy, CURLOPT_TIMEOUT_MS, (long)r->total_ms))
		return false;
	set(c->easy, CURLOPT_NOSIGNAL, 1L);
	set(c->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)r->connect_ms);
	set(c->easy, CURLOPT_LOW_SPEED_LIMIT, (long)HTTP_MIN_BYTES_PER_S);
	set(c->easy, CURLOPT_LOW_SPEED_TIME, (long)r->stall_s);
	set(c->easy, CURLOPT_FOLLOWLOCATION, r->stays ? 0L : 1L);
	set(c->easy, CURLOPT_MAXREDIRS, (long)HTTP_MAX_REDIRECTS);
	set(c->easy, CURLOPT_FAILONERROR, r->status ? 0L : 1L);
	set(c->easy, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)r->max_bytes);
	set(c->easy, CURLOPT_USERAGENT, "cresset/" CRESSET_VERSION);
	set(c->easy, CURLOPT_HEADERFUNCTION, on_header);
	set(c->easy, CURLOPT_HEADERDATA, t);
	set(c->easy, CURLOPT_WRITEFUNCTION, on_body);
	set(c->easy, CURLOPT_WRITEDATA, t);
	if (r->give_up) {
		set(c->easy, CURLOPT_NOPROGRESS, 0L);
		set(c->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
		set(c->easy, CURLOPT_XFERINFODATA, t);
		set(c->easy, CURLOPT_QUICK_EXIT, 1L); /* a name lookup may take long */
	}
	return set(c->easy, CURLOPT_URL, r->url) == CURLE_OK;
}

static int code_of(CURLcode rc, long status, const struct transfer *t)
{
	switch (rc) {
	case CURLE_OK:
		return status == 200 ? 0 : EPROTO;
	case CURLE_HTTP_RETURNED_ERROR:
		return status == 404 || status == 410 ? ENOENT : EPROTO;
	case CURLE_OPERATION_TIMEDOUT:
		return ETIMEDOUT;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_COULDNT_CONNECT:
		return ECONNREFUSED;
	case CURLE_ABORTED_BY_CALLBACK:
		return ECANCELED;
	case CURLE_TOO_MANY_REDIRECTS:
		return ELOOP;
	case CURLE_FILESIZE_EXCEEDED:
		return EFBIG;
	case CURLE_WRITE_ERROR:
		return t->write_error ? t->write_error : EPROTO;
	default:
		return EPROTO;
	}
}

static const char *words_of(const struct http_client *c, CURLcode rc, int code,
			    const struct transfer *t)
{
	if (t->write_error && code != EFBIG)
		return strerror(t->write_error);
	if (code == EFBIG)
		return "the response is too large";
	if (rc == CURLE_WRITE_ERROR)
		return "the response headers are too large";
	return c->curl.strerror(rc);
}

int http_get(struct http_client *c, const struct http_request *r, int fd, struct err *err)
{
	struct transfer t = {
		.r = r,
		.fd = fd,
		.body_left = r->max_bytes,
		.headers_left = HTTP_MAX_HEADER_BYTES,
	};
	long status = 0;
	curl_off_t retry_after_s = 0;
	struct curl_slist *headers = NULL;
	if (r->want_header)
		*r->header_value = '\0';
	if (!set_options(c, r, &t) || !set_question(c, r, &headers)) {
		c->curl.list_free(headers);
		return err_set(err, EPROTO, "%s: no address that can be fetched", r->url);
	}
	CURLcode rc = c->curl.perform(c->easy);
	c->curl.list_free(headers);
	c->curl.getinfo(c->easy, CURLINFO_RESPONSE_CODE, &status);
	c->curl.getinfo(c->easy, CURLINFO_RETRY_AFTER, &retry_after_s);
	if (r->status)
		*r->status = status;
	if (r->retry_after_s)
		*r->retry_after_s = retry_after_s > 0 ? (uint64_t)retry_after_s : 0;
	int code = r->status && rc == CURLE_OK ? 0 : code_of(rc, status, &t);
	if (code == 0)
		return 0;
	if (rc == CURLE_OK || rc == CURLE_HTTP_RETURNED_ERROR)
		err_set(err, code, "%s: the server returned status %ld", r->url, status);
	else
		err_set(err, code, "%s: %s", r->url, words_of(c, rc, code, &t));
	return -code;
}
