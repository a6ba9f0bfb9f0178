/* symbol/cxx_newer.h: C++'s mangled names with what C++20 and later added and libiberty does not
 * read, rewritten into names that it reads.
 *
 *     NH…E     a member function with an explicit object parameter: without the H
 *     TnDaX    an argument for a template parameter that is declared auto: X
 *     TkC, Ty  a constrained parameter, another one: dropped, like Tp for a pack; TkC only where
 *              the numbers of substitutions remain the same
 *     LDm…E    a reflection: a type called "^^" and what it reflects
 *     Dy…      an element of a pack, by its index  } not rewritten: such a name is shown without
 *     Q…       a constraint                        } its parameters, or as NAME<...>
 *     Tt…E     a parameter that is a template      }
 *
 * Grammar: the Itanium C++ ABI; for reflections what gcc 16 writes. */
#ifndef CRESSET_SYMBOL_CXX_NEWER_H
#define CRESSET_SYMBOL_CXX_NEWER_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* Appends the name as libiberty can read it, or as much of it as there is a way to. Returns false,
 * with out untouched, if there is nothing newer in it. type: prints a mangled type; returns false
 * if it is none. */
bool cxx_newer_rewrite(const char *name, size_t len,
		       bool (*type)(void *ctx, const char *mangled, size_t len, struct buf *out),
		       void *ctx, struct buf *out);

/* Appends the name of a function without parameters, whose name ends before the i-th list of
 * template arguments from the end. Returns false if there is none. */
bool cxx_newer_cut(const char *name, size_t len, unsigned i, struct buf *out);

#endif
