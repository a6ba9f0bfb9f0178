/* Folded stacks, read and written again. */
#ifndef CRESSET_TESTS_FOLDED_TEXT_H
#define CRESSET_TESTS_FOLDED_TEXT_H

#include "read_text.h"
#include "spelled_profile.h"

static inline char *folded_of(struct profile *p)
{
	struct format_write_opts opts = { 0 };
	return written(&format_folded, p, &opts);
}

/* The text again, after reading and writing. */
static inline void check_rewritten(const char *text, const char *want)
{
	struct profile *p = folded_profile(text);
	char *got = folded_of(p);
	ck_assert_str_eq(got, want);
	free(got);
	profile_free(p);
}

#endif
