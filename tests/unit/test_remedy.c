/* Ways to CAP_SYS_PTRACE: sudo where it can work, and the lines for each kind of container. */
#include "refusal.h"

#include "base/shell.h"

static void another_user_is_told_to_use_sudo(void **state)
{
	struct dt_evidence e = evidence();

	(void)state;
	make_target_root(&e);
	says(&e, DT_REFUSAL_OTHER_USER, "owned by root",
	     "process 12 belongs to root (uid 0) and you are alice (uid 1000) without CAP_SYS_PTRACE",
	     "Run it as root:\n    sudo darter dump 12");
	e.self.sudo_finds = false;
	e.self.user[0] = '\0';
	e.target.user[0] = '\0';
	says(&e, DT_REFUSAL_OTHER_USER, "owned by uid 0",
	     "process 12 belongs to uid 0 and you are uid 1000 without CAP_SYS_PTRACE",
	     "Run it as root:\n    sudo env \"PATH=$PATH\" darter dump 12");
	e.self.sudo = false;
	e.self.command[0] = '\0';
	says(&e, DT_REFUSAL_OTHER_USER, "owned by uid 0",
	     "process 12 belongs to uid 0 and you are uid 1000 without CAP_SYS_PTRACE",
	     "Run it as root:\n    darter ...");
}

static void sudo_is_not_proposed_where_it_cannot_work(void **state)
{
	struct dt_evidence e = evidence();

	(void)state;
	make_target_root(&e);
	e.self.no_new_privs = true;
	e.self.runtime = DT_RUNTIME_KUBERNETES;
	says(
	    &e, DT_REFUSAL_OTHER_USER, "owned by root",
	    "process 12 belongs to root (uid 0) and you are alice (uid 1000) without CAP_SYS_PTRACE",
	    "This shell may not gain rights (no_new_privs is set), so sudo cannot work here (allowPrivilegeEscalation: "
	    "false). From an ordinary root shell:\n    darter dump 12");
	e.self.runtime = DT_RUNTIME_NONE;
	e.self.bounding &= ~TRACE;
	says(&e, DT_REFUSAL_OTHER_USER, "owned by root",
	     "process 12 belongs to root (uid 0) and you are alice (uid 1000) without CAP_SYS_PTRACE",
	     "CAP_SYS_PTRACE was taken away from this shell for good (it is not in the bounding set), so sudo does not "
	     "bring it back. From an ordinary root shell:\n    darter dump 12");
}

static void root_in_docker_gets_the_run_line(void **state)
{
	struct dt_evidence e = evidence();
	const char *message = "process 12 belongs to alice (uid 1000) and you are root (uid 0) without CAP_SYS_PTRACE";

	(void)state;
	make_root(&e, 0xa80425fb);
	e.self.runtime = DT_RUNTIME_DOCKER;
	strcpy(e.self.host, "3f4e5a6b7c8d");
	says(&e, DT_REFUSAL_ROOT_NO_CAP, "needs CAP_SYS_PTRACE", message,
	     "This container was started without CAP_SYS_PTRACE. Start it with:\n"
	     "    docker run --cap-add SYS_PTRACE ...\n"
	     "or in the compose file:\n"
	     "    services:\n"
	     "      NAME:\n"
	     "        cap_add: [\"SYS_PTRACE\"]\n"
	     "or, without a restart, from the host:\n"
	     "    docker exec --privileged --user 0 3f4e5a6b7c8d darter dump 12");
	e.self.runtime = DT_RUNTIME_PODMAN;
	strcpy(e.self.host, "build-box");
	says(&e, DT_REFUSAL_ROOT_NO_CAP, "needs CAP_SYS_PTRACE", message,
	     "This container was started without CAP_SYS_PTRACE. Start it with:\n"
	     "    podman run --cap-add SYS_PTRACE ...\n"
	     "or in the compose file:\n"
	     "    services:\n"
	     "      NAME:\n"
	     "        cap_add: [\"SYS_PTRACE\"]\n"
	     "or, without a restart, from the host:\n"
	     "    podman exec --privileged --user 0 CONTAINER darter dump 12");
}

