/* Functions of the interpreter and of the C library that only carry a call from one function to another, or begin a
 * thread: nobody's work. */
#ifndef DT_SAMPLE_NATIVE_INTERNALS_H
#define DT_SAMPLE_NATIVE_INTERNALS_H

#include <stdbool.h>

/* By its raw symbol: is it the loop that runs Python? */
bool dt_is_loop(const char *symbol);

/* interpreter: it is in the file that holds the interpreter; without a symbol (NULL) nobody can tell what it is there.
 */
bool dt_is_internal(const char *symbol, bool interpreter);

#endif
