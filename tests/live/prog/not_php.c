// build: -O1 -g -rdynamic
// Looks like PHP to the walker, and is none: not_php KIND. It burns in what looks like the loop, until it is ended; its frames lie.
//     circle      each frame leads to the next one, the last to the first
//     long        a hundred thousand frames
//     nowhere     the first frame cannot be read
//     functions   … its function cannot
//     empty       a circle of frames without a function
//     types       … has an unknown type
//     texts       … has names of 2^60 bytes
//     lines       … has instructions and lines from anywhere
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// As PHP 8.2 has them: Zend/zend_globals.h, zend_compile.h.
enum { CURRENT = 488, LAST = 80, OPCODES = 88, FILE_NAME = 152, LINES = 160 };
struct frame {
	uint64_t op, call, result, func, this, info, prev;
};
struct string {
	uint64_t count, hash, len;
	char bytes[40];
};

__attribute__((visibility("default"))) char executor_globals[1800];
const char version[] __attribute__((used)) = "X-Powered-By: PHP/8.2.1";
volatile uint64_t sink;

__attribute__((visibility("default"), noinline)) int zend_vm_kind(void)
{
	return 4;
}

__attribute__((visibility("default"), noinline)) void execute_ex(void)
{
	for (;;)
		sink = sink * 31 + 7;
}

static void put(void *at, uint32_t offset, const void *value, size_t size)
{
	memcpy((char *)at + offset, value, size);
}

int main(int argc, char **argv)
{
	enum { MANY = 100000, NEXT = 3 };
	static struct string name = { 1, 0, 4, "lies" }, file = { 1, 0, 10, "/srv/x.php" };
	static char func[256] = { 2 }, op[64];
	const char *kind = argc > 1 ? argv[1] : "";
	uint64_t n = strcmp(kind, "long") ? NEXT : MANY, line = 5ull << 32 | 3, at;
	struct frame *frames = calloc(n, sizeof *frames);
	const void *texts[] = { &name, &file };

	if (!frames)
		return 1;
	put(func, 8, &texts[0], 8);
	put(func, FILE_NAME, &texts[1], 8);
	put(func, LINES, &line, 8);
	for (uint64_t i = 0; i < n; i++)
		frames[i] = (struct frame){ .op = (uintptr_t)op,
					    .func = (uintptr_t)func,
					    .prev = i + 1 < n ? (uintptr_t)&frames[i + 1] : 0 };
	for (uint64_t i = 0; strcmp(kind, "empty") == 0 && i < n; i++)
		frames[i].func = 0;
	if (strcmp(kind, "circle") == 0 || strcmp(kind, "empty") == 0)
		frames[n - 1].prev = (uintptr_t)&frames[0];
	if (strcmp(kind, "functions") == 0)
		frames[0].func = 0xffffffff81000000ull;
	if (strcmp(kind, "types") == 0)
		func[0] = 77;
	if (strcmp(kind, "texts") == 0)
		name.len = file.len = 1ull << 60;
	if (strcmp(kind, "lines") == 0) {
		at = UINT64_MAX - 8;
		put(func, OPCODES, &at, 8);
		put(func, LAST, &(uint32_t){ UINT32_MAX }, 4);
		put(func, LINES, &at, 8);
		frames[0].op = 3;
	}
	at = strcmp(kind, "nowhere") == 0 ? 0x10 : (uintptr_t)&frames[0];
	put(executor_globals, CURRENT, &at, 8);
	puts("ready");
	fflush(stdout);
	execute_ex();
	return 0;
}
