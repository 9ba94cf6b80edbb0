/* What is said of processes that may not be read. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/refused.h"
#include "lib/process_list.h"

#define SUDO   "Run it as root:\n    sudo darter ps"
#define OTHER  SUDO "\nor lift the rule:\n    sudo sysctl kernel.yama.ptrace_scope=0"
#define POD    "Add to it in the pod's description:\n    securityContext:\n      capabilities:"
#define MODULE "The kernel's log may name it."

static const struct dt_process processes[] = {
    {.pid = 1, .code = DT_EPERMISSION, .reason = "owned by root", .message = "process 1 belongs to root", .hint = SUDO},
    {.pid = 2},
    {.pid = 3, .code = DT_EPERMISSION, .reason = "Yama scope 1", .message = "process 3 is yours, but", .hint = OTHER},
    {.pid = 4, .code = DT_EPERMISSION, .reason = "owned by root", .message = "process 4 belongs to root", .hint = SUDO},
    {.pid = 5, .code = DT_EUNSUPPORTED, .reason = "too old", .message = "process 5 is too old", .hint = SUDO},
    {.pid = 6, .code = DT_ERUNTIME, .reason = "its memory does not answer"},
    {.pid = 7, .code = DT_EPERMISSION, .reason = "needs CAP_SYS_PTRACE", .message = "process 7", .hint = POD},
    {.pid = 8, .code = DT_EPERMISSION, .reason = "refused", .message = "process 8", .hint = MODULE},
    {.pid = 9, .code = DT_EPERMISSION, .reason = "refused", .message = "process 9"},
};

/* What comes to stderr. */
static void told(const struct dt_common *common, size_t count, char *text, size_t size)
{
	struct dt_process_list *list = dt_process_list_new();
	int file = memfd_create("words", MFD_CLOEXEC), keep = dup(STDERR_FILENO);
	ssize_t length;

	assert_non_null(list);
	assert_true(file >= 0 && keep >= 0);
	for (size_t i = 0; i < count; i++) {
		struct dt_process *item = dt_process_list_add(list);

		assert_non_null(item);
		*item = processes[i];
	}
	fflush(stderr);
	dup2(file, STDERR_FILENO);
	dt_refused_tell(common, list);
	fflush(stderr);
	dup2(keep, STDERR_FILENO);
	length = pread(file, text, size - 1, 0);
	text[length > 0 ? length : 0] = '\0';
	close(file);
	close(keep);
	dt_process_list_free(list);
}

static void the_nearest_way_is_told(void **state)
{
	struct dt_common common = {.color = DT_COLOR_NEVER};
	char text[4096];

	(void)state;
	told(&common, 0, text, sizeof(text));
	assert_string_equal(text, "");
	told(&common, 1, text, sizeof(text));
	assert_string_equal(text, "darter: 1 process may not be read. Run it as root: 'sudo darter ps'\n");
	told(&common, DT_COUNT(processes), text, sizeof(text));
	assert_string_equal(text, "darter: 3 processes may not be read. Run it as root: 'sudo darter ps'\n"
				  "darter: 3 processes may not be read; 'darter ps -v' says why\n");
	common.quiet = true;
	told(&common, DT_COUNT(processes), text, sizeof(text));
	assert_string_equal(text, "");
}

static void all_is_told_if_wanted(void **state)
{
	struct dt_common common = {.color = DT_COLOR_NEVER, .verbose = true};
	char text[4096];

	(void)state;
	told(&common, 6, text, sizeof(text));
	assert_string_equal(text, "darter: process 1 belongs to root\n"
				  "darter: process 3 is yours, but\n"
				  "  Run it as root:\n      sudo darter ps\n"
				  "  or lift the rule:\n      sudo sysctl kernel.yama.ptrace_scope=0\n"
				  "darter: process 4 belongs to root\n"
				  "darter: process 5 is too old\n"
				  "  Run it as root:\n      sudo darter ps\n"
				  "darter: process 6: its memory does not answer\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_nearest_way_is_told),
	    cmocka_unit_test(all_is_told_if_wanted),
	};

	return cmocka_run_group_tests_name("refused", tests, NULL, NULL);
}
