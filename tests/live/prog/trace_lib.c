/* A library with the thread-local variable, which is found in the way that compilers take by default: general-dynamic. */
// build: -O1 -fno-omit-frame-pointer -shared -fPIC
struct record;
#ifndef VISIBLE
#define VISIBLE default
#endif
#ifndef OTHERS
#define OTHERS 7
#endif
#define TEXT_OF(word)    #word
#define VISIBILITY(word) __attribute__((visibility(TEXT_OF(word))))

VISIBILITY(VISIBLE) __thread struct record *volatile otel_thread_ctx_v1;
/* What is in front of it in its block. */
static __thread volatile long others[OTHERS];

struct record *volatile *trace_slot(void);

struct record *volatile *trace_slot(void)
{
	others[0]++;
	return &otel_thread_ctx_v1;
}
