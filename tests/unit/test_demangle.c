#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "native/demangle.h"

static void check(const char *symbol, const char *wanted)
{
	char name[512];

	assert_true(dt_demangle_rust(symbol, name, sizeof(name)));
	assert_string_equal(name, wanted);
}

static void check_refused(const char *symbol)
{
	char name[512] = "left over";

	assert_false(dt_demangle_rust(symbol, name, sizeof(name)));
	assert_string_equal(name, "");
}

static void older_names(void **state)
{
	(void)state;
	check("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write");
	check("_ZN4core3fmt5write17h0123456789abcdefE.llvm.1234567890", "core::fmt::write");
	check("_ZN4core3fmt5write17h0123456789abcdefE.cold", "core::fmt::write");
	check("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
	      "<Test + 'static as foo::Bar<Test>>::bar");
	check("_ZN28_$u7b$$u7b$closure$u7d$$u7d$17h930b740aa94f1d3aE", "{{closure}}");
	check("_ZN29$BP$mut$C$$RF$$LP$$RP$$SP$a.b17h0123456789abcdefE", "*mut,&()@a.b");
}

static void what_is_no_older_name(void **state)
{
	(void)state;
	check_refused("_ZN3foo3barEv");
	check_refused("_ZN3foo3bar17h0123456789abcdeE");
	check_refused("_ZN3foo3bar17h0123456789abcdegE");
	check_refused("_ZN3foo3bar17h0123456789abcdefEv");
	check_refused("_ZN17h0123456789abcdefE");
	check_refused("_ZN99999999999999999999999foo17h0123456789abcdefE");
	check_refused("_ZN0foo17h0123456789abcdefE");
	check_refused("_ZN7$nope$a17h0123456789abcdefE");
	check_refused("_ZN5$u1b$17h0123456789abcdefE"); /* an escape sequence would begin like this */
	check_refused("_ZN11$u110000$ab17h0123456789abcdefE");
	check_refused("_ZN");
}

static void newer_names(void **state)
{
	(void)state;
	check("_RNvC6_123foo3bar", "123foo::bar");
	check("_RNvNtCs1234_4core3fmt5write", "core::fmt::write");
	check("_RNvNtCs1234_4core3fmt5write.llvm.99", "core::fmt::write");
	check("_RNCC4main0", "main::{closure#0}");
	check("_RNCNvC4main4mains_0", "main::main::{closure#1}");
	check("_RNSC4main4call", "main::{shim:call#0}");
	check("_RNvMsr_NtC3std1aNtB5_1b3new", "<std::a::b>::new");
	check("_RNvXC1aNtB2_1bNtB2_1c1d", "<a::b as a::c>::d");
	check("_RNvYNtC1a1bNtB4_1c1d", "<a::b as a::c>::d");
	check("_RINvC1a1bhtE", "a::b::<u8, u16>");
	check("_RINvC1a1bINtB2_1chEE", "a::b::<a::c<u8>>");
	check("_RINvC1a1bhEC3usr", "a::b::<u8>");
	check("_RINvC1a1bL_E", "a::b::<'_>");
}

static void types(void **state)
{
	(void)state;
	check("_RINvC1a1bTEThEThtEE", "a::b::<(), (u8,), (u8, u16)>");
	check("_RINvC1a1bRhQhPhOhE", "a::b::<&u8, &mut u8, *const u8, *mut u8>");
	check("_RINvC1a1bShAhj3_E", "a::b::<[u8], [u8; 3]>");
	check("_RINvC1a1bFUKChEuE", "a::b::<unsafe extern \"C\" fn(u8)>");
	check("_RINvC1a1bFK11C_cmse_callEuE", "a::b::<extern \"C-cmse-call\" fn()>");
	check("_RINvC1a1bFG_RL0_hRL0_hEtE", "a::b::<for<'a> fn(&'a u8, &'a u8) -> u16>");
	check("_RINvC1a1bFG0_RL1_hRL0_hEuE", "a::b::<for<'a, 'b> fn(&'a u8, &'b u8)>");
	check("_RINvC1a1bDNtB2_1cp1dhEL_E", "a::b::<dyn a::c<d = u8>>");
	check("_RINvC1a1bDG_INtB2_1cRL0_hEp1dhNtB2_1eEL_E", "a::b::<dyn for<'a> a::c<&'a u8, d = u8> + a::e>");
}

static void constants(void **state)
{
	(void)state;
	check("_RINvC1a1bKj7b_E", "a::b::<123>");
	check("_RINvC1a1bKan5_E", "a::b::<-5>");
	check("_RINvC1a1bKb0_Kb1_E", "a::b::<false, true>");
	check("_RINvC1a1bKc78_Kce9_E", "a::b::<'x', 'é'>");
	check("_RINvC1a1bKpE", "a::b::<_>");
	check("_RINvC1a1bKo1234567890abcdef0_E", "a::b::<0x1234567890abcdef0>");
}

