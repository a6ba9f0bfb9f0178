/* cmd/clock_option.h: --clock of the commands that sample CPUs. */
#ifndef CRESSET_CMD_CLOCK_OPTION_H
#define CRESSET_CMD_CLOCK_OPTION_H

#include "cmd/cmd.h"

extern const char *const clock_words[]; /* as enum collect_clock */

/* A row for the option table of a command; member: an int, an enum collect_clock. */
#define CLOCK_OPTION(T, member, group_) \
	{ \
		NULL, "clock", "CLOCK", \
			"what samples: cpu-clock, cycles (also where interrupts are off); auto: " \
			"cycles where a counter works", \
			OPT_ENUM, .group = group_, .offset = offsetof(struct T, member), \
				  .words = clock_words, .def = "auto" \
	}

#endif
