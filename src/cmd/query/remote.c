/* Builds requests from options, sends them, and prints the response or the server's error. */
#include "cmd/query/remote.h"

#include "base/err.h"
#include "base/fs.h"
#include "base/http_get.h"
#include "base/input.h"
#include "base/json/json_read.h"
#include "base/log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_ANSWER = 1 << 30, MAX_TOKEN = 4096, CONNECT_MS = 10000, STALL_S = 60, TOTAL_MS = 60000 };

/* --- requests --------------------------------------------------------------------------------- */

void question_init(struct question *q, const char *path)
{
	*q = (struct question){ 0 };
	buf_adds(&q->path, path);
}

void question_add(struct question *q, const char *name, const char *value)
{
	if (!value)
		return;
	buf_addf(&q->path, "%c%s=", q->has_params ? '&' : '?', name);
	q->has_params = true;
	for (; *value; value++) {
		if (isalnum((unsigned char)*value) || strchr("-._~", *value))
			buf_addc(&q->path, *value);
		else
			buf_addf(&q->path, "%%%02X", (unsigned char)*value);
	}
}

void question_add_u64(struct question *q, const char *name, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)value);
	question_add(q, name, text);
}

/* --- failures --------------------------------------------------------------------------------- */

/* Reads "message" and "hint" of {"error": {…}}, if present. */
static void read_error(struct json_reader *j, struct err *out)
{
	struct json_value key, text;
	struct err err = { 0 };
	if (json_enter(j, JSON_OBJECT, &err) <= 0 || json_key_next(j, &key, &err) <= 0 ||
	    !json_is(&key, "error") || json_enter(j, JSON_OBJECT, &err) <= 0)
		return;
	while (json_key_next(j, &key, &err) > 0) {
		bool is_message = json_is(&key, "message"), is_hint = json_is(&key, "hint");
		if (json_scalar(j, &text, &err) <= 0)
			return;
		if (is_message && text.token == JSON_STRING)
			err_set(out, EPROTO, "%s", text.text);
		if (is_hint && text.token == JSON_STRING)
			err_hint(out, "%s", text.text);
	}
}

static int refused(const struct remote_opts *o, long status, const struct buf *answer,
		   struct err *err)
{
	struct input *in;
	err_set(err, EPROTO, "%s: the server returned status %ld", o->server, status);
	if (input_open_memory(answer->data, answer->len, &in, NULL) == 0) {
		struct json_reader *j = json_reader_new(in);
		read_error(j, err);
		json_reader_free(j);
		input_close(in);
	}
	return status == 401 || status == 403   ? CMD_PERMISSION
	       : status == 400 || status == 404 ? CMD_USAGE
						: CMD_FAILED;
}

/* --- sending ---------------------------------------------------------------------------------- */

/* The file's first line, else CRESSET_TOKEN; "" if there is neither. */
static int read_token(const struct remote_opts *o, char token[MAX_TOKEN], struct err *err)
{
	const char *from_env = getenv("CRESSET_TOKEN");
	*token = '\0';
	if (!o->token_file) {
		snprintf(token, MAX_TOKEN, "%s", from_env ? from_env : "");
		return 0;
	}
	int rc = fs_read_line(o->token_file, token, MAX_TOKEN);
	return rc < 0 ? err_set(err, -rc, "cannot read %s: %s", o->token_file, strerror(-rc)) : 0;
}

static int fetch(const struct http_request *request, struct buf *answer, struct err *err)
{
	struct http_client *client = NULL;
	int fd = memfd_create("cresset response", MFD_CLOEXEC);
	int rc = fd < 0 ? err_set(err, errno, "no memory for a response: %s", strerror(errno))
			: http_client_new(&client, err);
	if (rc == 0)
		rc = http_get(client, request, fd, err);
	if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
		rc = err_set(err, errno, "cannot read the response: %s", strerror(errno));
	if (rc == 0)
		rc = fs_read_fd(fd, MAX_ANSWER, answer, err);
	http_client_free(client);
	if (fd >= 0)
		close(fd);
	return rc;
}

int remote_try(const struct remote_opts *o, struct question *q, struct buf *answer, struct err *err)
{
	char token[MAX_TOKEN];
	struct buf url = { 0 };
	long status = 0;
	size_t n = strlen(o->server);
	while (n && o->server[n - 1] == '/')
		n--;
	buf_add(&url, o->server, n);
	buf_addf(&url, "/%s", buf_cstr(&q->path));
	struct http_request request = {
		.url = buf_cstr(&url),
		.connect_ms = CONNECT_MS,
		.total_ms =
			o->timeout_ns ? (uint32_t)(o->timeout_ns / 1000000 + CONNECT_MS) : TOTAL_MS,
		.stall_s = STALL_S,
		.max_bytes = MAX_ANSWER,
		.ca_file = o->ca_file,
		.body = q->body,
		.body_len = q->body ? strlen(q->body) : 0,
		.status = &status,
		.want_header = "X-Cresset-Note",
		.header_value = q->note,
		.header_size = sizeof q->note,
	};
	int rc = read_token(o, token, err);
	request.token = *token ? token : NULL;
	if (rc == 0)
		rc = fetch(&request, answer, err);
	explicit_bzero(token, sizeof token);
	buf_done(&url);
	buf_done(&q->path);
	if (rc < 0)
		return rc == -ENOSYS ? CMD_UNSUPPORTED : CMD_FAILED;
	return status == 200 ? CMD_OK : refused(o, status, answer, err);
}

int remote_ask(const struct remote_opts *o, struct question *q, struct buf *answer)
{
	struct err err = { 0 };
	int status = remote_try(o, q, answer, &err);
	if (status == CMD_OK && *q->note)
		log_info("%s", q->note);
	return status == CMD_OK ? CMD_OK : cmd_fail(status, &err);
}

int remote_write(const char *path, const struct buf *answer)
{
	struct out out;
	struct err err = { 0 };
	if (out_open(&out, path, &err) < 0)
		return cmd_fail(CMD_NO_OUTPUT, &err);
	if (out_write(&out, answer->data, answer->len, &err) < 0) {
		out_abort(&out);
		return cmd_fail(CMD_NO_OUTPUT, &err);
	}
	return out_commit(&out, &err) < 0 ? cmd_fail(CMD_NO_OUTPUT, &err) : CMD_OK;
}