static void letters_beyond_ascii(void **state)
{
	(void)state;
	check("_RNvC1au8gdel_5qa", "a::gödel");
	check("_RNvC7mycrateu3bda", "mycrate::ê");
	check_refused("_RNvC1au8gdel_5q"); /* cut off */
	check_refused("_RNvC1au3999");     /* no character has that number */
	check_refused("_RNvC1au3b-a");
}

static void what_is_no_newer_name(void **state)
{
	static const char *const names[] = {"_R",
					    "_RN",
					    "_RNv",
					    "_RNvC",
					    "_RNvC1",
					    "_RNvC1a",
					    "_RNvC1a1",
					    "_RNvC1a9b",
					    "_R0NvC1a1b",
					    "_RNvC1a01b",
					    "_RB_",
					    "_RNvB_1a",
					    "_RNvC1a1bB9_",
					    "_RINvC1a1bhC",
					    "_RINvC1a1bKj_E",
					    "_RINvC1a1bKb2_E",
					    "_RINvC1a1bKcd800_E",
					    "_RINvC1a1bL0_E",
					    "_RINvC1a1bFGzzzzzz_EuE",
					    "_RNvC1a1bzzzzz",
					    "_RNvC18446744073709551617a1b",
					    "_RN1C1a1b",
					    "_RNvCszzzzzzzzzzzzzzzzzzzzzzz_1a1b",
					    "main",
					    ""};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(names); i++)
		check_refused(names[i]);
}

/* Each reference doubles what the one before said: 2 to the 40th u8 in 300 bytes. */
static void references_that_double_are_cut(void **state)
{
	char symbol[1024] = "_RINvC1a1b", name[200];
	size_t at = strlen(symbol), inner = at;

	(void)state;
	at += (size_t)sprintf(symbol + at, "ThhE");
	for (int i = 0; i < 20; i++) {
		static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
		size_t to = inner - 2 - 1; /* counted from behind "_R", and written less one */
		char back[8];

		if (to < 62)
			snprintf(back, sizeof(back), "B%c_", digits[to]);
		else
			snprintf(back, sizeof(back), "B%c%c_", digits[to / 62], digits[to % 62]);
		inner = at;
		at += (size_t)sprintf(symbol + at, "T%s%sE", back, back);
	}
	sprintf(symbol + at, "E");
	assert_true(dt_demangle_rust(symbol, name, sizeof(name)));
	assert_int_equal(strlen(name), sizeof(name) - 1);
	assert_memory_equal(name, "a::b::<(u8, u8), ((u8, u8), (u8, u8)), (((", 42);
	assert_string_equal(name + strlen(name) - 3, "...");
}

static void depth_is_bounded(void **state)
{
	char symbol[4096] = "_RINvC1a1b", name[8192];
	size_t at = strlen(symbol);

	(void)state;
	memset(symbol + at, 'S', 2000);
	memcpy(symbol + at + 2000, "hE", 3);
	assert_false(dt_demangle_rust(symbol, name, sizeof(name)));
	memcpy(symbol + at + 50, "hE", 3);
	assert_true(dt_demangle_rust(symbol, name, sizeof(name)));
}

/* The cut is never within a character. */
static void a_cut_keeps_whole_characters(void **state)
{
	char name[16];

	(void)state;
	for (size_t size = 4; size <= sizeof(name); size++) {
		char wanted[16];
		size_t kept = size - 4;

		kept = DT_MIN(kept, strlen("a::gödel"));
		kept -= kept == strlen("a::g") + 1;
		snprintf(wanted, sizeof(wanted), "%.*s...", (int)kept, "a::gödel");
		assert_true(dt_demangle_rust("_RNvC1au8gdel_5qa", name, size));
		assert_string_equal(name, size > strlen("a::gödel") ? "a::gödel" : wanted);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(older_names),
	    cmocka_unit_test(what_is_no_older_name),
	    cmocka_unit_test(newer_names),
	    cmocka_unit_test(types),
	    cmocka_unit_test(constants),
	    cmocka_unit_test(letters_beyond_ascii),
	    cmocka_unit_test(what_is_no_newer_name),
	    cmocka_unit_test(references_that_double_are_cut),
	    cmocka_unit_test(depth_is_bounded),
	    cmocka_unit_test(a_cut_keeps_whole_characters),
	};

	return cmocka_run_group_tests_name("demangle", tests, NULL, NULL);
}
