/* publish NAME CPU_SECONDS: calls itself NAME and uses so much CPU time; after 0.2 s of it, it publishes which service it is, as
 * OpenTelemetry's process context (OTEP 4719), and says so. */
#include "process_context.h"

#include <time.h>

/* ProcessContext{1: Resource{1: {1: "service.name", 2: {1: "front"}}, 1: {1: "service.version", 2: {1: "1.2"}}}} */
static const char message[] = "\x0a\x35"
			      "\x0a\x17\x0a\x0cservice.name\x12\x07\x0a\x05"
			      "front"
			      "\x0a\x1a\x0a\x0fservice.version\x12\x07\x0a\x05"
			      "1.2.0";

static void burn_until(double s)
{
	while (clock() / (double)CLOCKS_PER_SEC < s)
		for (volatile int i = 0; i < 1000000; i++)
			;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	prctl(PR_SET_NAME, argv[1]);
	burn_until(0.2);
	publish(message, sizeof message - 1, false);
	if (write(STDOUT_FILENO, "published\n", 10) != 10)
		return 1;
	burn_until(strtod(argv[2], NULL));
	return 0;
}
