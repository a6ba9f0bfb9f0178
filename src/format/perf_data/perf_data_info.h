/* format/perf_data/perf_data_info.h: metadata of a perf.data file: the sections after its data, or
 * the feature records of a pipe (tools/perf/Documentation/perf.data-file-format.txt in the kernel's
 * source). */
#ifndef CRESSET_FORMAT_PERF_DATA_PERF_DATA_INFO_H
#define CRESSET_FORMAT_PERF_DATA_PERF_DATA_INFO_H

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "format/perf_data/perf_data_event.h"
#include "profile/frame.h"

#include <stdbool.h>
#include <stdint.h>

enum pd_feature {
	PD_FEATURE_BUILD_ID = 2,
	PD_FEATURE_HOSTNAME = 3,
	PD_FEATURE_OSRELEASE = 4,
	PD_FEATURE_ARCH = 6,
	PD_FEATURE_NRCPUS = 7,
	PD_FEATURE_CMDLINE = 11,
	PD_FEATURE_EVENT_DESC = 12,
	PD_FEATURE_CLOCK_DATA = 29,
	PD_FEATURES = 256,
};
enum { PD_MAX_FEATURE_BYTES = 64 << 20, PD_MAX_BUILD_IDS = 1 << 20 };

struct pd_build_id {
	const char *path;
	uint8_t len, id[BUILD_ID_MAX];
};
struct pd_info { /* zeroed = empty */
	struct arena text;
	const char *host, *kernel, *arch, *command; /* NULL: unknown */
	uint32_t cpus;                              /* online */
	/* The wall clock at a time on the samples' clock; both 0: unknown. */
	uint64_t wall_ns, clock_ns;
	VEC(struct pd_build_id) build_ids;
	struct map by_path;
};

void pd_info_done(struct pd_info *i);

/* Reads the known parts of a section; names the events it describes. */
void pd_info_feature(struct pd_info *i, struct pd_events *e, uint64_t feature, struct wire data);

/* Whether pd_info_feature uses this feature. */
bool pd_info_wants(uint64_t feature);

/* Adds a record of the build id table: `misc` of its header, and the bytes after that header. */
void pd_info_build_id(struct pd_info *i, uint16_t misc, struct wire record);

/* Returns the build id of the file mapped under this path, or NULL. */
const struct pd_build_id *pd_info_find_build_id(const struct pd_info *i, const char *path,
						size_t len);

#endif
