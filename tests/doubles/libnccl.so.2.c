/* tests/doubles/libnccl.so.2.c: collectives that do nothing but say that they were called right. ncclBcast calls ncclBroadcast, as the real one does. */
// build: -shared -fPIC -O2 -fno-omit-frame-pointer -fno-shrink-wrap -fno-optimize-sibling-calls -fcf-protection=none -Wl,-soname,libnccl.so.2
#include <stddef.h>

#pragma GCC visibility push(default)

enum { OK = 0, INVALID_ARGUMENT = 4, TYPES = 12 };

static int check(int type)
{
	return type >= 0 && type < TYPES ? OK : INVALID_ARGUMENT;
}

#define COLLECTIVE(name, ...) \
	int name(const void *send, void *receive, size_t count, int type, __VA_ARGS__); \
	int name(const void *send, void *receive, size_t count, int type, __VA_ARGS__)

COLLECTIVE(ncclAllReduce, int op, void *comm, void *stream)
{
	(void)send, (void)receive, (void)count, (void)op, (void)comm, (void)stream;
	return check(type);
}

COLLECTIVE(ncclReduceScatter, int op, void *comm, void *stream)
{
	(void)send, (void)receive, (void)count, (void)op, (void)comm, (void)stream;
	return check(type);
}

COLLECTIVE(ncclAllGather, void *comm, void *stream)
{
	(void)send, (void)receive, (void)count, (void)comm, (void)stream;
	return check(type);
}

COLLECTIVE(ncclBroadcast, int root, void *comm, void *stream)
{
	(void)send, (void)receive, (void)count, (void)root, (void)comm, (void)stream;
	return check(type);
}

int ncclBcast(void *buffer, size_t count, int type, int root, void *comm, void *stream);
int ncclBcast(void *buffer, size_t count, int type, int root, void *comm, void *stream)
{
	return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

int ncclSend(const void *buffer, size_t count, int type, int peer, void *comm, void *stream);
int ncclSend(const void *buffer, size_t count, int type, int peer, void *comm, void *stream)
{
	(void)buffer, (void)count, (void)peer, (void)comm, (void)stream;
	return check(type);
}
