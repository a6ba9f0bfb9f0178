// tier: test
/* Container names from the files of runtimes and the kubelet, in the same layout under a test directory. */
#include "collect/proc/cgroup_path.h"
#include "collect/proc/container_names.h"
#include "shell.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OTHER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID   "6b1f1f1c-1111-2222-3333-444444444444"

#define S 1000000000ull

static char dir[32];
static int root;

static void setup(void)
{
	temp_dir(dir);
	root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void teardown(void)
{
	close(root);
	shell_do("rm -rf %s", dir);
}

static void put_file(const char *path, const char *text)
{
	char full[300];

	snprintf(full, sizeof full, "%s/%s", dir, path);
	shell_do("mkdir -p $(dirname '%s')", full);
	FILE *f = fopen(full, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

static struct cgroup_place in(const char *id, const char *pod)
{
	struct cgroup_place p = { 0 };

	memcpy(p.container_id, id, strlen(id) + 1);
	memcpy(p.pod_uid, pod, strlen(pod) + 1);
	return p;
}

static void is_called(const char *id, const char *pod_uid, const char *container, const char *pod,
		      const char *name_space)
{
	struct container_cache cache = { 0 };
	struct cgroup_place place = in(id, pod_uid);
	const struct container_names *n = container_names_get(&cache, root, &place, true, 1);

	ck_assert_ptr_nonnull(n);
	ck_assert_str_eq(n->container, container);
	ck_assert_str_eq(n->pod, pod);
	ck_assert_str_eq(n->name_space, name_space);
	container_cache_done(&cache);
}

/* kubelet: /var/log/containers/<pod>_<namespace>_<container>-<id>.log, pkg/kubelet/kuberuntime/legacy.go. */
START_TEST(links_of_the_kubelet)
{
	setup();
	put_file("var/log/containers/web-5d9c7-x2x4z_shop_front-" OTHER ".log", "");
	put_file("var/log/containers/redis-0_data_redis-" ID ".log", "");
	is_called(ID, UID, "redis", "redis-0", "data");
	is_called(OTHER, UID, "front", "web-5d9c7-x2x4z", "shop");
	is_called("", UID, "", "", "");
	teardown();
}
END_TEST

/* A pod's sandbox has no link: its directory names the pod (kuberuntime/helpers.go, BuildPodLogsDirectory). */
START_TEST(directories_of_pods)
{
	setup();
	put_file("var/log/pods/data_redis-0_" UID "/redis/0.log", "");
	put_file("var/log/pods/data_redis-0_6b1f1f1c-1111-2222-3333-444444444445/redis/0.log", "");
	is_called(ID, UID, "", "redis-0", "data");
	teardown();
}
END_TEST

/* moby: daemon/container's config.v2.json; cri-dockerd's labels are those of the kubelet. */
START_TEST(docker)
{
	setup();
	put_file("var/lib/docker/containers/" ID "/config.v2.json",
		 "{\"StreamConfig\":{},\"Config\":{\"Hostname\":\"x\",\"Name\":\"no\",\"Labels\":{"
		 "\"io.kubernetes.pod.name\":\"spoofed\"}},\"ID\":\"" ID
		 "\",\"Name\":\"/db_1\",\"MountPoints\":{\"Name\":\"/not\"}}");
	is_called(ID, "", "db_1", "", "");
	is_called(ID, UID, "db_1", "spoofed", ""); /* in a pod the kubelet's name counts */
	put_file(
		"var/lib/docker/containers/" OTHER "/config.v2.json",
		"{\"Name\":\"/k8s_redis_redis-0_data\",\"Config\":{\"Labels\":{"
		"\"io.kubernetes.container.name\":\"redis\",\"io.kubernetes.pod.name\":\"redis-0\","
		"\"io.kubernetes.pod.namespace\":\"data\"}}}");
	is_called(OTHER, UID, "redis", "redis-0", "data");
	teardown();
}
END_TEST

/* containerd: pkg/cri/annotations; nerdctl: pkg/labels; cri-o: pkg/annotations. */
START_TEST(annotations)
{
	setup();
	put_file("run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID "/config.json",
		 "{\"ociVersion\":\"1.1.0\",\"annotations\":{"
		 "\"io.kubernetes.cri.container-name\":\"redis\","
		 "\"io.kubernetes.cri.sandbox-name\":\"redis-0\","
		 "\"io.kubernetes.cri.sandbox-namespace\":\"data\"}}");
	is_called(ID, UID, "redis", "redis-0", "data");
	put_file("run/containerd/io.containerd.runtime.v2.task/default/" OTHER "/config.json",
		 "{\"annotations\":{\"nerdctl/name\":\"shell\"}}");
	is_called(OTHER, "", "shell", "", "");
	shell_do("rm -rf %s/run", dir);
	put_file("run/containers/storage/overlay-containers/" ID "/userdata/config.json",
		 "{\"annotations\":{\"io.kubernetes.container.name\":\"r2\","
		 "\"io.kubernetes.pod.name\":\"p2\",\"io.kubernetes.pod.namespace\":\"n2\"}}");
	is_called(ID, UID, "r2", "p2", "n2");
	teardown();
}
END_TEST

/* containers/storage: containers.json */
START_TEST(podman)
{
	setup();
	put_file("var/lib/containers/storage/overlay-containers/containers.json",
		 "[{\"id\":\"" OTHER "\",\"names\":[\"other\"],\"image\":\"i\"},"
		 "{\"names\":[\"web\",\"second\"],\"id\":\"" ID
		 "\",\"metadata\":\"{\\\"names\\\":1}\",\"flags\":{\"id\":[]}}]");
	is_called(ID, "", "web", "", "");
	is_called(OTHER, "", "other", "", "");
	teardown();
}
END_TEST

/* Looked for again after some seconds, four times in all, and remembered when found. */
START_TEST(late_links)
{
	struct container_cache cache = { 0 };
	struct cgroup_place place = in(ID, UID);

	setup();
	ck_assert_str_eq(container_names_get(&cache, root, &place, true, S)->pod, "");
	put_file("var/log/containers/p_n_c-" ID ".log", "");
	ck_assert_str_eq(container_names_get(&cache, root, &place, true, 2 * S)->pod, "");
	ck_assert_str_eq(container_names_get(&cache, root, &place, false, 9 * S)->pod, "");
	ck_assert_str_eq(container_names_get(&cache, root, &place, true, 9 * S)->pod, "p");
	shell_do("rm -rf %s/var", dir);
	ck_assert_str_eq(container_names_get(&cache, root, &place, true, 99 * S)->container, "c");

	place = in(OTHER, "");
	for (uint64_t i = 0; i < 4; i++)
		container_names_get(&cache, root, &place, true, (100 + 10 * i) * S);
	put_file("var/lib/docker/containers/" OTHER "/config.v2.json", "{\"Name\":\"/late\"}");
	ck_assert_str_eq(container_names_get(&cache, root, &place, true, 999 * S)->container, "");
	place = in("", "");
	ck_assert_ptr_null(container_names_get(&cache, root, &place, true, S));
	container_cache_done(&cache);
	teardown();
}
END_TEST

/* More containers than are remembered, and files that are not regular or not JSON. */
START_TEST(hostile)
{
	struct container_cache cache = { 0 };
	struct cgroup_place place = in(ID, "");

	setup();
	for (int i = 0; i < CONTAINER_NAMES_MAX + 10; i++) {
		snprintf(place.container_id, sizeof place.container_id, "%064x", i);
		container_names_get(&cache, root, &place, false, 1);
		ck_assert_uint_le(cache.all.n, CONTAINER_NAMES_MAX);
	}
	container_cache_done(&cache);
	shell_do("mkdir -p %s/var/lib/docker/containers/" ID " %s/var/log", dir, dir);
	shell_do("mkfifo %s/var/lib/docker/containers/" ID "/config.v2.json %s/var/log/pods", dir,
		 dir);
	is_called(ID, UID, "", "", "");
	put_file("var/lib/docker/containers/" OTHER "/config.v2.json", "{\"Name\":\"/cut");
	is_called(OTHER, "", "", "", "");
	teardown();
}
END_TEST

UNIT_MAIN("container_names", links_of_the_kubelet, directories_of_pods, docker, annotations, podman,
	  late_links, hostile)
