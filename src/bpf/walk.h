/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
 *
 * bpf/walk.h: the state of a walk over a user stack (bpf/unwind.h). It lies in map memory, so that
 * the verifier does not follow its values. */
#ifndef CRESSET_BPF_WALK_H
#define CRESSET_BPF_WALK_H

#include "bpf/event.h"
#include "bpf/space.h"

struct walk {
	__u64 regs[PT_REGS_WORDS]; /* of the leaf */
	__u64 ip, sp, fp;          /* of the current frame */
	/* address of the registers of the last interrupted frame; 0: none so far */
	__u64 sigcontext;
	__u64 bx_at;              /* address of the frame's saved rbx, or one of BX_… */
	struct space_mapping map; /* the last one found; end 0: none */
	__u64 image;              /* of the process; 0: unknown */
	__u32 n_maps;             /* of the process */
	__u32 settled;            /* its mappings have not changed for a while */
	__u32 pos, len;           /* of a search */
	__u32 n, max;             /* frames so far, and at most */
	__u32 exact;              /* ip is an instruction, not a return address */
	__u32 end;                /* enum walk_end */
	__u32 by_table, by_fp;    /* steps by a rule; by the frame pointer or a look at the stack */
	__u32 use_tables;
	__u32 has_address; /* a frame is an address */
	__u32 missing;     /* the table that was not loaded */
	__u32 by_rule;     /* the last step used a rule */
	__u32 has_code;    /* a bit for each runtime that has made code in the process */
	__u32 has_inline;  /* there are frames of two words */
	__u32 most;        /* words, for max grows with these frames; 0: it does not */
	__u32 table;       /* the last one checked, and ready; 0: none */
	__u32 n_back;      /* frames that lie below their callee's */
	__u64 back_cfa;    /* the CFA of one of them */
};

/* Cache of recently found frames, by image and address: the same callers occur again and again.
 * Entries never become stale: an image does not change, and object numbers are not reused. */
enum { KNOWN_FRAMES_BITS = 9, KNOWN_FRAMES = 1 << KNOWN_FRAMES_BITS };
struct known_frame {
	__u64 pc, image; /* image 0: none */
	__u64 frame;
	struct unwind_rule rule;
	__u32 table;
	__u32 shape; /* SHAPE_… */
};
_Static_assert(sizeof(struct known_frame) == 48, "known_frame has no padding");

#endif
