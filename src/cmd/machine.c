#include "cmd/machine.h"

void machine_init(struct machine *m)
{
	*m = (struct machine){ .labels = { { "kernel", m->name.release },
					   { "arch", m->name.machine } } };
	uname(&m->name); /* empty names, which are no labels, where it fails */
}
