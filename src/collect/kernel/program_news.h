/* collect/kernel/program_news.h: programs that begin and that the kernel does not know
 * (bpf/program_file.h). Their news wakes the reader, which opens their files, and then tells the
 * kernel that it knows them. */
#ifndef CRESSET_COLLECT_KERNEL_PROGRAM_NEWS_H
#define CRESSET_COLLECT_KERNEL_PROGRAM_NEWS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct program_news;

/* programs, ring: maps of bpf/programs.h; the caller's. Adds itself to epoll_fd (EPOLLIN, data.u64
 * is tag). */
int program_news_open(int programs, int ring, int epoll_fd, uint64_t tag, struct program_news **out,
		      struct err *err);
/* Takes the programs that have begun so far. */
void program_news_take(struct program_news *n);
/* Call it when the files of those taken are open: no more news of them for a while. */
void program_news_learn(struct program_news *n);
/* The process's program always is news from here on. Its last exec must have been lately. */
void program_news_urgent(struct program_news *n, uint32_t pid);
/* Sets whether news wakes the reader. */
void program_news_quiet(struct program_news *n, bool quiet);
void program_news_close(struct program_news *n); /* NULL is fine */

#endif
