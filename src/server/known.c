#include "server/known.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void known_stacks_done(struct known_stacks *k)
{
	free(k->id);
	*k = (struct known_stacks){ 0 };
}

void known_stacks_copy(struct known_stacks *to, const struct known_stacks *from)
{
	*to = *from;
	to->id = xreallocarray(NULL, from->n + 1, sizeof *to->id);
	if (from->n)
		memcpy(to->id, from->id, from->n * sizeof *to->id);
}

void known_use_done(struct known_use *u)
{
	known_stacks_done(&u->before);
	free(u->message.index);
	free(u->rows.id);
	*u = (struct known_use){ 0 };
}

void known_use_begin(struct known_use *u, struct store *s)
{
	if (u->before.n && !store_known_is_fresh(s, &u->before.store))
		known_stacks_done(&u->before);
	u->message.before = u->before.tables;
	u->message.id = u->before.id;
	u->message.n = u->before.n;
}

void known_use_rows(struct known_use *u)
{
	const struct otlp_known_stacks *m = &u->message;
	u->rows = u->before.store;
	u->rows.id = xreallocarray(NULL, m->samples + 1, sizeof *u->rows.id);
	u->rows.is_used = false;
	for (size_t i = 0; i < m->samples; i++) {
		bool known = m->follows && m->index[i] < m->n;
		u->rows.id[i] = known ? m->id[m->index[i]] : STORE_NO_STACK;
		u->rows.is_used |= u->rows.id[i] != STORE_NO_STACK;
	}
}

static bool is_same_store(const struct store_known_stacks *a, const struct store_known_stacks *b)
{
	return a->dict_id == b->dict_id && a->names_epoch == b->names_epoch && a->day == b->day;
}

bool known_use_result(const struct known_use *u, struct known_stacks *out)
{
	const struct otlp_known_stacks *m = &u->message;
	bool goes_on = m->follows && m->n <= m->stacks && is_same_store(&u->before.store, &u->rows);
	if (!u->rows.dict_id || !m->stacks || m->stacks > KNOWN_MAX_STACKS)
		return false;
	*out = (struct known_stacks){ .tables = m->now, .store = u->rows, .n = m->stacks };
	out->store.id = NULL;
	out->id = xreallocarray(NULL, out->n, sizeof *out->id);
	memset(out->id, 0xff, out->n * sizeof *out->id);
	if (goes_on)
		memcpy(out->id, m->id, m->n * sizeof *out->id);
	for (size_t i = 0; i < m->samples; i++)
		if (m->index[i] < out->n && u->rows.id[i] != STORE_NO_STACK)
			out->id[m->index[i]] = u->rows.id[i];
	return true;
}
