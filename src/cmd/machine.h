/* cmd/machine.h: the machine this runs on, as labels of all that is recorded on it: a recording, a store and a server say the same. */
#ifndef CRESSET_CMD_MACHINE_H
#define CRESSET_CMD_MACHINE_H

#include "profile/relabel.h"

#include <sys/utsname.h>

enum { MACHINE_LABELS = 2 };
struct machine {
	struct utsname name;                      /* host is name.nodename */
	struct label_text labels[MACHINE_LABELS]; /* kernel, arch; they point into name */
};

/* m stays where it is. */
void machine_init(struct machine *m);

#endif
