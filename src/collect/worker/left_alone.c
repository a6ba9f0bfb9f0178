/* Retains until when an entry is left alone, in seconds. */
#include "collect/worker/left_alone.h"

#define SECOND_NS 1000000000ull

void left_alone_add(struct left_alone *l, uint64_t key, uint64_t now_ns, uint64_t for_ns)
{
	uint32_t until_s = (uint32_t)((now_ns + for_ns) / SECOND_NS) + 1;

	if (l->until_s.n >= LEFT_ALONE_MAX)
		map_clear(&l->until_s);
	map_put(&l->until_s, key, until_s);
	if (l->latest_s < until_s)
		l->latest_s = until_s;
}

bool left_alone_has(struct left_alone *l, uint64_t key, uint64_t now_ns, bool is_stuck)
{
	uint32_t now_s = (uint32_t)(now_ns / SECOND_NS);

	if (l->until_s.n && now_s >= l->latest_s && !is_stuck)
		map_clear(&l->until_s);
	const uint32_t *until_s = map_get(&l->until_s, key);
	if (!until_s)
		return false;
	if (now_s < *until_s || is_stuck)
		return true;
	map_del(&l->until_s, key);
	return false;
}

void left_alone_done(struct left_alone *l)
{
	map_done(&l->until_s);
	l->latest_s = 0;
}
