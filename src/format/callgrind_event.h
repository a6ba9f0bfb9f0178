/* format/callgrind_event.h: what callgrind's types are called and counted in, and types that are
 * computed from others.
 *
 * The unit of a type is what its name says: "Ir" counts instructions, "Time_(10ns)" and "cpu(ms)"
 * have it in parentheses; else what stands in parentheses at the end of its long name
 * ("event: sys : time in the kernel (ns)"); else it is a count. */
#ifndef CRESSET_FORMAT_CALLGRIND_EVENT_H
#define CRESSET_FORMAT_CALLGRIND_EVENT_H

#include "format/callgrind_graph.h"

#include <stdbool.h>
#include <stddef.h>

/* Applies what stands behind "event:": "Ir : long name", "Sum = 2 Ir + Dr : long name". The types
 * it refers to and their costs must be there. False when it cannot be understood. */
bool callgrind_event_apply(struct callgrind_graph *g, const char *text, size_t len);

/* Gives every type its unit; call once, after the above. Costs in units of 10 ns become
 * nanoseconds. */
void callgrind_event_units(struct callgrind_graph *g);

#endif
