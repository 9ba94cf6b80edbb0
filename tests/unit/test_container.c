/* Containers and pods by the names of their cgroups. */
#include "unit.h"

#include "base/util.h"
#include "proc/proc.h"

#define ID  "3f4e1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d5e6f708192a3b4c5d6e7"
#define ID2 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD "12345678-90ab-cdef-1234-567890abcdef"

static const struct {
	const char *cgroup, *expected;
} cases[] = {
    /* no container */
    {"", NULL},
    {"0::/\n", NULL},
    {"0::/init.scope\n", NULL},
    {"0::/user.slice/user-1000.slice/session-2.scope\n", NULL},
    {"0::/system.slice/docker.service\n", NULL},
    {"0::/system.slice/libpod-conmon-" ID ".scope\n", NULL},
    {"0::/machine.slice/machine-qemu\\x2d1\\x2dvm.scope\n", NULL},
    {"0::/system.slice/docker-" ID "0.scope\n", NULL},
    {"nonsense\n0\n:\n::\n", NULL},
    /* plain runtimes, both versions of cgroups */
    {"0::/system.slice/docker-" ID ".scope\n", "docker 3f4e1a2b3c4d"},
    {"0::/docker/" ID "\n", "docker 3f4e1a2b3c4d"},
    {"12:cpu,cpuacct:/\n11:memory:/docker/" ID "\n1:name=systemd:/docker/" ID "\n", "docker 3f4e1a2b3c4d"},
    {"0::/docker/" ID "/system.slice/cron.service", "docker 3f4e1a2b3c4d"},
    {"0::/machine.slice/libpod-" ID ".scope/container\n", "podman 3f4e1a2b3c4d"},
    {"0::/libpod_parent/libpod-" ID "\n", "podman 3f4e1a2b3c4d"},
    {"0::/system.slice/cri-containerd-" ID ".scope\n", "containerd 3f4e1a2b3c4d"},
    {"0::/actions_job/" ID "\n", "container 3f4e1a2b3c4d"},
    {"0::/ecs/0123456789abcdef0123456789abcdef/" ID "\n", "ecs 3f4e1a2b3c4d"},
    {"0::/ecs/0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef-1234567\n", "ecs 0123456789ab"},
    /* a container in a container */
    {"0::/docker/" ID2 "/docker/" ID "\n", "docker 3f4e1a2b3c4d"},
    /* seen from inside another cgroup namespace */
    {"0::/../docker-" ID ".scope\n", "docker 3f4e1a2b3c4d"},
    {"0::/../..\n", NULL},
    /* Kubernetes */
    {"0::/kubepods/burstable/pod" POD "/" ID "\n", "pod " POD " container 3f4e1a2b3c4d"},
    {"0::/kubepods.slice/kubepods-burstable.slice/"
     "kubepods-burstable-pod12345678_90ab_cdef_1234_567890abcdef.slice/cri-containerd-" ID ".scope\n",
     "pod " POD " container 3f4e1a2b3c4d"},
    {"0::/kubepods.slice/kubepods-pod12345678_90ab_cdef_1234_567890abcdef.slice/crio-" ID ".scope\n",
     "pod " POD " container 3f4e1a2b3c4d"},
    {"1:name=systemd:/system.slice/containerd.service/"
     "kubepods-besteffort-pod12345678_90ab_cdef_1234_567890abcdef.slice:cri-containerd:" ID "\n",
     "pod " POD " container 3f4e1a2b3c4d"},
    {"0::/kubepods/pod" POD "\n", "pod " POD},
    {"0::/kubepods/pod0123456789abcdef0123456789abcdef/" ID "\n",
     "pod 0123456789abcdef0123456789abcdef container 3f4e1a2b3c4d"},
    {"0::/docker/" ID2 "/kubelet/kubepods/pod" POD "\n", "pod " POD},
    {"2:cpu:/docker/" ID2 "\n1:memory:/kubepods/pod" POD "/" ID "\n", "pod " POD " container 3f4e1a2b3c4d"},
    /* machines */
    {"0::/lxc/web-1\n", "lxc web-1"},
    {"0::/lxc/web-1/system.slice/ssh.service\n", "lxc web-1"},
    {"0::/lxc.payload.web-1/init.scope\n", "lxc web-1"},
    {"0::/lxc.monitor.web-1\n", NULL},
    {"0::/machine.slice/machine-my\\x2dbox.scope/payload\n", "nspawn my-box"},
    {"0::/machine.slice/systemd-nspawn@box.service/payload\n", "nspawn box"},
    {"0::/lxc/a\033[31m\\x0ab\n", "lxc a?[31m?b"},
};

static void names_tell_the_container(void **state)
{
	struct dt_arena arena;

	(void)state;
	dt_arena_init(&arena, 0);
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		const char *found = dt_container_parse(cases[i].cgroup, &arena);

		if (cases[i].expected) {
			assert_non_null(found);
			assert_string_equal(found, cases[i].expected);
		} else {
			assert_null(found);
		}
	}
	dt_arena_release(&arena);
}

static void long_names_are_cut(void **state)
{
	struct dt_buf text = DT_BUF_INIT;
	struct dt_arena arena;
	const char *found;

	(void)state;
	dt_arena_init(&arena, 0);
	dt_buf_puts(&text, "0::/lxc/");
	for (int i = 0; i < 10000; i++)
		dt_buf_putc(&text, 'x');
	found = dt_container_parse(text.data, &arena);
	assert_non_null(found);
	assert_int_equal(strlen(found), strlen("lxc ") + 64);
	dt_buf_release(&text);
	dt_arena_release(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(names_tell_the_container),
	    cmocka_unit_test(long_names_are_cut),
	};

	return cmocka_run_group_tests_name("container", tests, NULL, NULL);
}
