#include "cmd/cpu_time.h"

#include "base/fs.h"

#include <stdio.h>
#include <unistd.h>

/* proc_stat(5); user and nice have the time of guests in them. */
void cpu_time_read(struct cpu_time *out)
{
	unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
	double hz = sysconf(_SC_CLK_TCK);
	char line[256];

	*out = (struct cpu_time){ .busy_s = -1 };
	fs_read_line("/proc/stat", line, sizeof line);
	if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system,
		   &idle, &iowait, &irq, &softirq, &steal) != 8)
		return;
	out->busy_s = (user + nice + system + irq + softirq) / hz;
	out->steal_s = steal / hz;
}
