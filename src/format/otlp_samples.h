/* format/otlp_samples.h: the samples of an OTLP message, Profile by Profile. */
#ifndef CRESSET_FORMAT_OTLP_SAMPLES_H
#define CRESSET_FORMAT_OTLP_SAMPLES_H

#include "format/otlp_tables.h"

/* What was found out about the message before any sample is given. */
struct otlp_times {
	bool any; /* some sample has a time */
	uint64_t
		base_unix_ns; /* the earliest profile's time: start_mono_ns on the samples' clock */
	int64_t start_mono_ns;
};

struct otlp_samples;

struct otlp_samples *otlp_samples_new(struct otlp_tables *t, enum otlp_layout layout,
				      const struct otlp_times *times);
/* Adds to *given and *rejected. */
void otlp_samples_free(struct otlp_samples *s, uint64_t *given, uint64_t *rejected);

/* Labels of all profiles that follow: a resource's, replacing those of the one before. */
void otlp_samples_set_resource(struct otlp_samples *s, const struct label *labels, uint32_t n);

/* The samples of a Profile. 0; -ENODATA when it gave nothing though it has samples; -EBADMSG when there are too many of them. */
int otlp_samples_add(struct otlp_samples *s, struct cur profile);

#endif
