/* collect/host_devices.h: disks from /proc/diskstats, networks from /proc/net/dev (Documentation/admin-guide/iostats.rst, proc(5)).
 *
 *     system_disk_io{device,direction}           By, counter; direction: read, write
 *     system_disk_operations{device,direction}   counter
 *     system_disk_io_time{device}                s, counter: time in which it had something to do
 *     system_network_io{device,direction}        By, counter; direction: receive, transmit
 *     system_network_packets, _errors, _dropped{device,direction}
 *
 * Added up over devices they are the host's totals: so what goes through several of them counts at the lowest one. No partitions, no loop,
 * RAM, device mapper or md devices; of networks those that are hardware, or where there is none of these, all but lo. A disk that never did
 * anything is left out. */
#ifndef CRESSET_COLLECT_HOST_DEVICES_H
#define CRESSET_COLLECT_HOST_DEVICES_H

#include "collect/host_points.h"

/* What /sys says of a device; false where it says nothing. */
struct host_device_facts {
	bool (*is_disk)(void *ctx, const char *name);     /* a whole one */
	bool (*is_hardware)(void *ctx, const char *name); /* a network */
	void *ctx;
};
struct host_device_facts host_device_facts(void); /* from /sys */

void host_disks_put(struct cur diskstats, const struct host_device_facts *facts,
		    struct host_points *w);
void host_networks_put(struct cur net_dev, const struct host_device_facts *facts,
		       struct host_points *w);

#endif
