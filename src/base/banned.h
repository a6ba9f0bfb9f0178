/* base/banned.h: force-included into every user-space source, so that these functions do not
 * compile (overflow, no bounds, no errors). System headers that use the names are included
 * first. */
#ifndef CRESSET_BASE_BANNED_H
#define CRESSET_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __has_include
#if __has_include(<alloca.h>)
#include <alloca.h>
#endif
#endif

#undef alloca /* a macro of glibc */
#pragma GCC poison strcpy strcat sprintf vsprintf gets atoi atol alloca

#endif