static void root_in_a_pod_gets_the_yaml(void **state)
{
	struct dt_evidence e = evidence();

	(void)state;
	make_root(&e, 0);
	e.self.runtime = DT_RUNTIME_KUBERNETES;
	strcpy(e.self.host, "worker-0");
	says(&e, DT_REFUSAL_ROOT_NO_CAP, "needs CAP_SYS_PTRACE",
	     "process 12 belongs to alice (uid 1000) and you are root (uid 0) without CAP_SYS_PTRACE",
	     "This container was started without CAP_SYS_PTRACE. Add to it in the pod's description:\n"
	     "    securityContext:\n"
	     "      capabilities:\n"
	     "        add: [\"SYS_PTRACE\"]\n"
	     "A container beside the program needs that too, and in the pod's spec:\n"
	     "    shareProcessNamespace: true\n"
	     "or, without a restart, from an image that has darter:\n"
	     "    kubectl debug -it worker-0 --profile=general --image=IMAGE --target=CONTAINER");
}

static void a_user_in_a_container_must_become_root_too(void **state)
{
	struct dt_evidence e = evidence();
	const char *message = "process 12 belongs to root (uid 0) and you are alice (uid 1000) without CAP_SYS_PTRACE";

	(void)state;
	make_target_root(&e);
	e.self.bounding = 0;
	e.self.runtime = DT_RUNTIME_KUBERNETES;
	e.self.host[0] = '\0';
	says(&e, DT_REFUSAL_OTHER_USER, "owned by root", message,
	     "This container was started without CAP_SYS_PTRACE. Add to it in the pod's description:\n"
	     "    securityContext:\n"
	     "      capabilities:\n"
	     "        add: [\"SYS_PTRACE\"]\n"
	     "      runAsUser: 0\n"
	     "A container beside the program needs that too, and in the pod's spec:\n"
	     "    shareProcessNamespace: true\n"
	     "or, without a restart, from an image that has darter:\n"
	     "    kubectl debug -it POD --profile=general --image=IMAGE --target=CONTAINER");
	e.self.runtime = DT_RUNTIME_DOCKER;
	says(&e, DT_REFUSAL_OTHER_USER, "owned by root", message,
	     "This container was started without CAP_SYS_PTRACE. Start it with:\n"
	     "    docker run --cap-add SYS_PTRACE --user 0 ...\n"
	     "or in the compose file:\n"
	     "    services:\n"
	     "      NAME:\n"
	     "        cap_add: [\"SYS_PTRACE\"]\n"
	     "        user: \"0\"\n"
	     "or, without a restart, from the host:\n"
	     "    docker exec --privileged --user 0 CONTAINER darter dump 12");
}

static void other_containers_are_named_too(void **state)
{
	struct dt_evidence e = evidence();
	const char *message = "process 12 belongs to alice (uid 1000) and you are root (uid 0) without CAP_SYS_PTRACE";

	(void)state;
	make_root(&e, 0);
	e.self.runtime = DT_RUNTIME_LXC;
	says(&e, DT_REFUSAL_ROOT_NO_CAP, "needs CAP_SYS_PTRACE", message,
	     "this container was started without CAP_SYS_PTRACE: take sys_ptrace out of lxc.cap.drop in its "
	     "configuration, or run darter on the host");
	e.self.runtime = DT_RUNTIME_OTHER;
	says(&e, DT_REFUSAL_ROOT_NO_CAP, "needs CAP_SYS_PTRACE", message,
	     "this container was started without CAP_SYS_PTRACE: start it with that capability, or run darter on the "
	     "host");
}

static void arguments_are_quoted_for_a_shell(void **state)
{
	struct dt_buf out = DT_BUF_INIT;

	(void)state;
	assert_true(dt_shell_quote(&out, "--name=a/b_c-1.2"));
	assert_string_equal(out.data, "--name=a/b_c-1.2");
	dt_buf_clear(&out);
	assert_true(dt_shell_quote(&out, "it's $HOME; rm"));
	assert_string_equal(out.data, "'it'\\''s $HOME; rm'");
	dt_buf_clear(&out);
	assert_true(dt_shell_quote(&out, ""));
	assert_string_equal(out.data, "''");
	dt_buf_clear(&out);
	assert_false(dt_shell_quote(&out, "a\033[31m"));
	assert_string_equal(out.data, "");
	dt_buf_release(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(another_user_is_told_to_use_sudo),
	    cmocka_unit_test(sudo_is_not_proposed_where_it_cannot_work),
	    cmocka_unit_test(root_in_docker_gets_the_run_line),
	    cmocka_unit_test(root_in_a_pod_gets_the_yaml),
	    cmocka_unit_test(a_user_in_a_container_must_become_root_too),
	    cmocka_unit_test(other_containers_are_named_too),
	    cmocka_unit_test(arguments_are_quoted_for_a_shell),
	};

	return cmocka_run_group_tests_name("remedy", tests, NULL, NULL);
}
