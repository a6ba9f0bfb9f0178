/* format/cresset.h: recordings, .cresset: everything the model holds (store/recording.h). */
#ifndef CRESSET_FORMAT_CRESSET_H
#define CRESSET_FORMAT_CRESSET_H

#include "format/format.h"

extern const struct format format_cresset;

#endif
