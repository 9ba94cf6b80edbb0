#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/util.h"
#include "native/demangle.h"

static void check(const char *symbol, const char *wanted)
{
	char name[512];

	assert_int_equal(dt_demangle(symbol, name, sizeof(name)), DT_LANGUAGE_CPP);
	assert_string_equal(name, wanted);
}

static void check_left(const char *symbol)
{
	char name[8192];

	assert_int_equal(dt_demangle(symbol, name, sizeof(name)), DT_LANGUAGE_C);
	assert_string_equal(name, symbol);
}

static void languages_are_told(void **state)
{
	char name[128];

	(void)state;
	check_left("main");
	check_left("");
	check_left("_start");
	check_left("__pyx_pw_3foo_1bar");
	check_left("malloc@plt");
	check("_ZN3foo3barEi", "foo::bar");
	check("_ZN3foo3barEi@plt", "foo::bar@plt");
	assert_int_equal(dt_demangle("_ZN4core3fmt5write17h0123456789abcdefE", name, sizeof(name)), DT_LANGUAGE_RUST);
	assert_string_equal(name, "core::fmt::write");
	assert_int_equal(dt_demangle("_RNvC6_123foo3bar@plt", name, sizeof(name)), DT_LANGUAGE_RUST);
	assert_string_equal(name, "123foo::bar@plt");
}

static void parameters_are_left_out(void **state)
{
	(void)state;
	check("_Z3foov", "foo");
	check("_Z3fooidPKc", "foo");
	check("_ZNK3foo3barERKSs", "foo::bar");
	check("_ZNVKR3foo3barEv", "foo::bar");
	check("_ZN3fooC2Ei", "foo::foo");
	check("_ZN3fooD0Ev", "foo::~foo");
	check("_ZN3fooIiEC1ERKS0_", "foo<int>::foo");
	check("_Z3fooIiEPFvdET_", "foo<int>"); /* it returns a pointer to a function */
	check("_ZN3foo3barEi.cold", "foo::bar");
	check("_ZN3foo3barEi.constprop.0.isra.1", "foo::bar");
	check("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int>>::push_back");
	check("_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo");
	check("_ZL6hiddenv", "hidden");
	check("_ZNSsC1ERKSs", "std::string::basic_string");
	check("_ZN3fooB5cxx11Ev", "foo[abi:cxx11]");
}

static void what_is_local_names_its_function(void **state)
{
	(void)state;
	check("_ZZ4mainENKUlvE_clEv", "main::{lambda#1}::operator()");
	check("_ZZN3foo3barEiENKUliE1_clEi", "foo::bar::{lambda#3}::operator()");
	check("_ZZN3foo3barEvE6locals_0", "foo::bar::locals");
	check("_ZZN3fooC4EiEd0_NKUlvE_clEv", "foo::foo::{default arg#2}::{lambda#1}::operator()");
	check("_ZN3fooUt0_3barEv", "foo::{unnamed type#2}::bar");
}

static void operators(void **state)
{
	(void)state;
	check("_ZN3fooclEi", "foo::operator()");
	check("_ZN3foolsEi", "foo::operator<<");
	check("_ZN3foolsIiEEvT_", "foo::operator<< <int>");
	check("_ZN3fooptEv", "foo::operator->");
	check("_ZN3foonwEm", "foo::operator new");
	check("_ZN3foocvbEv", "foo::operator bool");
	check("_ZN3foocvT_IiEEv", "foo::operator int<int>");
	check("_Zli3_kmy", "operator\"\" _km");
}

