/*
 * Rust names as programmers wrote them, without hashes: the older form, which looks like C++ and ends in a hash
 * (_ZN4core3fmt5write17h0123456789abcdefE), and the newer one (_RNvNtCs...4core3fmt5write). Names come from files of
 * the target: work, depth and length are bounded.
 */
#ifndef DT_NATIVE_DEMANGLE_H
#define DT_NATIVE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

/* False: it is no Rust name, or not one that is understood; out is empty then. What does not fit is cut off and ends in
 * "...". What a compiler has added behind a dot (".llvm.123", ".cold") is left out. size is 4 at least. */
bool dt_demangle_rust(const char *symbol, char *out, size_t size);

#endif
