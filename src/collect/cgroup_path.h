/* collect/cgroup_path.h: what the paths of a process's cgroups say of it.
 *
 * The text of /proc/PID/cgroup is lines of ID:CONTROLLERS:PATH; that of cgroup v2 is "0::PATH" (cgroups(7)). A path is read up to the
 * innermost container, and what comes behind that is the world of the container, which may have a systemd of its own:
 *
 *     /system.slice/nginx.service                                       unit
 *     /user.slice/user-1000.slice/user@1000.service/app.slice/x.scope   unit, user unit
 *     /kubepods.slice/…-podUID.slice/cri-containerd-ID.scope            pod, container
 *     /docker/ID/system.slice/nginx.service                             container, a unit inside
 *     /machine.slice/systemd-nspawn@deb.service/payload                 container "deb"
 *     /lxc.payload.web/system.slice/nginx.service                       container "web", a unit inside
 *
 * Names are as systemctl shows them: \x2d stays; the "_" that systemd puts before names that cgroups use themselves goes
 * (https://systemd.io/CONTROL_GROUP_INTERFACE). A session's scope has a number that each login has anew: its slice is the unit. */
#ifndef CRESSET_COLLECT_CGROUP_PATH_H
#define CRESSET_COLLECT_CGROUP_PATH_H

#include "collect/container.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CGROUP_NAME_BYTES = 256, /* systemd's limit of a unit's name, with a NUL */
	POD_UID_BYTES = 37,
};

/* "" where there is none. */
struct cgroup_place {
	char container_id[CONTAINER_ID_LEN + 1];
	char container[CGROUP_NAME_BYTES]; /* its name, where the path has it */
	char pod_uid[POD_UID_BYTES];
	char unit[CGROUP_NAME_BYTES], user_unit[CGROUP_NAME_BYTES];
};

/* Of text; bytes that are no part of what is known are passed over. */
void cgroup_place_parse(const char *text, size_t len, struct cgroup_place *out);

/* Of a process; *unified: there is only cgroup v2, so that its id tells all of it. 0, or -errno when it cannot be read. */
int cgroup_place_of(uint32_t pid, struct cgroup_place *out, bool *unified);

#endif
