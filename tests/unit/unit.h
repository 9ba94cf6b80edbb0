/* What every unit test includes first: cmocka wants these before itself, in this order. */
#ifndef DT_TESTS_UNIT_H
#define DT_TESTS_UNIT_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#endif
