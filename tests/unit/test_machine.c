/* Kinds of machines: registers, system calls. */
#include "unit.h"

#include <elf.h>
#include <sys/syscall.h>

#include "base/util.h"
#include "machine/machine.h"

static void machines_are_known_by_their_number(void **state)
{
	(void)state;
	assert_string_equal(dt_machine_of(EM_X86_64)->name, "x86_64");
	assert_string_equal(dt_machine_of(EM_AARCH64)->name, "aarch64");
	assert_null(dt_machine_of(EM_386));
	assert_null(dt_machine_of(EM_NONE));
	assert_ptr_equal(dt_machine_of(dt_machine_here()->elf), dt_machine_here());
}

static void calls_have_names(void **state)
{
	const struct dt_machine *x86 = dt_machine_of(EM_X86_64), *arm = dt_machine_of(EM_AARCH64);

	(void)state;
	assert_string_equal(dt_machine_call(x86, 202), "futex");
	assert_string_equal(dt_machine_call(arm, 98), "futex");
	assert_string_equal(dt_machine_call(x86, 0), "read");
	assert_string_equal(dt_machine_call(arm, 63), "read");
	assert_string_equal(dt_machine_call(arm, 80), "fstat");
	assert_string_equal(dt_machine_call(dt_machine_here(), SYS_read), "read");
	assert_string_equal(dt_machine_call(dt_machine_here(), SYS_clock_nanosleep), "clock_nanosleep");
	for (long number = -2; number < 2000; number++)
		if (dt_machine_call(arm, number))
			assert_true(number >= 0 && *dt_machine_call(arm, number));
	assert_null(dt_machine_call(arm, -1));
	assert_null(dt_machine_call(arm, 1L << 40));
	assert_null(dt_machine_call(x86, INT64_MIN));
}

static void some_calls_only_wait(void **state)
{
	(void)state;
	assert_true(dt_call_waits("futex"));
	assert_true(dt_call_waits("epoll_pwait"));
	assert_true(dt_call_waits("wait4"));
	assert_false(dt_call_waits("read"));
	assert_false(dt_call_waits("connect"));
	assert_false(dt_call_waits(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(machines_are_known_by_their_number),
	    cmocka_unit_test(calls_have_names),
	    cmocka_unit_test(some_calls_only_wait),
	};

	return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
