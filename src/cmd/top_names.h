/* cmd/top_names.h: names for frames as soon as they are seen. A recording is named once, at its end; here new frames come all the time, each a
 * few addresses of files that were met before. So what was opened stays open: then a name costs a look-up. */
#ifndef CRESSET_CMD_TOP_NAMES_H
#define CRESSET_CMD_TOP_NAMES_H

#include "base/hash.h"
#include "base/vec.h"
#include "collect/collect.h"
#include "collect/elf_names.h"
#include "profile/profile.h"

enum { TOP_NAMES_OPEN = 64 }; /* files at once; the least recently used one goes */

struct top_names_file {
	uint64_t key; /* what it is, in every profile */
	int fd;       /* -1: it has no names */
	struct elf_names *names;
	uint64_t used; /* when, in turns */
};
struct top_names_want { /* of a mapping */
	uint32_t mapping;
	struct map frames; /* offset → frame */
};
struct top_names {
	struct name_files files;
	VEC(struct top_names_file) open;
	VEC(struct top_names_want) wants;
	uint32_t seen_frames; /* of the profile at hand */
	uint64_t turn;
};

/* Files of this machine only: no server is asked, for nobody waits for one. */
void top_names_init(struct top_names *n, const struct name_files_opts *opts);
void top_names_done(struct top_names *n);
/* Another profile from here on. */
void top_names_begin(struct top_names *n);

/* Names what is new in p, until the time is up (CLOCK_MONOTONIC): the rest comes the next time. */
void top_names_run(struct top_names *n, struct collector *c, struct profile *p, uint64_t until_ns);

#endif
