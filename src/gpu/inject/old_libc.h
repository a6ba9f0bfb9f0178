/* gpu/inject/old_libc.h: force-included into the library that GPU programs load. Functions that
 * glibc 2.34 moved into libc are linked by their first version, which every libc since has, so that
 * a library built on a new system also loads in a container with an old one. */
#ifndef CRESSET_GPU_INJECT_OLD_LIBC_H
#define CRESSET_GPU_INJECT_OLD_LIBC_H

#if defined(__x86_64__)
#define OLD_LIBC(name) __asm__(".symver " #name ", " #name "@GLIBC_2.2.5")
#elif defined(__aarch64__)
#define OLD_LIBC(name) __asm__(".symver " #name ", " #name "@GLIBC_2.17")
#endif

OLD_LIBC(dlopen);
OLD_LIBC(dlsym);
OLD_LIBC(pthread_attr_setstacksize);
OLD_LIBC(pthread_create);
OLD_LIBC(pthread_sigmask);

#endif
