/* collect/container.h: the id of a container in the names that container
 * runtimes give to cgroups:
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

#include <stddef.h>

enum { CONTAINER_ID_LEN = 64 };

/* In one part of a path, [PREFIX-]ID[.scope]; NULL when there is none. */
const char *container_id_in_part(const char *part, size_t len);

#endif