static void template_arguments(void **state)
{
	(void)state;
	check("_Z1fIPKcEvv", "f<char const*>");
	check("_Z1fIRA3_KiEvv", "f<int const (&) [3]>");
	check("_Z1fIPFvicEEvv", "f<void (*)(int, char)>");
	check("_Z1fIFvvEEvv", "f<void ()>");
	check("_Z1fIM1aKFdiEEvv", "f<double (a::*)(int) const>");
	check("_Z1fIM1aiEvv", "f<int a::*>");
	check("_Z1fILi5ELin5ELj5ELm5EEvv", "f<5, -5, 5u, 5ul>");
	check("_Z1fILb1ELb0ELc65EEvv", "f<true, false, (char)65>");
	check("_Z1fIL_Z3gooiEEvv", "f<goo>");
	check("_Z1fIJidEEvDpT_", "f<int, double>");
	check("_Z1fIJEiEvv", "f<int>");
	check("_Z1fIiJEEvv", "f<int>");
	check("_Z1fISt4pairIiS0_IiiEEEvv", "f<std::pair<int, std::pair<int, int>>>");
	check("_Z1fIXplLi1ELi2EEEvv", "f<...>");
	check("_Z1fIDTplfp_fp0_EEvv", "f<decltype(...)>");
	check("_Z1fIDF16_DF32xDnDiEvv", "f<_Float16, _Float32x, decltype(nullptr), char32_t>");
}

static void special_names(void **state)
{
	(void)state;
	check("_ZThn16_N3foo3barEv", "non-virtual thunk to foo::bar");
	check("_ZTv0_n24_N3foo3barEv", "virtual thunk to foo::bar");
	check("_ZTch0_h8_N3foo3barEv", "covariant return thunk to foo::bar");
	check("_ZTV3foo", "vtable for foo");
	check("_ZTC3foo8_3bar", "construction vtable for bar-in-foo");
	check("_ZTW3foo", "TLS wrapper function for foo");
	check("_ZGVZ3foovE3bar", "guard variable for foo::bar");
}

/* The innermost lists are given up first, and those around them only if that is not enough. */
static void long_lists_are_given_up(void **state)
{
	char name[512];

	(void)state;
	check("_ZNSt3mapISsSt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS6_EESt4lessISsESaISt4pairI"
	      "KSsS8_EEE4findERSB_",
	      "std::map<...>::find");
	check("_ZN1aISt6vectorINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESaIS5_EEE1fEv",
	      "a<std::vector<...>>::f");
	assert_int_equal(dt_demangle("_ZN3foo3barEv", name, 8), DT_LANGUAGE_CPP);
	assert_string_equal(name, "foo:...");
	assert_int_equal(dt_demangle("plain_name_of_c", name, 8), DT_LANGUAGE_C);
	assert_string_equal(name, "plai...");
	assert_int_equal(dt_demangle("_ZN3foo3barEv", name, 4), DT_LANGUAGE_CPP);
	assert_string_equal(name, "...");
}

static void what_is_no_name_stays(void **state)
{
	static const char *const names[] = {"_Z",
					    "_Zero",
					    "_ZN",
					    "_ZNE",
					    "_ZN3fo",
					    "_ZN3fooE3",
					    "_ZN99999999999999999999fooE",
					    "_ZS_",
					    "_ZNS_3fooE",
					    "_ZN3fooS5_E",
					    "_ZN3fooIE1",
					    "_Z1fIS_",
					    "_ZC1v",
					    "_Z1fIXEEvv",
					    "_Z1fIXplE",
					    "_ZZ3fooE",
					    "_ZZ3foovE",
					    "_ZT",
					    "_ZThN3fooE",
					    "_ZN3fooD",
					    "_Z1fIA_",
					    "_Z1fIDv_E",
					    "_Z1fILi5",
					    "_Z1fILZE",
					    "_ZSt",
					    "_ZSx",
					    "_Z1fIDTE",
					    "_Z1fIXsrEE",
					    "_Z1fIU1aE",
					    "_ZN3foocvE",
					    "_ZGX",
					    "_ZTc",
					    "_ZTch0_",
					    "_Z1fISzzzzzzz_E"};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(names); i++) {
		char name[128];
		enum dt_language language = dt_demangle(names[i], name, sizeof(name));

		/* "f" and "foo" are whole names, whatever follows. */
		if (language == DT_LANGUAGE_CPP)
			assert_true(!strcmp(name, "f") || !strcmp(name, "foo"));
		else
			assert_string_equal(name, names[i]);
	}
}

