/* cmd/query/remote.h: queries to a server (docs/api.md), in place of --data; and the data that
 * --data names. */
#ifndef CRESSET_CMD_QUERY_REMOTE_H
#define CRESSET_CMD_QUERY_REMOTE_H

#include "base/buf.h"
#include "cmd/cli/cmd.h"

struct err;

struct remote_opts {
	const char *server, *token_file, *ca_file;
	uint64_t timeout_ns; /* 0: a minute */
};

/* Rows for the option table of a command whose options struct T has a member `remote`. */
#define REMOTE_ROW(T, member) .group = "Server", .offset = offsetof(struct T, remote.member)
#define REMOTE_OPTIONS(T) \
	{ NULL,       "server", \
	  "URL",      "query this server, instead of --data", \
	  OPT_STRING, REMOTE_ROW(T, server) }, \
		{ NULL,       "token-file", \
		  "FILE",     "token file (default: $CRESSET_TOKEN)", \
		  OPT_STRING, REMOTE_ROW(T, token_file) }, \
	{ \
		NULL, "ca-file", "FILE", "trust only the CA certificates in this PEM file", \
			OPT_STRING, REMOTE_ROW(T, ca_file) \
	}

/* A request: a path and its parameters. */
struct question {
	struct buf path;
	const char *body; /* NULL: GET */
	bool has_params;
	char note[1024]; /* X-Cresset-Note of the response, truncated; "": none */
};
void question_init(struct question *q, const char *path);
/* Adds nothing if value is NULL. */
void question_add(struct question *q, const char *name, const char *value);
void question_add_u64(struct question *q, const char *name, uint64_t value);

/* Appends the response. Returns CMD_OK, or an exit status with err set; prints nothing. Frees q. */
int remote_try(const struct remote_opts *o, struct question *q, struct buf *answer,
	       struct err *err);
/* Appends the response, and prints the server's note. Returns CMD_OK, or the exit status with the
 * server's error printed. Frees q. */
int remote_ask(const struct remote_opts *o, struct question *q, struct buf *answer);
/* Writes the response to a file; "-" is standard output. Returns an exit status. */
int remote_write(const char *path, const struct buf *answer);

/* --- data.c: the argument of --data: the directory of a store, or any readable file. */

struct profile;
struct source;

/* path NULL is reported as an error. Returns CMD_OK with *source (free with source_close) and, for
 * a file, *file (free with profile_free, afterwards; else NULL); or the exit status with the error
 * printed. */
int data_open(const struct cmd_line *line, const char *path, struct profile **file,
	      struct source **source);

/* Call it after all queries: warns if files of days were left out. source may be NULL. */
void data_say_left_out(struct source *source);

#endif
