/* profile/merge_files.h: files of two profiles with one build id that are not one.
 *
 * A linker writes any build id that it is given, and other names of the same code leave the code
 * unchanged. So a file of src is another one if dst has another name for a function at one of its
 * addresses. It has no build id in dst, which identifies it by its path. The names of a file that
 * was stripped (only .dynsym) can differ from the names in its full copy. If either side has such
 * names, only frames that differ are of another file, so that the others have the names of the
 * full copy. */
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
		uint32_t other; /* mapping of dst; MAPPING_NONE: the file is the same */
		bool partly;    /* only frames with other names are of it */
	} * file;               /* by mapping of src; NULL: all are the same */
};

/* Finds them, and adds their mappings to dst. */
void merge_files_find(struct merge_files *f);
void merge_files_done(struct merge_files *f);

/* Returns the mapping in dst of a frame of src that has one. */
uint32_t merge_files_mapping(const struct merge_files *f, uint32_t frame);
/* Returns the mapping in dst of most frames of a mapping of src. */
uint32_t merge_files_whole(const struct merge_files *f, uint32_t mapping);

#endif