/* ---- names made to take long ---- */

/* Counting in base 36, as references are. */
static void put_back(struct dt_buf *symbol, unsigned number)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	dt_buf_putc(symbol, 'S');
	if (number >= 36)
		dt_buf_putc(symbol, digits[number / 36]);
	dt_buf_putc(symbol, digits[number % 36]);
	dt_buf_putc(symbol, '_');
}

/* A type in which each level has the one within it twice: 2 to the number of levels, in a few letters each. */
static struct dt_buf doubling(const char *before, unsigned levels, const char *after)
{
	struct dt_buf symbol = DT_BUF_INIT;

	dt_buf_puts(&symbol, before);
	for (unsigned i = 0; i < levels; i++)
		dt_buf_puts(&symbol, "1bI");
	dt_buf_puts(&symbol, "1bIiiE");
	for (unsigned i = 0; i < levels; i++) {
		put_back(&symbol, levels + 1 + i);
		dt_buf_putc(&symbol, 'E');
	}
	dt_buf_puts(&symbol, after);
	return symbol;
}

static void names_that_double_end(void **state)
{
	static const unsigned levels[] = {20, 50, 60};

	(void)state;
	check("_Z1fI1bI1bI1bIiiES3_ES4_EEvv", "f<b<b<b<int, int>, b<int, int>>, b<b<int, int>, b<int, int>>>>");
	for (size_t i = 0; i < DT_COUNT(levels); i++) {
		struct dt_buf shown = doubling("_Z1fI", levels[i], "Evv");
		struct dt_buf looked_for = doubling("_Z1fIJiiEEvDp", levels[i], "");

		check(shown.data, "f<...>");
		check(looked_for.data, "f<int, int>");
		dt_buf_release(&shown);
		dt_buf_release(&looked_for);
	}
}

/* 'P' is a pointer, 'N' begins a name in scopes, and so on: each may begin within itself. */
static void depth_is_bounded(void **state)
{
	static const char *const steps[] = {"P",    "1aI", "F",    "M",  "X", "Xpl", "A_", "J",     "Z",
					    "N1aI", "Dp",  "XcvP", "LP", "C", "K",   "Ul", "XclL_Z"};
	char symbol[4000], name[8192];

	(void)state;
	for (size_t i = 0; i < DT_COUNT(steps); i++) {
		strcpy(symbol, "_Z1fI");
		for (size_t at = 5; at + strlen(steps[i]) + 1 < sizeof(symbol); at += strlen(steps[i]))
			strcpy(symbol + at, steps[i]);
		dt_demangle(symbol, name, sizeof(name));
		assert_string_equal(name, symbol);
	}
	strcpy(symbol, "_Z1fIPPPPPPPPPPPPPPPPPPPPiEvv");
	check(symbol, "f<int********************>");
}

static void length_is_bounded(void **state)
{
	size_t length = 8000;
	char *symbol = calloc(1, length + 1), *name = calloc(1, length + 1);

	(void)state;
	assert_true(symbol && name);
	memset(symbol, 'v', length);
	memcpy(symbol, "_Z3foo", 6);
	assert_int_equal(dt_demangle(symbol, name, length + 1), DT_LANGUAGE_C);
	assert_string_equal(name, symbol);
	symbol[4096] = '\0';
	check(symbol, "foo");
	free(symbol);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(languages_are_told),
	    cmocka_unit_test(parameters_are_left_out),
	    cmocka_unit_test(what_is_local_names_its_function),
	    cmocka_unit_test(operators),
	    cmocka_unit_test(template_arguments),
	    cmocka_unit_test(special_names),
	    cmocka_unit_test(long_lists_are_given_up),
	    cmocka_unit_test(what_is_no_name_stays),
	    cmocka_unit_test(names_that_double_end),
	    cmocka_unit_test(depth_is_bounded),
	    cmocka_unit_test(length_is_bounded),
	};

	return cmocka_run_group_tests_name("demangle C++", tests, NULL, NULL);
}
