/* format/pprof.h: pprof's profile.proto (github.com/google/pprof/proto/profile.proto), usually
 * gzipped.
 *
 * How the model and the file correspond:
 *
 * - A sample with k values becomes up to k samples of k series with one stack and one label set;
 *   zeros are left out, but a sample of zeros only keeps its first. The types of one file share a
 *   name: the period type's, else the last sample type's. Columns samples/count and cpu/nanoseconds
 *   whose second is the first times the period are one type {cpu, samples/count}.
 * - The numeric labels pid, tid and cpu are the columns of that name; other labels are the series'.
 * - A location with an address is {mapping, address - start + offset}; in the kernel itself
 *   {mapping, address}. It is of kind kernel when its mapping or its address says so. Without a
 *   mapping it lies in the mapping pprof_no_mapping(). One without an address is known by name when
 *   it has one line and its mapping has a name, which is then the frame's binary, or says nothing;
 *   else it gets an offset made from its lines (PPROF_NO_ADDRESS). Two locations that share an
 *   address but not their names are told apart in the same way: the second loses its address.
 * - Frames known by name whose kind the reader would not guess are written under a mapping
 *   "[python]", "[jit]" …, others under one named like their binary.
 * - Where there are waits (types wall, off-cpu, sched-wait), the string labels `state` and `reason` of
 *   each sample say what its stack and type say (profile/state.h): for other programs, so that a
 *   comment tells our reader to leave them out. Not written where the profile has labels of that name.
 * - What profile.proto has no field for travels in comments "cresset: key=value"; the reader takes
 *   them out again. */
#ifndef CRESSET_FORMAT_PPROF_H
#define CRESSET_FORMAT_PPROF_H

#include "format/format.h"

extern const struct format format_pprof;

bool pprof_detect(const char *head, size_t len);
int pprof_read(struct input *in, struct sink *sink, struct err *err);
int pprof_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		struct err *err);

/* More than these is -EBADMSG: a file may be a bomb. The largest real ones have some 10^5 of
 * each. */
enum {
	PPROF_MAX_BYTES = 1 << 30,   /* unpacked */
	PPROF_MAX_ENTRIES = 1 << 22, /* strings, functions, locations or mappings */
	PPROF_MAX_SAMPLES = 1 << 25, /* values that are not zero */
	PPROF_MAX_COLUMNS = 64,
	PPROF_MAX_COMMENTS = 1 << 16, /* more are dropped */
};

enum pprof_profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_DROP_FRAMES = 7,
	PROFILE_KEEP_FRAMES = 8,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	PROFILE_DOC_URL = 15,
};
enum { VALUE_TYPE_TYPE = 1, VALUE_TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION_ID = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3, LABEL_NUM_UNIT = 4 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_FLAGS = 7, /* four of them, 7 … 10, in the order of MAPPING_HAS_* */
};
enum {
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LOCATION_IS_FOLDED = 5,
};
enum { LINE_FUNCTION_ID = 1, LINE_LINE = 2, LINE_COLUMN = 3 };
enum {
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
	FUNCTION_START_LINE = 5,
};

/* Offsets whose upper 16 bits are these stand for "no address": the rest is a hash of the lines. No
 * file and no kernel has such addresses. */
#define PPROF_NO_ADDRESS (0x8000ull << 48)
static inline bool pprof_has_address(uint64_t offset)
{
	return offset >> 48 != 0x8000;
}

/* The mapping of locations that have none: no name, told from a mapping that is there but empty by
 * its identity. */
#define PPROF_NO_MAPPING 0x6e6f206d617070ull /* "no mapp" */
static inline struct mapping pprof_no_mapping(void)
{
	return (struct mapping){ .identity = PPROF_NO_MAPPING, .flags = MAPPING_AS_GIVEN };
}

#define PPROF_KERNEL "[kernel.kallsyms]" /* "[kernel]" in the model */

/* Addresses from here on are the kernel's on every 64-bit Linux; but for [vsyscall]. */
#define PPROF_KERNEL_HALF 0xffff000000000000ull

#define PPROF_COMMENT           "cresset: "
#define PPROF_STACK_IDS_COMMENT PPROF_COMMENT "stack_ids=1" /* so is the label stack_id */
#define PPROF_STATES_COMMENT    PPROF_COMMENT "states=1" /* labels state and reason are derived */

#endif
