/* Container ids in the texts of /proc/PID/cgroup that the runtimes in use make. */
#include "collect/container.h"
#include "unit.h"

#include <errno.h>
#include <unistd.h>

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define INNER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static const char *id_of(const char *text)
{
	static char id[CONTAINER_ID_LEN + 1];

	return container_id_parse(text, strlen(text), id) ? id : "";
}

START_TEST(runtimes)
{
	static const char *const inside[] = {
		"0::/docker/" ID "\n",
		"0::/system.slice/docker-" ID ".scope\n",
		"0::/kubepods/besteffort/pod6b1f1f1c-1111-2222-3333-444444444444/" ID,
		"0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1.slice/"
		"cri-containerd-" ID ".scope\n",
		"0::/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:" ID "\n",
		"0::/kubepods.slice/crio-" ID ".scope\n",
		"0::/machine.slice/libpod-" ID ".scope/container\n",
		"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope",
		"12:pids:/docker/" ID "\n11:memory:/docker/" ID
		"\n0::/system.slice/containerd.service\n",
		"3:name=systemd:/\n2:cpu:/ecs/task/" ID "\n1:rdma:/\n",
		"0::/docker/" ID "/system.slice/nginx.service\n",
	};

	for (size_t i = 0; i < sizeof inside / sizeof *inside; i++)
		ck_assert_str_eq(id_of(inside[i]), ID);
	ck_assert_str_eq(id_of("0::/docker/" ID "/docker/" INNER "\n"), INNER);
}
END_TEST

START_TEST(no_container)
{
	static const char *const outside[] = {
		"",
		"\n",
		"0::/",
		"0::/init.scope\n",
		"0::/user.slice/user-0.slice/session-1.scope\n",
		"0::/machine.slice/systemd-nspawn@deb.service/payload\n",
		"0::/machine.slice/libpod-conmon-" ID ".scope\n",
		"0::/docker/" ID "0\n",
		"0::/docker/a" ID "\n",
		"0::/docker/0123456789abcdef\n",
		"0::/docker/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF\n",
		"0::/docker/" ID ".slice\n",
	};

	for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
		ck_assert_str_eq(id_of(outside[i]), "");
}
END_TEST

START_TEST(of_processes)
{
	char id[CONTAINER_ID_LEN + 1] = "x";
	bool unified;

	ck_assert_int_eq(container_id_of(getpid(), id, &unified), 0);
	ck_assert_str_ne(id, "x");
	ck_assert_int_lt(container_id_of(INT32_MAX, id, &unified), 0);
}
END_TEST

UNIT_MAIN("container", runtimes, no_container, of_processes)
