/* profile/stack_id.h: stable ids of stacks, the same in a recording, in a store and on another
 * machine. Logs and traces can refer to them.
 *
 * An id is XXH3-128 over the ids of the frames, root first. A frame's id is XXH3-128 over its
 * identity (profile/frame.h):
 *
 *     in a file    kind, 'B', build id                        offset (u64)
 *                  kind, 'T', text of the build id, NUL       offset
 *                  kind, 'F', name of the file, NUL, identity (u64), offset
 *     by name      kind, 'N', function, NUL, file, NUL, binary, NUL, line (u32)
 *
 * Numbers are little endian. Nothing else is hashed; in particular no names found for addresses,
 * as they may follow later. An id is written as 32 hexadecimal digits, the first byte of XXH3's
 * canonical form first. The empty stack has an id as well.
 *
 * Code of the same build has equal ids on two machines; code in files without a build id only if
 * these are the same file. The kernel's frames are addresses: they stay the same until the machine
 * reboots. */
#ifndef CRESSET_PROFILE_STACK_ID_H
#define CRESSET_PROFILE_STACK_ID_H

#include "base/vec.h"

#include <stdint.h>

struct profile;

enum { STACK_ID_BYTES = 16, STACK_ID_TEXT_BYTES = 2 * STACK_ID_BYTES + 1 };

struct stack_id {
	uint8_t bytes[STACK_ID_BYTES];
};

/* Caches the ids of frames, of one profile. Zeroed = empty. */
struct stack_ids {
	VEC(struct stack_id) frames; /* by id */
	VEC(uint32_t) own;           /* the stack being hashed */
	VEC(struct stack_id) parts;
};
void stack_ids_done(struct stack_ids *s);

struct stack_id stack_id_of(struct stack_ids *s, const struct profile *p, uint32_t stack);
void stack_id_text(const struct stack_id *id, char out[STACK_ID_TEXT_BYTES]);

#endif
