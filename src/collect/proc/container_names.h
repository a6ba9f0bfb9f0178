/* collect/proc/container_names.h: names of containers, from files that runtimes and the kubelet
 * keep on the host. No daemon is queried.
 *
 *     /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log                     the kubelet, for every
 *                                                                            runtime
 *     /var/log/pods/NAMESPACE_POD_UID/                                       a pod without such a
 *                                                                            link
 *     /var/lib/docker/containers/ID/config.v2.json                           docker: Name; labels
 *                                                                            of a pod
 *     /run/containerd/io.containerd.runtime.v2.task/SPACE/ID/config.json     containerd, nerdctl:
 *                                                                            annotations
 *     /run/containers/storage/overlay-containers/ID/userdata/config.json     cri-o: annotations
 *     /var/lib/containers/storage/overlay-containers/containers.json         podman: names
 *
 * Files are bounded, and users' files are never read. Labels may come from the author of an image:
 * they count as the pod only if the cgroup also does. If nothing was found, a container is looked
 * up again a few times, because links are made while it starts. */
#ifndef CRESSET_COLLECT_PROC_CONTAINER_NAMES_H
#define CRESSET_COLLECT_PROC_CONTAINER_NAMES_H

#include "base/hash.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup_place;

enum {
	CONTAINER_NAME_BYTES = 254, /* of a pod: 253 (DNS-1123) */
	CONTAINER_NAMES_MAX = 4096, /* cached containers; then all are forgotten */
};

/* "" if unknown. */
struct container_names {
	char container[CONTAINER_NAME_BYTES], pod[CONTAINER_NAME_BYTES],
		name_space[CONTAINER_NAME_BYTES];
};

/* --- parsers; each leaves alone the fields that it does not find */

/* Parses a file's name in /var/log/containers; returns false when it is not this container's. */
bool container_link_parse(const char *name, size_t len, const char *id,
			  struct container_names *out);
/* Parses a directory's name in /var/log/pods. */
bool pod_directory_parse(const char *name, size_t len, const char *pod_uid,
			 struct container_names *out);
/* Parses docker's config.v2.json, or the specification that runtimes get (OCI config.json). Returns
 * false when it is no JSON. */
bool container_config_parse(const char *text, size_t len, bool in_pod, struct container_names *out);
/* Parses podman's containers.json. */
bool container_list_parse(const char *text, size_t len, const char *id,
			  struct container_names *out);

/* --- cache */

struct container_entry;
struct container_cache {    /* zeroed = empty */
	struct map by_hash; /* of id and pod → index in all */
	VEC(struct container_entry *) all;
};
void container_cache_done(struct container_cache *c);

/* Returns the names of a container or pod; NULL when the place is in neither. root: the host's "/".
 * may_look: files may be read now; otherwise only cached names are used. Valid until the next
 * call. */
const struct container_names *container_names_get(struct container_cache *c, int root,
						  const struct cgroup_place *place, bool may_look,
						  uint64_t now_ns);

#endif
