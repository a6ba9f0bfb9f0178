/* format/common/address_map.h: the mappings of one process, for files that have its addresses and
 * the text of /proc/PID/maps. */
#ifndef CRESSET_FORMAT_COMMON_ADDRESS_MAP_H
#define CRESSET_FORMAT_COMMON_ADDRESS_MAP_H

#include "base/vec.h"
#include "format/common/give.h"

#include <stdbool.h>
#include <stdint.h>

struct sink;

/* limit: mappings of a process in another tool's file; later ones are dropped */
enum { ADDRESS_MAP_MAX = 1 << 20 };

struct address_range {
	uint64_t start, end, offset;
	uint32_t mapping; /* in the sink */
	uint32_t order;
};
struct address_map { /* zeroed, except for sink = empty */
	struct sink *sink;
	VEC(struct address_range) ranges;
	uint32_t unknown; /* mapping of addresses outside of all; valid if has_unknown */
	bool is_sorted, has_unknown;
};

/* Adds a line of /proc/PID/maps. Returns false if it is none. */
bool address_map_add_line(struct address_map *m, const char *line, size_t len);
/* Adds all such lines of a text. */
void address_map_add_text(struct address_map *m, const char *text, size_t len);
/* Returns the frame at an address. Call after the last addition. Ranges should not overlap: the one
 * with the highest start up to the address is used, the last added of equal ones. Addresses outside
 * of it are in a mapping without a name. */
uint32_t address_map_frame(struct address_map *m, uint64_t address);
void address_map_done(struct address_map *m);

#endif
