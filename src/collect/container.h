/* collect/container.h: which container a process runs in, from the names that container runtimes
 * give to cgroups:
 *
 *     /docker/ID                             /system.slice/docker-ID.scope
 *     /kubepods/besteffort/podUID/ID         /kubepods.slice/…/cri-containerd-ID.scope
 *     …/podUID.slice:cri-containerd:ID       …/crio-ID.scope
 *     /machine.slice/libpod-ID.scope/container
 *
 * where ID is 64 lower-case hex digits.
 *
 * The monitor beside a container (libpod-conmon-ID.scope) is not inside it. */
#ifndef CRESSET_COLLECT_CONTAINER_H
#define CRESSET_COLLECT_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONTAINER_ID_LEN = 64 };

/* The innermost container's id in the text of /proc/PID/cgroup, NUL-terminated; false when there is
 * none. */
bool container_id_parse(const char *text, size_t len, char id[CONTAINER_ID_LEN + 1]);

/* Of a process: id is "" when it is in no container; *unified: there is only cgroup v2, so that its
 * group tells the container. 0, or -errno when it cannot be read. */
int container_id_of(uint32_t pid, char id[CONTAINER_ID_LEN + 1], bool *unified);

#endif
