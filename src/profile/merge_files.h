/* profile/merge_files.h: files of two profiles with one build id that are not one.
 *
 * A linker writes any build id that it is given, and other names of the same code leave the code
 * unchanged. So a file of src is another one if dst has other names for most of the functions that
 * both have. It has no build id in dst, which identifies it by its path. If only a few names
 * differ, or if a side was stripped (.dynsym has aliases of the names in the full table), only
 * these frames are of another file.
 *
 * A file without names that can be compared is that of dst, unless several files of dst have its
 * build id: then it is the one at its path, else another one. A file without any name can wait for
 * all files that may have its build id (profile_part_nameless). */
#ifndef CRESSET_PROFILE_MERGE_FILES_H
#define CRESSET_PROFILE_MERGE_FILES_H

#include <stdbool.h>
#include <stdint.h>

struct profile;

struct merge_files {
	struct profile *dst;
	const struct profile *src;
	const uint32_t *string, *mapping; /* ids of src → ids of dst */
	struct merge_file {
		uint32_t other;            /* mapping of dst; MAPPING_NONE: the file is the same */
		bool partly;               /* only frames with other names are of it */
		bool is_kernel;            /* it has frames of a kernel */
		uint32_t compared, differ; /* frames with names on both sides */
	} * file;                          /* by mapping of src; NULL: all are the same */
};

/* Finds them, and adds their mappings to dst. */
void merge_files_find(struct merge_files *f);
void merge_files_done(struct merge_files *f);

/* Returns the mapping in dst of a frame of src that has one. */
uint32_t merge_files_mapping(const struct merge_files *f, uint32_t frame);
/* Returns the mapping in dst of most frames of a mapping of src. */
uint32_t merge_files_whole(const struct merge_files *f, uint32_t mapping);

#endif
