/* cmd/cpu_time.h: how long all CPUs together were busy, by /proc/stat: what a recording of the whole machine should have samples of. */
#ifndef CRESSET_CMD_CPU_TIME_H
#define CRESSET_CMD_CPU_TIME_H

struct cpu_time {
	double busy_s;  /* since the machine was started; < 0: not known */
	double steal_s; /* that the host gave to others meanwhile */
};
void cpu_time_read(struct cpu_time *out);

#endif
