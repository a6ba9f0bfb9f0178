/* collect/kernel/program_news.h: events of execs of programs that the kernel does not know yet
 * (bpf/program_file.h). An event wakes the reader, which opens the program's files, and then marks
 * the program as known in the kernel's map. */
#ifndef CRESSET_COLLECT_KERNEL_PROGRAM_NEWS_H
#define CRESSET_COLLECT_KERNEL_PROGRAM_NEWS_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct program_news;

/* programs, ring: maps of bpf/sample.bpf.c; the caller's. Adds itself to epoll_fd (EPOLLIN,
 * data.u64 is tag). */
int program_news_open(int programs, int ring, int epoll_fd, uint64_t tag, struct program_news **out,
		      struct err *err);
/* Takes the programs that have started so far. */
void program_news_take(struct program_news *n);
/* Passes the processes of the programs taken, until they are known. */
void program_news_each(const struct program_news *n, void (*fn)(void *ctx, uint32_t pid),
		       void *ctx);
/* Marks the programs taken as known: call it when their files are open. Their execs send no event
 * for PROGRAM_KNOWN_NS. */
void program_news_learn(struct program_news *n);
/* From here on every exec of the process's program sends an event. Does nothing if 256 other
 * programs have started since the process's last exec. */
void program_news_urgent(struct program_news *n, uint32_t pid);
/* Sets whether events wake the reader. */
void program_news_quiet(struct program_news *n, bool quiet);
void program_news_close(struct program_news *n); /* NULL is fine */

#endif
