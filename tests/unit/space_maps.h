/* tests/unit/space_maps.h: the maps that describe address spaces to the walker, without the walker. */
#ifndef CRESSET_TESTS_SPACE_MAPS_H
#define CRESSET_TESTS_SPACE_MAPS_H

#include "bpf/space.h"
#include "bpf/unwind_table.h"
#include "collect/kernel/walker_maps.h"
#include "collect/walker/space.h"

#include <bpf/bpf.h>
#include <check.h>
#include <unistd.h>

#define SPACE_NEEDS "BPF maps need CAP_BPF"

/* Creates maps with room for this many processes and blocks of mappings. False without the permission. */
static inline bool space_maps_create_for(struct space_maps *m, uint32_t max_segments,
					 uint32_t processes, uint32_t blocks)
{
	LIBBPF_OPTS(bpf_map_create_opts, mapped, .map_flags = BPF_F_MMAPABLE);
	int inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "inner", 4, UNWIND_CHUNK,
				   UNWIND_SEGMENT_CHUNKS, &mapped);
	LIBBPF_OPTS(bpf_map_create_opts, outer, .inner_map_fd = inner);

	if (inner < 0)
		return false;
	*m = (struct space_maps){
		.processes = bpf_map_create(BPF_MAP_TYPE_HASH, "processes", 4,
					    sizeof(struct space_process), processes, NULL),
		.blocks =
			bpf_map_create(BPF_MAP_TYPE_HASH, "blocks", sizeof(struct space_block_key),
				       sizeof(struct space_block), blocks, NULL),
		.tables = bpf_map_create(BPF_MAP_TYPE_ARRAY, "tables", 4,
					 sizeof(struct space_table), SPACE_MAX_TABLES, NULL),
		.segments = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "segments", 4, 4,
					   max_segments ? max_segments : 1, &outer),
		.max_segments = max_segments,
	};
	close(inner);
	ck_assert_int_ge(m->processes, 0);
	ck_assert_int_ge(m->blocks, 0);
	ck_assert_int_ge(m->tables, 0);
	ck_assert_int_ge(m->segments, 0);
	return true;
}

static inline bool space_maps_create(struct space_maps *m, uint32_t max_segments)
{
	return space_maps_create_for(m, max_segments, 64, 1024);
}

static inline void space_maps_close(struct space_maps *m)
{
	close(m->processes);
	close(m->blocks);
	close(m->tables);
	close(m->segments);
}

#endif
