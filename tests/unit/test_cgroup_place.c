/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "target/cgroup_place.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define ID "34dc0b5e626f2c5c4c5170e34b10e7654ce36f0fcd532739f4445baabea03376"
#define INNER "4f797c539e6c745de61a93ca3ff892358ecbcaccd8414d5db545c38428142970"
#define UID "74c13223-5a00-11e9-b385-42010a80018d"
#define UID_ "74c13223_5a00_11e9_b385_42010a80018d"
#define STATIC_UID "0a1b2c3d4e5f60718293a4b5c6d7e8f9"

struct row {
	const char *path;
	const char *slice, *unit, *user_unit, *container, *runtime, *pod;
};

static void check(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct cgroup_place place;

		cgroup_place_find(rows[i].path, &place);
		assert_string_equal(place.slice, rows[i].slice);
		assert_string_equal(place.unit, rows[i].unit);
		assert_string_equal(place.user_unit, rows[i].user_unit);
		assert_string_equal(place.container, rows[i].container);
		assert_string_equal(place.runtime, rows[i].runtime);
		assert_string_equal(place.pod, rows[i].pod);
	}
}
#define CHECK(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

static void units_and_slices_are_systemds(void **state)
{
	static const struct row rows[] = {
		{ "/", "", "", "", "", "", "" },
		{ "", "", "", "", "", "", "" },
		{ "/init.scope", "", "init.scope", "", "", "", "" },
		{ "/system.slice/nginx.service", "system.slice", "nginx.service", "", "", "", "" },
		{ "/system.slice/system-getty.slice/getty@tty1.service", "system-getty.slice",
		  "getty@tty1.service", "", "", "", "" },
		/* A unit's own groups are not units, and a mount is one. */
		{ "/system.slice/db.service/workers.slice/x.service", "system.slice", "db.service",
		  "", "", "", "" },
		{ "/system.slice/dev-hugepages.mount", "system.slice", "dev-hugepages.mount", "",
		  "", "", "" },
		/* Escaped: a name that the kernel could have. */
		{ "/system.slice/_cpu.service", "system.slice", "cpu.service", "", "", "", "" },
		{ "/user.slice/user-1000.slice/session-3.scope", "user-1000.slice",
		  "session-3.scope", "", "", "", "" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-firefox.service",
		  "user-1000.slice", "user@1000.service", "app-firefox.service", "", "", "" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/"
		  "app-org.gnome.Terminal.slice/vte-spawn-1.scope",
		  "user-1000.slice", "user@1000.service", "vte-spawn-1.scope", "", "", "" },
		{ "/user.slice/user-1000.slice/user@1000.service/init.scope", "user-1000.slice",
		  "user@1000.service", "init.scope", "", "", "" },
		{ "/.slice/.service", "", "", "", "", "", "" },
	};

	(void)state;
	CHECK(rows);
}

static void containers_are_told_by_their_runtimes_names(void **state)
{
	static const struct row rows[] = {
		{ "/docker/" ID, "", "", "", ID, "docker", "" },
		{ "/system.slice/docker-" ID ".scope", "system.slice", "docker-" ID ".scope", "",
		  ID, "docker", "" },
		{ "/system.slice/nerdctl-" ID ".scope", "system.slice", "nerdctl-" ID ".scope", "",
		  ID, "containerd", "" },
		/* nerdctl with cgroupfs: /NAMESPACE/ID; ECS: /ecs/TASK/ID. */
		{ "/default/" ID, "", "", "", ID, "", "" },
		{ "/ecs/0aa1b2c3/" ID, "", "", "", ID, "", "" },
		{ "/machine.slice/libpod-" ID ".scope/container", "machine.slice",
		  "libpod-" ID ".scope", "", ID, "podman", "" },
		{ "/machine.slice/libpod-conmon-" ID ".scope", "machine.slice",
		  "libpod-conmon-" ID ".scope", "", "", "", "" },
		{ "/libpod_parent/libpod-" ID, "", "", "", ID, "podman", "" },
		{ "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID
		  ".scope/container",
		  "user-1000.slice", "user@1000.service", "libpod-" ID ".scope", ID, "podman", "" },
		/* --cgroups=split, from a unit. */
		{ "/system.slice/web.service/libpod-payload-" ID, "system.slice", "web.service", "",
		  ID, "podman", "" },
		{ "/lxc/web1", "", "", "", "web1", "lxc", "" },
		{ "/lxc.payload.web1/system.slice/sshd.service", "system.slice", "sshd.service", "",
		  "web1", "lxc", "" },
		/* The innermost one, and what no id is. */
		{ "/docker/" ID "/docker/" INNER, "", "", "", INNER, "docker", "" },
		{ "/docker/34dc0b5e626f", "", "", "", "", "", "" },
		{ "/docker/" ID "0", "", "", "", "", "", "" },
		{ "/system.slice/docker.service", "system.slice", "docker.service", "", "", "",
		  "" },
	};

	(void)state;
	CHECK(rows);
}

