/* symbol/locate.h: the ordinary debug_locate_fn: where distributions put separate debug files, below one root directory (that of
 * a container, or /).
 *
 *     /usr/lib/debug/.build-id/ab/cdef….debug      by build id
 *     DIR/LINK  DIR/.debug/LINK  /usr/lib/debug/DIR/LINK      by debuglink, DIR being the folder of the binary
 *
 *     NAME  /usr/lib/debug/DIR/NAME      what .gnu_debugaltlink names (from DIR on where it is relative), after the build id
 *     COMPDIR/NAME  DIR/NAME      a .dwo, where the compiler left it; only its file name beside the binary
 *     BINARY.dwp
 *
 * The names come from the watched program: symbolic links and ".." are followed as if root were "/", and only regular files
 * are opened. */
#ifndef CRESSET_SYMBOL_LOCATE_H
#define CRESSET_SYMBOL_LOCATE_H

#include "symbol/symbol.h"

struct debug_root {
	int fd; /* the root directory; stays the caller's */
	const char *
		path; /* of the binary as seen from that root; NULL: unknown, only the build id is used */
};

/* debug_locate_fn; ctx is a struct debug_root. Needs openat2 (Linux 5.6): finds nothing without it. */
int debug_locate_in_root(void *ctx, const struct debug_request *req, unsigned attempt);

#endif
