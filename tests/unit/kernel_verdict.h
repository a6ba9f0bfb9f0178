/* tests/unit/kernel_verdict.h: what holds for every verdict about a kernel (collect/kernel/kernel_types.h). */
#ifndef CRESSET_TESTS_KERNEL_VERDICT_H
#define CRESSET_TESTS_KERNEL_VERDICT_H

#include "unit.h"

#include "collect/kernel/kernel_types.h"

static inline const struct kernel_lack *lack_named(const struct kernel_verdict *v, const char *name)
{
	for (size_t i = 0; i < v->n; i++)
		if (!strcmp(v->lacks[i].row->name, name))
			return &v->lacks[i];
	return NULL;
}

static inline void show_verdict(const char *kernel, const struct kernel_verdict *v)
{
	for (size_t i = 0; i < v->n; i++)
		printf("# %s: %s\n", kernel, v->lacks[i].text);
	if (!v->n)
		printf("# %s: has all of it\n", kernel);
}

/* Each missing feature has a text that names it and the loss. */
static inline void check_words(const struct kernel_verdict *v)
{
	uint32_t lost = 0;

	for (size_t i = 0; i < v->n; i++) {
		const struct kernel_lack *l = &v->lacks[i];

		lost |= l->lost;
		ck_assert_msg(!strncmp(l->text, "this kernel", 11), "%s", l->text);
		ck_assert_ptr_nonnull(strstr(l->text, l->row->name));
		ck_assert_msg(!l->lost || strstr(l->text, ": no "), "%s", l->text);
		ck_assert_msg(strlen(l->text) < sizeof l->text - 1, "cut: %s", l->text);
	}
	ck_assert_uint_eq(lost, v->lost);
}

#endif
