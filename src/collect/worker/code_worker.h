/* collect/worker/code_worker.h: the process that reads perf maps and jitdumps
 * (collect/worker/helper.h), and its messages to and from the collector (collect/walker/jit.h),
 * over base/stream.h.
 *
 *     collector → worker                                       worker → collector
 *                                                              CODE_BEGIN u32 id
 *     CODE_PROCESS  struct code_process_head, path of a dump   CODE_DONE  u32 id
 *     CODE_ASK      struct code_ask_head, struct code_ask[n]   CODE_NAMES struct code_names_head,
 *                                                              u32 numbers[n], names
 *     CODE_CLOSE    u32 id                                     CODE_DONE  u32 id
 *
 * Messages are served in order, each by two: CODE_BEGIN is sent before any file of the process is
 * touched, so that the collector knows which one a worker that does not respond waits for. A
 * CODE_NAMES has as many numbers as its CODE_ASK has addresses: the number of a name, from 1 on, or
 * 0. Names end with a NUL.
 *
 * A process may have ended before its files are opened. Then its perf map is looked for where its
 * parent has it, if it is a file of the parent's user.
 *
 * Reading is limited in bytes (symbol/code_log.h), memory and time: all files together may use
 * 1 / SHARE of a CPU on average, each process half of that. A process that has used up its time
 * gets no names until there is more. */
#ifndef CRESSET_COLLECT_WORKER_CODE_WORKER_H
#define CRESSET_COLLECT_WORKER_CODE_WORKER_H

#include "symbol/code_log.h"
#include "symbol/code_scan.h"

#include <stdint.h>

enum code_message { CODE_PROCESS = 1, CODE_ASK, CODE_CLOSE, CODE_NAMES, CODE_BEGIN, CODE_DONE };
enum {
	CODE_MAX_ASKS = 2048, /* per message */
	CODE_MAX_PATH = 4096,
	CODE_MAX_TO_WORKER = CODE_MAX_ASKS * 16 + 64 + CODE_MAX_PATH,
	CODE_MAX_TO_COLLECTOR = CODE_MAX_ASKS * (CODE_LOG_MAX_NAME * 4) + 64,
};

struct code_process_head {
	uint32_t id, pid;
	uint32_t has_dump; /* has a dump mapped; at: */
	uint32_t maj, min;
	uint32_t is_raw; /* names as in the files (identity_code) */
	uint32_t parent; /* 0: unknown */
	uint32_t reserved;
	uint64_t start, end, pgoff, ino;
	uint64_t begun_ns; /* CLOCK_MONOTONIC of its fork or exec; 0: see /proc */
};
struct code_ask_head {
	uint32_t id, n;
	uint32_t is_last; /* the process has ended: nothing more is written */
	uint32_t reserved;
	uint64_t
		exec_ns; /* CLOCK_MONOTONIC: from then on it runs another program; 0: it does not */
};
struct code_names_head {
	uint32_t id, n;
	uint32_t given_up; /* asks without an answer: their file is not of the process's program, or
			    * cannot be read, or not in time */
	uint32_t has_files; /* the program has a perf map or a jitdump by now */
	uint64_t skipped;   /* unreadable entries of its files so far */
};

/* Serves until the peer is gone. */
void code_worker_serve(int fd);

#endif
