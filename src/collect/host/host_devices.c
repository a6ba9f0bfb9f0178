/* Disks from /proc/diskstats and networks from /proc/net/dev. */
#include "collect/host/host_sources.h"

#include "base/buf.h"
#include "base/str.h"
#include "collect/host/host_points.h"
#include "format/otlp/otlp_metrics.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NAME_MAX_BYTES = 32 }; /* DISK_NAME_LEN, and IFNAMSIZ is less */

static const struct host_metric disk_io = { "system_disk_io", "By", OTLP_COUNTER };
static const struct host_metric disk_operations = { "system_disk_operations", "{operation}",
						    OTLP_COUNTER };
static const struct host_metric disk_time = { "system_disk_io_time", "s", OTLP_COUNTER };
static const struct host_metric net_io = { "system_network_io", "By", OTLP_COUNTER };
static const struct host_metric net_packets = { "system_network_packets", "{packet}",
						OTLP_COUNTER };
static const struct host_metric net_errors = { "system_network_errors", "{error}", OTLP_COUNTER };
static const struct host_metric net_dropped = { "system_network_dropped", "{packet}",
						OTLP_COUNTER };

static void put(struct host_points *w, const struct host_metric *metric, const char *device,
		const char *direction, double value)
{
	const struct label_text labels[HOST_MAX_LABELS] = {
		{ "device", device }, { direction ? "direction" : NULL, direction }
	};

	host_put(w, metric, labels, value);
}

/* --- what they are ---------------------------------------------------------------------------- */

/* Returns whether the name exists in /sys, where its '/' is '!'. */
static bool is_there(const char *format, const char *name)
{
	char path[64 + NAME_MAX_BYTES], file[NAME_MAX_BYTES];

	snprintf(file, sizeof file, "%s", name);
	for (char *p = file; (p = strchr(p, '/'));)
		*p = '!';
	snprintf(path, sizeof path, format, file);
	return file[0] != '.' && access(path, F_OK) == 0;
}

static bool is_disk(void *ctx, const char *name)
{
	(void)ctx;
	return is_there("/sys/block/%s", name);
}

static bool is_hardware(void *ctx, const char *name)
{
	(void)ctx;
	return is_there("/sys/class/net/%s/device", name);
}

struct host_device_facts host_device_facts(void)
{
	return (struct host_device_facts){ .is_disk = is_disk, .is_hardware = is_hardware };
}

/* --- disks ------------------------------------------------------------------------------------ */

/* Fields after the name. */
enum {
	READS,
	READS_MERGED,
	READ_SECTORS,
	READ_MS,
	WRITES,
	WRITES_MERGED,
	WRITTEN_SECTORS,
	WRITE_MS,
	IN_FLIGHT,
	BUSY_MS,
	DISK_FIELDS
};

static bool is_on_others(const char *name)
{
	static const char *const kinds[] = { "loop", "ram", "zram", "dm-", "md", "fd", "sr" };

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (str_starts(name, kinds[i]))
			return true;
	return false;
}

static bool read_disk(struct cur *line, char name[NAME_MAX_BYTES], uint64_t v[DISK_FIELDS])
{
	uint64_t major, minor;
	struct cur word;

	if (!host_number(line, &major) || !host_number(line, &minor) ||
	    !host_word(line, ' ', &word) || cur_left(&word) >= NAME_MAX_BYTES)
		return false;
	host_copy(&word, name, NAME_MAX_BYTES);
	for (int i = 0; i < DISK_FIELDS; i++)
		if (!host_number(line, &v[i]))
			return false;
	return true;
}

static void put_disk(struct host_points *w, const char *name, const uint64_t v[DISK_FIELDS])
{
	enum { SECTOR_BYTES = 512 }; /* whatever the device's sector size */

	put(w, &disk_io, name, "read", (double)v[READ_SECTORS] * SECTOR_BYTES);
	put(w, &disk_io, name, "write", (double)v[WRITTEN_SECTORS] * SECTOR_BYTES);
	put(w, &disk_operations, name, "read", v[READS]);
	put(w, &disk_operations, name, "write", v[WRITES]);
	put(w, &disk_time, name, NULL, (double)v[BUSY_MS] / 1e3);
}

void host_disks_put(struct cur text, const struct host_device_facts *facts, struct host_points *w)
{
	char name[NAME_MAX_BYTES];
	uint64_t v[DISK_FIELDS];
	struct cur line;
	int n = 0;

	while (n < HOST_MAX_DEVICES && host_line(&text, &line)) {
		if (!read_disk(&line, name, v) || is_on_others(name) || !(v[READS] | v[WRITES]) ||
		    !facts->is_disk(facts->ctx, name))
			continue;
		put_disk(w, name, v);
		n++;
	}
}

/* --- networks --------------------------------------------------------------------------------- */

enum { BYTES, PACKETS, ERRORS, DROPPED, NET_TRANSMIT = 8, NET_FIELDS = 2 * NET_TRANSMIT };

static bool read_network(struct cur *line, char name[NAME_MAX_BYTES], uint64_t v[NET_FIELDS])
{
	struct cur word;

	if (!host_word(line, ':', &word) || cur_left(&word) >= NAME_MAX_BYTES)
		return false;
	host_copy(&word, name, NAME_MAX_BYTES);
	for (int i = 0; i < NET_FIELDS; i++)
		if (!host_number(line, &v[i]))
			return false;
	return true;
}

static void put_network(struct host_points *w, const char *name, const uint64_t v[NET_FIELDS])
{
	static const struct host_metric *const metrics[] = { [BYTES] = &net_io,
							     [PACKETS] = &net_packets,
							     [ERRORS] = &net_errors,
							     [DROPPED] = &net_dropped };

	for (int i = BYTES; i <= DROPPED; i++) {
		put(w, metrics[i], name, "receive", v[i]);
		put(w, metrics[i], name, "transmit", v[NET_TRANSMIT + i]);
	}
}

static int put_networks(struct cur text, const struct host_device_facts *facts, bool hardware,
			struct host_points *w)
{
	char name[NAME_MAX_BYTES];
	uint64_t v[NET_FIELDS];
	struct cur line;
	int n = 0;

	while (n < HOST_MAX_DEVICES && host_line(&text, &line)) {
		if (!read_network(&line, name, v) || strcmp(name, "lo") == 0 ||
		    (hardware && !facts->is_hardware(facts->ctx, name)))
			continue;
		put_network(w, name, v);
		n++;
	}
	return n;
}

void host_networks_put(struct cur text, const struct host_device_facts *facts,
		       struct host_points *w)
{
	if (!put_networks(text, facts, true, w))
		put_networks(text, facts, false, w);
}
