/* format/pprof/pprof.h: pprof's profile.proto (github.com/google/pprof/proto/profile.proto),
 * usually gzipped.
 *
 * How the model and the file correspond:
 *
 * - A sample with k values becomes up to k samples of k series with one stack and one label set.
 *   Zeros are dropped; a sample of zeros only retains its first. The types of one file share the
 *   period type's name. Without one each has its sample type's, but a count of samples
 *   (profile_counts_samples) that of the last column. If the columns are samples/count and
 *   cpu/nanoseconds, and the second is the first times the period, they are one type {cpu,
 *   samples/count}.
 * - The numeric labels pid, tid and cpu are the columns of that name; other labels belong to the
 *   series.
 * - A location with an address is {mapping, address - start + offset}; in the kernel itself
 *   {mapping, address}. Its kind is kernel if its mapping or its address is. Without a
 *   mapping it belongs to the mapping pprof_no_mapping(). A location without an address is known by
 *   name if it has one line and its mapping is empty or has a name, which becomes the frame's
 *   binary; otherwise it gets an offset made from its lines (PPROF_NO_ADDRESS). If two locations
 *   share an address but not their names, the second loses its address in the same way.
 * - Frames known by name whose kind the reader would not guess are written under a mapping
 *   "[python]", "[jit]" …, others under one with the name of their binary.
 * - For types with waits (wall, off-cpu, sched-wait), the string labels `state` and `reason` of
 *   each sample repeat, for other programs, what its stack and type say (profile/state.h). A
 *   comment makes our reader drop them. They are not written if the profile has labels of that
 *   name.
 * - Data without a field in profile.proto is stored in comments "cresset: key=value"; the reader
 *   removes them. */
#ifndef CRESSET_FORMAT_PPROF_PPROF_H
#define CRESSET_FORMAT_PPROF_PPROF_H

#include "format/common/format.h"
#include "profile/frame.h"

struct err;
struct input;
struct out;
struct profile;
struct sink;

extern const struct format format_pprof;

bool pprof_detect(const char *head, size_t len);
int pprof_read(struct input *in, struct sink *sink, struct err *err);
int pprof_write(struct profile *p, const struct format_write_opts *opts, struct out *out,
		struct err *err);

/* Writes a difference as `go tool pprof -diff_base OLD NEW` makes it: the samples of both sides,
 * those of the older one negated and with the label pprof::base = "true"; pprof takes percentages
 * of such samples' total. Changes both profiles: newer becomes the difference, and older has no
 * further use. */
int pprof_write_diff(struct profile *newer, struct profile *older, struct out *out,
		     struct err *err);

/* Exceeding a limit is -EBADMSG: a file may be a bomb. The largest real files have some 10^5 of
 * each. */
enum {
	/* limit: a file, uncompressed */
	PPROF_MAX_BYTES = 1 << 30,
	PPROF_MAX_ENTRIES = 1 << 22,  /* limit: entries of a table of it */
	PPROF_MAX_SAMPLES = 1 << 25,  /* limit: nonzero values of it */
	PPROF_MAX_COLUMNS = 64,       /* limit: columns of it */
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

/* Offsets with these upper 16 bits mean "no address"; the rest is a hash of the lines. No file and
 * no kernel has such addresses. */
#define PPROF_NO_ADDRESS (0x8000ull << 48)
static inline bool pprof_has_address(uint64_t offset)
{
	return offset >> 48 != 0x8000;
}

/* The mapping of locations without one. It has no name; its identity distinguishes it from an
 * existing but empty mapping. */
#define PPROF_NO_MAPPING 0x6e6f206d617070ull /* "no mapp" */
static inline struct mapping pprof_no_mapping(void)
{
	return (struct mapping){ .identity = PPROF_NO_MAPPING, .flags = MAPPING_AS_GIVEN };
}

#define PPROF_KERNEL "[kernel.kallsyms]" /* "[kernel]" in the model */

/* On every 64-bit Linux, addresses from here on are the kernel's, except for [vsyscall]. */
#define PPROF_KERNEL_HALF 0xffff000000000000ull

#define PPROF_COMMENT           "cresset: "
#define PPROF_STACK_IDS_COMMENT PPROF_COMMENT "stack_ids=1" /* the label stack_id is derived */
#define PPROF_STATES_COMMENT    PPROF_COMMENT "states=1" /* labels state and reason are derived */

#endif
