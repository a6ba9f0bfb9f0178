// tier: test
/* Cgroup paths as runtimes and systemd make them: containers, pods, units. */
#include "collect/proc/cgroup_path.h"
#include "unit.h"

#include <unistd.h>

#define ID    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define INNER "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"
#define UID   "6b1f1f1c-1111-2222-3333-444444444444"
#define UID_  "6b1f1f1c_1111_2222_3333_444444444444"

static struct cgroup_place place;

static const struct cgroup_place *parse(const char *text)
{
	cgroup_place_parse(text, strlen(text), &place);
	return &place;
}

/* Checks the parts of a path: container id, container name, pod uid, unit, user unit. */
static void says(const char *text, const char *id, const char *container, const char *pod,
		 const char *unit, const char *user_unit)
{
	parse(text);
	ck_assert_msg(strcmp(place.container_id, id) == 0, "%s: %s", text, place.container_id);
	ck_assert_msg(strcmp(place.container, container) == 0, "%s: %s", text, place.container);
	ck_assert_msg(strcmp(place.pod_uid, pod) == 0, "%s: %s", text, place.pod_uid);
	ck_assert_msg(strcmp(place.unit, unit) == 0, "%s: unit %s", text, place.unit);
	ck_assert_msg(strcmp(place.user_unit, user_unit) == 0, "%s: user unit %s", text,
		      place.user_unit);
}

/* docker's drivers cgroupfs and systemd, containerd's and cri-o's (the kubelet's --cgroup-driver), podman as root and not, ECS. */
START_TEST(runtimes)
{
	says("0::/docker/" ID "\n", ID, "", "", "", "");
	says("0::/system.slice/docker-" ID ".scope\n", ID, "", "", "", "");
	says("0::/kubepods/besteffort/pod" UID "/" ID, ID, "", UID, "", "");
	says("0::/kubepods/pod" UID "/" ID "/inner\n", ID, "", UID, "", "");
	says("0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	     ".slice/cri-containerd-" ID ".scope\n",
	     ID, "", UID, "", "");
	says("0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope/container\n", ID, "",
	     UID, "", "");
	says("0::/system.slice/containerd.service/kubepods-burstable-pod" UID_
	     ".slice:cri-containerd:" ID "\n",
	     ID, "", UID, "", "");
	/* A pod from a file of the kubelet's: its uid is a hash. */
	says("0::/kubepods/burstable/pod0123456789abcdef0123456789abcdef/" ID "\n", ID, "",
	     "0123456789abcdef0123456789abcdef", "", "");
	says("0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	     ".slice/cri-containerd-" ID ".scope\n",
	     ID, "", UID, "", "");
	says("0::/machine.slice/libpod-" ID ".scope/container\n", ID, "", "", "", "");
	says("0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID ".scope", ID,
	     "", "", "", "");
	says("3:name=systemd:/\n2:cpu:/ecs/task/" ID "\n1:rdma:/\n", ID, "", "", "", "");
	says("0::/docker/" ID "/docker/" INNER "\n", INNER, "", "", "", "");
}
END_TEST

/* Names in paths: systemd-nspawn and machined (systemd.unit(5) for \x2d), LXC 3 and since 4. */
START_TEST(named)
{
	says("0::/machine.slice/systemd-nspawn@deb.service/payload\n", "", "deb", "", "", "");
	says("0::/machine.slice/systemd-nspawn@web\\x2d1.service/payload/system.slice/"
	     "nginx.service\n",
	     "", "web-1", "", "nginx.service", "");
	says("0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt/emulator\n", "",
	     "qemu-1-vm", "", "", "");
	says("0::/lxc.payload.web/system.slice/cron.service\n", "", "web", "", "cron.service", "");
	says("11:pids:/lxc/web\n1:name=systemd:/lxc/web/init.scope\n0::/\n", "", "web", "",
	     "init.scope", "");
	says("0::/machine.slice/machine-x\\x00y.scope\n", "", "x\\x00y", "", "", "");
}
END_TEST

