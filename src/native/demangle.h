/*
 * Names as programmers wrote them. They come from files of the target: work, depth and length are bounded, and what is
 * not understood stays as it is.
 *
 * Rust, without hashes: the older form, which looks like C++ and ends in a hash
 * (_ZN4core3fmt5write17h0123456789abcdefE), and the newer one (_RNvNtCs...4core3fmt5write).
 *
 * C++ in a short form: the function with its scopes and template arguments (ns::Class<int>::method), without parameters
 * and what it returns; so are functions that something local lies in, and lambdas ("f::{lambda#1}::operator()"). Two
 * functions that differ in their parameters alone have one name. A list of template arguments that would take more than
 * DT_DEMANGLE_LIST bytes becomes "<...>", the innermost first; expressions among them become "...". Otherwise it reads
 * as c++filt --no-params has it. We read these names ourselves: what the C++ library has for it takes time that doubles
 * with every few letters of a name made for that, and no limit of ours could end it.
 */
#ifndef DT_NATIVE_DEMANGLE_H
#define DT_NATIVE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#define DT_DEMANGLE_LIST 100

enum dt_language { DT_LANGUAGE_C, DT_LANGUAGE_CPP, DT_LANGUAGE_RUST };

/* Tells what a name is of and writes it as people read it. What is neither C++ nor Rust counts as C and stays as it is,
 * and so does what is not understood or longer than 4096 bytes. "@plt" stays behind a name. What does not fit is cut
 * off and ends in "...". What a compiler has added behind a dot (".llvm.123", ".cold") is left out of names of C++ and
 * Rust. size is 4 at least. Bytes of the name are not checked: escape what is shown. */
enum dt_language dt_demangle(const char *symbol, char *out, size_t size);

/* Rust alone. False: it is no Rust name, or not one that is understood; out is empty then. What does not fit is cut off
 * and ends in
 * "...". What a compiler has added behind a dot (".llvm.123", ".cold") is left out. size is 4 at least. */
bool dt_demangle_rust(const char *symbol, char *out, size_t size);

#endif
