/* cmd/remote.h: questions to a server (docs/api.md), in place of --data. */
#ifndef CRESSET_CMD_REMOTE_H
#define CRESSET_CMD_REMOTE_H

#include "cmd/cmd.h"

struct remote_opts {
	const char *server, *token_file, *ca_file;
	uint64_t timeout_ns; /* 0: a minute */
};

/* Rows for the option table of a command whose options struct T has a member `remote`. */
#define REMOTE_ROW(T, member) .group = "Of a server", .offset = offsetof(struct T, remote.member)
#define REMOTE_OPTIONS(T) \
	{ NULL,       "server", \
	  "URL",      "ask this server, in place of --data", \
	  OPT_STRING, REMOTE_ROW(T, server) }, \
		{ NULL,       "token-file", \
		  "FILE",     "its token; else CRESSET_TOKEN has it", \
		  OPT_STRING, REMOTE_ROW(T, token_file) }, \
	{ \
		NULL, "ca-file", "FILE", "trust these certificates, PEM, and no others", \
			OPT_STRING, REMOTE_ROW(T, ca_file) \
	}

/* The question: a path, and its parameters behind. */
struct question {
	struct buf path;
	const char *body; /* NULL: GET */
	bool has_params;
	char note[1024]; /* X-Cresset-Note of the answer, cut; "": none */
};
void question_init(struct question *q, const char *path);
/* value NULL: nothing is added. */
void question_add(struct question *q, const char *name, const char *value);
void question_add_u64(struct question *q, const char *name, uint64_t value);

/* Appends the answer. CMD_OK, or an exit status with the words in err; nothing is printed. q is done with. */
int remote_try(const struct remote_opts *o, struct question *q, struct buf *answer,
	       struct err *err);
/* Appends the answer. CMD_OK, or the exit status with the server's words printed; what it says beside an answer is, too. q is done with. */
int remote_ask(const struct remote_opts *o, struct question *q, struct buf *answer);
/* Into a file; "-" is standard output. Returns an exit status. */
int remote_write(const char *path, const struct buf *answer);

#endif