static void pods_are_told_with_both_drivers(void **state)
{
	static const struct row rows[] = {
		/* cgroupfs, with each class of service */
		{ "/kubepods/besteffort/pod" UID "/" ID, "", "", "", ID, "", UID },
		{ "/kubepods/burstable/pod" UID "/" ID, "", "", "", ID, "", UID },
		{ "/kubepods/pod" UID "/" ID, "", "", "", ID, "", UID },
		{ "/kubepods/burstable/pod" STATIC_UID "/" ID, "", "", "", ID, "", STATIC_UID },
		{ "/kubepods/burstable/pod" UID "/crio-" ID, "", "", "", ID, "cri-o", UID },
		/* systemd */
		{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
		  ".slice/cri-containerd-" ID ".scope",
		  "kubepods-besteffort-pod" UID_ ".slice", "cri-containerd-" ID ".scope", "", ID,
		  "containerd", UID },
		{ "/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope",
		  "kubepods-pod" UID_ ".slice", "crio-" ID ".scope", "", ID, "cri-o", UID },
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC_UID
		  ".slice/docker-" ID ".scope",
		  "kubepods-burstable-pod" STATIC_UID ".slice", "docker-" ID ".scope", "", ID,
		  "docker", STATIC_UID },
		/* kind: a node that is a container, and its kubelet's own root */
		{ "/docker/" INNER "/kubelet/kubepods/besteffort/pod" UID "/" ID, "", "", "", ID,
		  "", UID },
		{ "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
		  ".slice/cri-containerd-" ID ".scope",
		  "kubelet-kubepods-pod" UID_ ".slice", "cri-containerd-" ID ".scope", "", ID,
		  "containerd", UID },
		/* runc without systemd, in containerd's own unit */
		{ "/system.slice/containerd.service/kubepods-burstable-pod" UID_
		  ".slice:cri-containerd:" ID,
		  "system.slice", "containerd.service", "", ID, "containerd", UID },
		/* no pods */
		{ "/podinfo/podman", "", "", "", "", "", "" },
		{ "/kubepods/podXXXXXXXX-5a00-11e9-b385-42010a80018d", "", "", "", "", "", "" },
		{ "/a-pod.slice/-pod.slice", "-pod.slice", "", "", "", "", "" },
	};

	(void)state;
	CHECK(rows);
}

static void names_of_any_length_are_cut(void **state)
{
	char path[5000] = "/system.slice/";
	struct cgroup_place place;
	size_t len = strlen(path);

	(void)state;
	memset(path + len, 'x', 4000);
	strcpy(path + len + 4000, ".service");
	cgroup_place_find(path, &place);
	assert_int_equal(strlen(place.unit), CGROUP_NAME_LEN - 1);
}

static void the_path_is_taken_of_the_hierarchy_that_says_most(void **state)
{
	static const struct {
		const char *text, *path;
		int r;
	} rows[] = {
		{ "0::/system.slice/a.service\n", "/system.slice/a.service", 0 },
		{ "0::/\n", "/", 0 },
		/* hybrid, with systemd in version 2 or in its own; Docker's without either */
		{ "9:memory:/a\n1:name=systemd:/system.slice/a.service\n0::/\n",
		  "/system.slice/a.service", 0 },
		{ "9:memory:/docker/" ID "\n1:name=systemd:/\n0::/\n", "/docker/" ID, 0 },
		{ "9:memory:/docker/" ID "\n2:cpu,cpuacct:/x\n", "/docker/" ID, 0 },
		{ "4:memory:/a:b c\n", "/a:b c", 0 },
		{ "4:memory:/\n", "/", 0 },
		{ "2:cpu,cpuacct:/x\n", "", -ENOENT },
		{ "garbage", "", -ENOENT },
		{ "", "", -ENOENT },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_strbuf_ struct strbuf path = {};

		assert_int_equal(cgroup_place_path(rows[i].text, &path), rows[i].r);
		assert_string_equal(strbuf_str(&path), rows[i].path);
	}
}

static void our_own_place_can_be_read(void **state)
{
	_cleanup_strbuf_ struct strbuf path = {};
	struct cgroup_place place;

	(void)state;
	assert_int_equal(cgroup_place_of_process(getpid(), &path, &place), 0);
	assert_int_equal(*strbuf_str(&path), '/');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_and_slices_are_systemds),
		cmocka_unit_test(containers_are_told_by_their_runtimes_names),
		cmocka_unit_test(pods_are_told_with_both_drivers),
		cmocka_unit_test(names_of_any_length_are_cut),
		cmocka_unit_test(the_path_is_taken_of_the_hierarchy_that_says_most),
		cmocka_unit_test(our_own_place_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