START_TEST(units)
{
	says("0::/system.slice/nginx.service\n", "", "", "", "nginx.service", "");
	says("0::/system.slice/system-getty.slice/getty@tty1.service\n", "", "", "",
	     "getty@tty1.service", "");
	says("0::/system.slice/dev-disk-by\\x2dlabel-x.swap\n", "", "", "",
	     "dev-disk-by\\x2dlabel-x.swap", "");
	says("0::/init.scope\n", "", "", "", "init.scope", "");
	says("0::/system.slice/_cpu.service\n", "", "", "", "cpu.service", "");
	says("0::/system.slice/a.service/payload/worker\n", "", "", "", "a.service", "");
	says("0::/user.slice/user-0.slice/session-17.scope\n", "", "", "", "user-0.slice", "");
	says("0::/user.slice/user-1000.slice/user@1000.service/app.slice/"
	     "app-gnome-firefox-4242.scope\n",
	     "", "", "", "user@1000.service", "app-gnome-firefox.scope");
	says("0::/user.slice/user-1000.slice/user@1000.service/app.slice/"
	     "app-org.kde.konsole@1f2e.service\n",
	     "", "", "", "user@1000.service", "app-org.kde.konsole@.service");
	says("0::/user.slice/user-1000.slice/user@1000.service/session.slice/dbus.service\n", "",
	     "", "", "user@1000.service", "dbus.service");
	says("0::/background.slice\n", "", "", "", "background.slice", "");
	says("0::/docker/" ID "/system.slice/nginx.service\n", ID, "", "", "nginx.service", "");
	/* seen from within a cgroup namespace (cgroup_namespaces(7)) */
	says("0::/../../system.slice/ssh.service\n", "", "", "", "ssh.service", "");
}
END_TEST

/* Versions 1 and 2 side by side: each hierarchy is used. */
START_TEST(hybrid)
{
	says("12:pids:/system.slice/x.service\n1:name=systemd:/system.slice/x.service\n"
	     "0::/system.slice/x.service\n",
	     "", "", "", "x.service", "");
	says("4:memory:/system.slice/not-this.service\n1:name=systemd:/system.slice/x.service\n0::/"
	     "\n",
	     "", "", "", "x.service", "");
	says("12:pids:/docker/" ID "\n11:memory:/docker/" ID
	     "\n0::/system.slice/containerd.service\n",
	     ID, "", "", "containerd.service", "");
}
END_TEST

START_TEST(nothing)
{
	static const char *const none[] = {
		"",
		"\n",
		"0::/",
		"0:",
		":::",
		"0::/docker/" ID "0\n",
		"0::/docker/a" ID "\n",
		"0::/docker/0123456789abcdef\n",
		"0::/docker/0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF\n",
		"0::/kubepods/podXYZ/\n",
		"0::/work\n",
		"0::/.service\n",
		"0::/kubepods.slice/kubepods-besteffort.slice\n",
	};

	for (size_t i = 0; i < sizeof none / sizeof *none; i++)
		says(none[i], "", "", "", "", "");
	ck_assert_str_eq(parse("0::/machine.slice/libpod-conmon-" ID ".scope\n")->container_id, "");
}
END_TEST

/* Names longer than systemd allows are truncated, without overflow. */
START_TEST(long_names)
{
	char text[2000] = "0::/system.slice/";

	memset(text + strlen(text), 'n', 1500);
	strncat(text, ".service\n", sizeof text - strlen(text) - 1);
	ck_assert_uint_eq(strlen(parse(text)->unit), CGROUP_NAME_BYTES - 1);
	memcpy(text, "0::/lxc.payload.n", strlen("0::/lxc.payload.n"));
	ck_assert_uint_eq(strlen(parse(text)->container), CGROUP_NAME_BYTES - 1);
}
END_TEST

START_TEST(for_processes)
{
	bool unified;

	memset(&place, 'x', sizeof place);
	ck_assert_int_eq(cgroup_place_of(getpid(), &place, &unified), 0);
	ck_assert_uint_lt(strlen(place.unit), sizeof place.unit);
	ck_assert_int_lt(cgroup_place_of(INT32_MAX, &place, &unified), 0);
}
END_TEST

UNIT_MAIN("cgroup_path", runtimes, named, units, hybrid, nothing, long_names, for_processes)
