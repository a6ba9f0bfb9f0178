/* Names, lines and inlined calls for many addresses of one object, cold, beside llvm-symbolizer: each in a process of its own, by
 * turns. bench/symbolize.sh runs it.
 *
 *     symbolize OBJECT DEBUG-FILE ADDRESSES PEER     DEBUG-FILE "" when OBJECT has all itself; ADDRESSES: a file of 0x… lines
 *
 * The peer gets its addresses by a response file: from standard input it would flush its output after each, 100 000 system calls.
 * Prints: our CPU seconds, the peer's, our peak memory in KiB, the peer's (the best of ROUNDS). */
#include "base/buf.h"
#include "symbol/elf/elf_file.h"
#include "symbol/elf/elf_layout.h"
#include "symbol/symbol.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 5, MAX_CHAIN = 256, PRINT_BYTES = 64 << 10 };

struct cost {
	double cpu_s;
	long peak_kib;
};

static int offer(void *ctx, const struct debug_request *req, unsigned attempt)
{
	const char *path = ctx;
	return req->kind == DEBUG_SEPARATE && *path && attempt == 0 ? open(path, O_RDONLY) : -1;
}

/* The next 0x… line. */
static bool next_address(FILE *f, uint64_t *address)
{
	int c = getc_unlocked(f);
	for (*address = 0; c != EOF && c != '\n'; c = getc_unlocked(f))
		*address = c == 'x' ? 0 : *address * 16 + (c & 0xf) + (c > '9' ? 9 : 0);
	return c != EOF;
}

/* What the peer prints, too: one line for each function and its place. */
static void print_lines(struct buf *out, const struct symbol_line *lines, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		buf_adds(out, lines[i].name);
		buf_addc(out, '\n');
		buf_adds(out, lines[i].file ? lines[i].file : "??");
		buf_addc(out, ':');
		buf_addu(out, lines[i].line);
		buf_addc(out, '\n');
	}
	buf_addc(out, '\n');
}

static int symbolize(const char *object, char *debug, FILE *addresses)
{
	struct buf out = { 0 };
	struct elf_file f = { 0 };
	struct elf_layout layout = { 0 };
	struct symbol_source *s;
	struct symbol_line lines[MAX_CHAIN];
	uint64_t vaddr, offset;
	int fd = open(object, O_RDONLY);
	if (elf_file_open(&f, fd, NULL) || elf_layout_read(&layout, &f, NULL) ||
	    symbol_open_elf(fd, offer, debug, &s, NULL))
		return 1;
	while (next_address(addresses, &vaddr)) {
		uint32_t n = elf_layout_offset(&layout, vaddr, &offset)
				     ? symbol_lines(s, offset, lines, MAX_CHAIN)
				     : 0;
		print_lines(&out, lines, n);
		if (out.len >= PRINT_BYTES) {
			fwrite(out.data, 1, out.len, stdout);
			buf_clear(&out);
		}
	}
	fwrite(out.data, 1, out.len, stdout);
	buf_done(&out);
	symbol_close(s);
	elf_layout_done(&layout);
	elf_file_close(&f);
	return 0;
}

static void run(char **argv, bool peer, struct cost *best)
{
	struct rusage used;
	int status;
	char file[PATH_MAX];
	snprintf(file, sizeof file, "@%s", argv[3]);
	pid_t pid = fork();
	if (pid == 0) {
		const char *object = *argv[2] ? argv[2] : argv[1];
		if (!freopen(argv[3], "r", stdin) || !freopen("/dev/null", "w", stdout))
			_exit(1);
		if (!peer)
			exit(symbolize(argv[1], argv[2], stdin));
		execlp(argv[4], argv[4], "--obj", object, file, NULL);
		_exit(1);
	}
	if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status != 0)
		exit(1);
	double cpu_s = used.ru_utime.tv_sec + used.ru_stime.tv_sec +
		       (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
	if (!best->cpu_s || cpu_s < best->cpu_s)
		best->cpu_s = cpu_s;
	if (!best->peak_kib || used.ru_maxrss < best->peak_kib)
		best->peak_kib = used.ru_maxrss;
}

int main(int argc, char **argv)
{
	struct cost ours = { 0 }, theirs = { 0 };
	if (argc != 5)
		return 2;
	for (int i = 0; i < ROUNDS; i++) {
		run(argv, false, &ours);
		run(argv, true, &theirs);
	}
	printf("%.3f %.3f %ld %ld\n", ours.cpu_s, theirs.cpu_s, ours.peak_kib, theirs.peak_kib);
	return 0;
}
