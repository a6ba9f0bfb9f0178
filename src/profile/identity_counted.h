/* profile/identity_counted.h: names in which compilers count functions, or name the file that they
 * compile by its device and inode. Used only by identity.c. */
#ifndef CRESSET_PROFILE_IDENTITY_COUNTED_H
#define CRESSET_PROFILE_IDENTITY_COUNTED_H

#include "profile/identity_text.h"

/* Returns the length of the part to remove at the end of a name; 0: none. */
size_t counted_suffix(const char *s, size_t len);
/* The first part to remove at `from` or later. */
struct cut counted_cut(const char *s, size_t len, size_t from);

#endif
