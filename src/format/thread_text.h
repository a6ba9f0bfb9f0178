/* format/thread_text.h: accounts of threads in words, UTF-8, for text files. Names from elsewhere are escaped. */
#ifndef CRESSET_FORMAT_THREAD_TEXT_H
#define CRESSET_FORMAT_THREAD_TEXT_H

#include "base/buf.h"
#include "format/thread_account.h"

/* What a thread is called here and in names of files: "main", its name, or "thread". */
const char *thread_role(const struct profile *p, const struct thread_account *t);

/* One thread, appended to b. */
void thread_text(struct profile *p, const struct thread_accounts *a, const struct thread_account *t,
		 struct buf *b);

/* Every process with a table of its threads, then each thread; of those that are not shown (by index in a->all; NULL: all are) only how many
 * there are and their sums. */
void thread_text_summary(struct profile *p, const struct thread_accounts *a, const bool *shown,
			 struct buf *b);

#endif
