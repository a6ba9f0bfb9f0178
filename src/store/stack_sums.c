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

/* --- a number for each stack ------------------------------------------------------------------- */

static void add_dense(struct stack_list_sums *to, const struct stack_list_sums *from)
{
	for (size_t i = 0; i < from->n; i++) {
		int64_t *value = &to->value[from->stack[i]];
		*value = sum_add(*value, from->value[i]);
	}
	for (size_t i = 0; to->count && i < from->n; i++) {
		uint32_t stack = from->stack[i];
		to->count[stack] += from->count ? from->count[i] : (double)from->value[i];
		to->squares[stack] += from->count ? from->squares[i] : (double)from->value[i];
	}
}

static void make_dense(struct stack_sums *s, bool weighted)
{
	struct stack_list_sums list = s->list;

	s->list = (struct stack_list_sums){ .value = xcalloc(s->stacks, sizeof(int64_t)) };
	if (weighted || list.count) {
		s->list.count = xcalloc(s->stacks, sizeof(double));
		s->list.squares = xcalloc(s->stacks, sizeof(double));
	}
	s->dense = true;
	add_dense(&s->list, &list);
	stack_list_sums_done(&list);
}

/* So far every sample weighed 1. */
static void make_weighted(struct stack_sums *s)
{
	s->list.count = xreallocarray(NULL, s->stacks, sizeof(double));
	s->list.squares = xreallocarray(NULL, s->stacks, sizeof(double));
	for (uint32_t i = 0; i < s->stacks; i++)
		s->list.count[i] = s->list.squares[i] = (double)s->list.value[i];
}

void stack_sums_add(struct stack_sums *s, const struct stack_list_sums *list)
{
	if (list->n == 0)
		return;
	s->steps += s->list.n + list->n;
	if (!s->dense && s->steps <= s->stacks / 2) {
		merge_lists(s, list);
		return;
	}
	if (!s->dense)
		make_dense(s, list->count != NULL);
	else if (list->count && !s->list.count)
		make_weighted(s);
	add_dense(&s->list, list);
}

/* --- the end ---------------------------------------------------------------------------------- */

static size_t count_used(const struct stack_sums *s)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->stacks; i++)
		n += s->list.value[i] != 0;
	return n;
}

static struct stack_list_sums pick_used(const struct stack_sums *s)
{
	struct stack_list_sums to = new_list(count_used(s) + 1, s->list.count != NULL);

	for (uint32_t i = 0; i < s->stacks; i++) {
		to.stack[to.n] = i;
		to.value[to.n] = s->list.value[i];
		if (to.count) {
			to.count[to.n] = s->list.count[i];
			to.squares[to.n] = s->list.squares[i];
		}
		to.n += s->list.value[i] != 0;
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
	*out = s->dense ? pick_used(s) : drop_zeros(s->list);
	if (!s->dense)
		s->list = (struct stack_list_sums){ 0 };
	stack_sums_done(s);
	stack_sums_init(s, s->stacks);
}
