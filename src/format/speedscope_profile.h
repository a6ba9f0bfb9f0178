/* format/speedscope_profile.h: the profile that the speedscope reader is in. Its keys come in any
 * order, so what it means (unit, name) is applied at its end, when its sums and intervals go to
 * speedscope_calls. */
#ifndef CRESSET_FORMAT_SPEEDSCOPE_PROFILE_H
#define CRESSET_FORMAT_SPEEDSCOPE_PROFILE_H

#include "base/buf.h"
#include "format/speedscope_calls.h"

/* What samples of the profile add to a call. */
struct call_sum {
	struct amount value;
	uint64_t samples;
};
/* From then on, until the next change, the stack was this one; CALL_ROOT: nothing ran. */
struct call_change {
	struct amount since;
	uint32_t call;
};
struct open_frame {
	uint32_t frame, call;
};

struct speedscope_profile { /* zeroed, but for calls */
	struct speedscope_calls *calls;
	struct buf name;
	uint8_t unit; /* as speedscope_unit gives it */
	bool has_start, has_end;
	struct amount start, end;

	VEC(struct call_sum) sums; /* by call, zero but for those in … */
	VEC(uint32_t) summed;      /* … here */

	/* Sampled: whichever array comes first waits here for the other. */
	VEC(uint32_t) samples; /* calls */
	VEC(struct amount) weights;
	bool has_samples, has_weights;
	uint64_t n_samples, n_weights;

	/* Evented. */
	bool has_events, has_now;
	struct amount now; /* time of the last event */
	VEC(struct open_frame) open;
	uint64_t beyond;                 /* frames open beyond SPEEDSCOPE_MAX_OPEN */
	VEC(struct call_change) changes; /* the last one lasts until now */
};

/* Forgets the profile before. */
void speedscope_profile_begin(struct speedscope_profile *p);
void speedscope_profile_done(struct speedscope_profile *p);

/* The unit of this name; that of "none" for any other. */
uint8_t speedscope_unit(const char *name);

/* The next sample: its call, or CALL_NONE. The next weight: part is NAN where it is no number. */
void speedscope_sample(struct speedscope_profile *p, uint32_t call);
void speedscope_weight(struct speedscope_profile *p, struct amount weight);

/* The next event. */
void speedscope_open_frame(struct speedscope_profile *p, uint32_t frame, struct amount at);
void speedscope_close_frame(struct speedscope_profile *p, uint32_t frame, struct amount at);

/* Hands everything over to p->calls. Returns what was measured. */
enum quantity speedscope_profile_end(struct speedscope_profile *p);

#endif
