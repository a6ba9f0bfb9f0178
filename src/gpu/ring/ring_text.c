/* Names of a ring's states and records. */
#include "gpu/ring/ring_read.h"

const char *ring_state_text(enum ring_state state)
{
	switch (state) {
	case RING_PARKED:
		return "parked";
	case RING_OPEN:
		return "window open";
	case RING_MUTED:
		return "muted: this CUPTI cannot be switched off again";
	case RING_BUSY:
		return "another tool has CUPTI";
	case RING_INERT:
		return "inert";
	case RING_DETACHED:
		return "detached";
	}
	return "unknown";
}

const char *ring_part_text(enum ring_part part)
{
	static const char *const texts[] = {
		[RING_PART_NONE] = "",
		[RING_PART_NO_CUPTI] = "libcupti is neither mapped nor next to the CUDA runtime",
		[RING_PART_SYMBOLS] = "libcupti lacks a function",
		[RING_PART_TOO_OLD] = "libcupti is too old",
		[RING_PART_SUBSCRIBE] = "cuptiSubscribe failed",
		[RING_PART_CALLBACKS] = "cuptiActivityRegisterCallbacks failed",
		[RING_PART_ENABLE] = "cuptiActivityEnable failed",
		[RING_PART_FATAL] = "CUPTI reported a fatal error",
		[RING_PART_STAYS_ON] = "libcupti is too old to be switched off again",
		[RING_PART_STALLS_ABSENT] = "this libcupti does not sample stalls",
		[RING_PART_STALLS_DENIED] = ("sampling stalls needs a privilege in the program: "
					     "root, CAP_SYS_ADMIN, or a driver that does not "
					     "restrict profiling to administrators"),
		[RING_PART_STALLS_MEMORY] = ("no memory to sample stalls, or the device filled it "
					     "faster than it was read"),
		[RING_PART_STALLS] = "cuptiPCSampling… failed",
		[RING_PART_STALLS_GRAPHS] = "the program launches CUDA graphs, which sampling "
					    "stalls all but stops",
	};
	return part < sizeof texts / sizeof *texts ? texts[part] : "unknown";
}

const char *ring_work_text(const union ring_any *record)
{
	static const char *const copies[] = {
		"[copy]",
		"[copy host to device]",
		"[copy device to host]",
		"[copy host to array]",
		"[copy array to host]",
		"[copy array to array]",
		"[copy array to device]",
		"[copy device to array]",
		"[copy device to device]",
		"[copy host to host]",
		"[copy between devices]",
	};
	uint8_t kind = record->copy.kind;

	switch (record->r.type) {
	case RING_COPY:
		return copies[kind < sizeof copies / sizeof *copies ? kind : 0];
	case RING_SET:
		return "[set]";
	case RING_SYNC:
		return "[sync]";
	case RING_GRAPH:
		return "[graph]";
	default:
		return "[unknown]";
	}
}
