#include "server/answer.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

const char *const table_words[] = { "json", "csv", "text", NULL };
const char *const table_types[] = { "application/json", "text/csv; charset=utf-8",
				    "text/plain; charset=utf-8" };

int answer_open(struct out *out, struct err *err)
{
	*out = (struct out){ .fd = memfd_create("cresset answer", MFD_CLOEXEC) };
	return out->fd < 0 ? err_set(err, errno, "no memory for an answer: %s", strerror(errno))
			   : 0;
}

void answer_close(struct request *r, const char *type, struct out *out, int rc, struct err *err)
{
	int fd = out->fd;
	if (rc == 0)
		rc = out_flush(out, err);
	out_abort(out); /* closes nothing: it has no path */
	if (rc == 0) {
		reply_fd(r, type, fd);
		return;
	}
	close(fd);
	reply_failure(r, err);
}
