/* collect/perf_refused.h: what to do when the kernel opens no performance event. Linux wants CAP_PERFMON; Debian's and Ubuntu's kernels want
 * CAP_SYS_ADMIN while kernel.perf_event_paranoid is above 2, which it is there by default (3 and 4). */
#ifndef CRESSET_COLLECT_PERF_REFUSED_H
#define CRESSET_COLLECT_PERF_REFUSED_H

/* As kernel.perf_event_paranoid is; 2, Linux' own default, where it cannot be read. */
int perf_paranoid(void);
/* One or two lines, which stay. */
const char *perf_refused_remedy(int paranoid);

#endif
