#include "store/stack_sums.h"

#include "base/mem.h"
#include "profile/sum.h"

#include <stdlib.h>
#include <string.h>

void stack_list_sums_done(struct stack_list_sums *l)
{
	free(l->stack);
	free(l->value);
	free(l->count);
	free(l->squares);
	*l = (struct stack_list_sums){ 0 };
}

void stack_sums_init(struct stack_sums *s, uint32_t stacks)
{
	*s = (struct stack_sums){ .stacks = stacks };
}

void stack_sums_done(struct stack_sums *s)
{
	stack_list_sums_done(&s->list);
	free(s->value);
	free(s->weighed);
}

static struct stack_list_sums new_list(size_t room, bool weighted)
{
	struct stack_list_sums l = { 0 };

	room = room ? room : 1;
	l.stack = xreallocarray(NULL, room, sizeof *l.stack);
	l.value = xreallocarray(NULL, room, sizeof *l.value);
	if (weighted) {
		l.count = xreallocarray(NULL, room, sizeof *l.count);
		l.squares = xreallocarray(NULL, room, sizeof *l.squares);
	}
	return l;
}

/* --- one ascending list ----------------------------------------------------------------------- */

static void put(struct stack_list_sums *to, const struct stack_list_sums *from, size_t i)
{
	to->stack[to->n] = from->stack[i];
	to->value[to->n] = from->value[i];
	if (to->count) {
		to->count[to->n] = from->count ? from->count[i] : (double)from->value[i];
		to->squares[to->n] = from->count ? from->squares[i] : (double)from->value[i];
	}
	to->n++;
}

static void put_both(struct stack_list_sums *to, const struct stack_list_sums *a, size_t i,
		     const struct stack_list_sums *b, size_t k)
{
	int64_t value = sum_add(a->value[i], b->value[k]);

	to->stack[to->n] = a->stack[i];
	to->value[to->n] = value;
	if (to->count) {
		to->count[to->n] = (a->count ? a->count[i] : (double)a->value[i]) +
				   (b->count ? b->count[k] : (double)b->value[k]);
		to->squares[to->n] = (a->count ? a->squares[i] : (double)a->value[i]) +
				     (b->count ? b->squares[k] : (double)b->value[k]);
	}
	to->n++;
}

static void merge_lists(struct stack_sums *s, const struct stack_list_sums *b)
{
	struct stack_list_sums *a = &s->list;
	struct stack_list_sums to = new_list(a->n + b->n, a->count || b->count);
	size_t i = 0, k = 0;

	while (i < a->n && k < b->n)
		if (a->stack[i] < b->stack[k])
			put(&to, a, i++);
		else if (a->stack[i] > b->stack[k])
			put(&to, b, k++);
		else
			put_both(&to, a, i++, b, k++);
	while (i < a->n)
		put(&to, a, i++);
	while (k < b->n)
		put(&to, b, k++);
	stack_list_sums_done(a);
	*a = to;
}

/* --- an entry for each stack ------------------------------------------------------------------- */

/* Entries are anywhere in memory: they are asked for this many ahead. */
enum { ADD_AHEAD = 12 };

static void add_values(int64_t *to, const struct stack_list_sums *from)
{
	for (size_t i = 0; i < from->n; i++) {
		if (i + ADD_AHEAD < from->n)
			__builtin_prefetch(&to[from->stack[i + ADD_AHEAD]], 1);
		int64_t *value = &to[from->stack[i]];
		*value = sum_add(*value, from->value[i]);
	}
}

static void add_weighed(struct stack_weighed *to, const struct stack_list_sums *from)
{
	for (size_t i = 0; i < from->n; i++) {
		if (i + ADD_AHEAD < from->n)
			__builtin_prefetch(&to[from->stack[i + ADD_AHEAD]], 1);
		struct stack_weighed *at = &to[from->stack[i]];
		at->value = sum_add(at->value, from->value[i]);
		at->count += from->count ? from->count[i] : (double)from->value[i];
		at->squares += from->count ? from->squares[i] : (double)from->value[i];
	}
}

/* So far every sample weighed 1. */
static void make_weighed(struct stack_sums *s)
{
	s->weighed = xcalloc(s->stacks, sizeof *s->weighed);
	for (uint32_t i = 0; s->value && i < s->stacks; i++) {
		double value = (double)s->value[i];
		s->weighed[i] = (struct stack_weighed){ s->value[i], value, value };
	}
	free(s->value);
	s->value = NULL;
}

static void add_entries(struct stack_sums *s, const struct stack_list_sums *list)
{
	if (!s->weighed && list->count)
		make_weighed(s);
	else if (!s->weighed && !s->value)
		s->value = xcalloc(s->stacks, sizeof *s->value);
	if (s->weighed)
		add_weighed(s->weighed, list);
	else
		add_values(s->value, list);
}

static bool is_dense(const struct stack_sums *s)
{
	return s->value || s->weighed;
}

void stack_sums_add(struct stack_sums *s, const struct stack_list_sums *list)
{
	if (list->n == 0)
		return;
	s->steps += s->list.n + list->n;
	if (!is_dense(s) && s->steps <= s->stacks / 2) {
		merge_lists(s, list);
		return;
	}
	if (!is_dense(s) && s->list.n) {
		add_entries(s, &s->list);
		stack_list_sums_done(&s->list);
	}
	add_entries(s, list);
}

/* --- the end ---------------------------------------------------------------------------------- */

static struct stack_list_sums pick_values(const struct stack_sums *s)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->stacks; i++)
		n += s->value[i] != 0;
	struct stack_list_sums to = new_list(n + 1, false);
	for (uint32_t i = 0; i < s->stacks; i++) {
		to.stack[to.n] = i;
		to.value[to.n] = s->value[i];
		to.n += s->value[i] != 0;
	}
	return to;
}

static struct stack_list_sums pick_weighed(const struct stack_sums *s)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->stacks; i++)
		n += s->weighed[i].value != 0;
	struct stack_list_sums to = new_list(n + 1, true);
	for (uint32_t i = 0; i < s->stacks; i++) {
		to.stack[to.n] = i;
		to.value[to.n] = s->weighed[i].value;
		to.count[to.n] = s->weighed[i].count;
		to.squares[to.n] = s->weighed[i].squares;
		to.n += s->weighed[i].value != 0;
	}
	return to;
}

/* What has come to nothing is left out only now: more could have come. */
static struct stack_list_sums drop_zeros(struct stack_list_sums l)
{
	size_t n = 0;

	for (size_t i = 0; i < l.n; i++) {
		l.stack[n] = l.stack[i];
		l.value[n] = l.value[i];
		if (l.count) {
			l.count[n] = l.count[i];
			l.squares[n] = l.squares[i];
		}
		n += l.value[i] != 0;
	}
	l.n = n;
	return l;
}

void stack_sums_take(struct stack_sums *s, struct stack_list_sums *out)
{
	if (is_dense(s)) {
		*out = s->weighed ? pick_weighed(s) : pick_values(s);
	} else {
		*out = drop_zeros(s->list);
		s->list = (struct stack_list_sums){ 0 };
	}
	stack_sums_done(s);
	stack_sums_init(s, s->stacks);
}
