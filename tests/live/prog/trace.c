/* trace: as trace.h says, with the variable in the program itself. */
// build: -O1 -fno-omit-frame-pointer -rdynamic
#include "trace.h"

__attribute__((used, visibility("default"))) __thread struct record *volatile otel_thread_ctx_v1;

static struct record *volatile *own_slot(void)
{
	return &otel_thread_ctx_v1;
}

int main(int argc, char **argv)
{
	return run(argc, argv, own_slot);
}
