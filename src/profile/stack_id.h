/* profile/stack_id.h: an id of a stack that is the same wherever the stack is: in a recording, in a store, on another machine. Logs and
 * traces can refer to it.
 *
 * It is XXH3-128 over the ids of the frames, root first, each of which is XXH3-128 over what the frame is (profile/frame.h):
 *
 *     in a file    kind, 'B', build id                        offset (u64)
 *                  kind, 'T', text of the build id, NUL       offset
 *                  kind, 'F', name of the file, NUL, identity (u64), offset
 *     by name      kind, 'N', function, NUL, file, NUL, binary, NUL, line (u32)
 *
 * little endian; nothing else takes part, names that were found for addresses least of all: they may come later. Written as 32
 * hexadecimal digits, the first byte of XXH3's canonical form first. The empty stack has no frames to hash, and an id like all others.
 *
 * Code of the same build on two machines has equal ids; that of files without a build id only where these are the same file. The
 * kernel's frames are addresses: they are the same while a machine runs. */
#ifndef CRESSET_PROFILE_STACK_ID_H
#define CRESSET_PROFILE_STACK_ID_H

#include "base/vec.h"
#include "profile/profile.h"

#include <stdint.h>

enum { STACK_ID_BYTES = 16, STACK_ID_TEXT_BYTES = 2 * STACK_ID_BYTES + 1 };

struct stack_id {
	uint8_t bytes[STACK_ID_BYTES];
};

/* Frames that were hashed once are remembered. Zeroed = empty; of one profile. */
struct stack_ids {
	VEC(struct stack_id) frames; /* by id */
	VEC(uint32_t) own;           /* the stack being hashed */
	VEC(struct stack_id) parts;
};
void stack_ids_done(struct stack_ids *s);

struct stack_id stack_id_of(struct stack_ids *s, const struct profile *p, uint32_t stack);
void stack_id_text(const struct stack_id *id, char out[STACK_ID_TEXT_BYTES]);

#endif
