#include "profile/sink.h"

const struct loss_info loss_reasons[LOSS_REASONS] = {
	[LOSS_RING_FULL] = { "ring_full", "ring buffer full", "use a larger --buffer", 1 },
	[LOSS_STACK_RING_FULL] = { "stack_ring_full", "no room for the stack: kept without frames",
				   "use a larger --buffer", 0 },
	[LOSS_SAMPLER_BUSY] = { "sampler_busy", "the sampler itself was running", "", 1 },
	[LOSS_TARGETS_FULL] = { "targets_full", "children not followed: too many targets",
				"record the whole machine with -a", 0 },
	[LOSS_WAITS_UNSEEN] = { "waits_unseen",
				"waits without a stack: the kernel did not show the switch at "
				"their "
				"end",
				"", 1 },
	[LOSS_THREADS_UNKNOWN] = { "threads_unknown",
				   "threads whose times and waits are not known: no room for them",
				   "", 0 },
	[LOSS_SIDE_BAND] = { "side_band",
			     "records of new processes and mappings lost: processes were read "
			     "again",
			     "", 0 },
	[LOSS_QUEUE_FULL] = { "queue_full", "samples the store did not take in time",
			      "see what its process says", 1 },
	[LOSS_LATE] = { "late", "records taken later than their time", "", 0 },
	[LOSS_OBJECT_GONE] = { "object_gone", "files gone before they could be opened", "", 0 },
	[LOSS_OBJECT_CLOSED] = { "object_closed",
				 "files closed at the limit of descriptors, then gone",
				 "raise the limit of open files (ulimit -n)", 0 },
	[LOSS_INPUT_SKIPPED] = { "input_skipped", "parts of the input that could not be read", "",
				 0 },
	[LOSS_SYMBOLS_SKIPPED] = { "symbols_skipped",
				   "symbol tables or entries that could not be read", "", 0 },
	[LOSS_TIMES_DROPPED] = { "times_dropped", "samples that lost their time: too many",
				 "read a part of the file", 0 },
	[LOSS_LINKS_DROPPED] = { "links_dropped", "samples that lost their trace: too many spans",
				 "read a part of the file", 0 },
};
