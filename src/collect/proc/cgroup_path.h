/* collect/proc/cgroup_path.h: properties of a process in its cgroup paths.
 *
 * The text of /proc/PID/cgroup is lines of ID:CONTROLLERS:PATH; that of cgroup v2 is "0::PATH"
 * (cgroups(7)). A path is read up to the innermost container; the rest is the inside of the
 * container, which may have a separate systemd:
 *
 *     /system.slice/nginx.service                                       unit
 *     /user.slice/user-1000.slice/user@1000.service/app.slice/x.scope   unit, user unit
 *     /kubepods.slice/…-podUID.slice/cri-containerd-ID.scope            pod, container
 *     /docker/ID/system.slice/nginx.service                             container, a unit inside
 *     /machine.slice/systemd-nspawn@deb.service/payload                 container "deb"
 *     /lxc.payload.web/system.slice/nginx.service                       container "web", a unit
 *                                                                       inside
 *
 * Names are as systemctl shows them: \x2d is retained; the "_" that systemd puts before names
 * reserved by cgroups is removed (https://systemd.io/CONTROL_GROUP_INTERFACE). A session's scope
 * has a new number at each login, so its slice is the unit. */
#ifndef CRESSET_COLLECT_PROC_CGROUP_PATH_H
#define CRESSET_COLLECT_PROC_CGROUP_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONTAINER_ID_LEN = 64 };
enum {
	CGROUP_NAME_BYTES = 256, /* systemd's limit for unit names, with a NUL */
	POD_UID_BYTES = 37,
};

/* "" without one. */
struct cgroup_place {
	char container_id[CONTAINER_ID_LEN + 1];
	char container[CGROUP_NAME_BYTES]; /* its name, if the path has it */
	char pod_uid[POD_UID_BYTES];
	char unit[CGROUP_NAME_BYTES], user_unit[CGROUP_NAME_BYTES];
};

/* Parses text; unknown parts are ignored. */
void cgroup_place_parse(const char *text, size_t len, struct cgroup_place *out);

/* Reads those of a process. *unified: there is only cgroup v2, so that the cgroup id is sufficient.
 * Returns 0, or -errno when it cannot be read. */
int cgroup_place_of(uint32_t pid, struct cgroup_place *out, bool *unified);

#endif
