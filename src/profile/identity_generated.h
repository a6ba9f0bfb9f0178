/* profile/identity_generated.h: names of code that is generated at run time, with numbers,
 * addresses, tiers of compilation and places. Used only by identity.c. */
#ifndef CRESSET_PROFILE_IDENTITY_GENERATED_H
#define CRESSET_PROFILE_IDENTITY_GENERATED_H

#include "profile/identity_text.h"

/* Returns the length of the part to remove at the end of a name; 0: none. */
size_t generated_suffix(const char *s, size_t len);
/* Same for the number of a compiled function, which is removed once. */
size_t generated_number(const char *s, size_t len);
/* The first part to remove at `from` or later. */
struct cut generated_cut(const char *s, size_t len, size_t from);

#endif
