/* A name that may be Rust's or C++'s; the first byte says how much room there is for the result. */
#include "fuzz.h"

#include <string.h>

#include "base/util.h"
#include "native/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	dt_auto_free char *symbol = NULL, *name = NULL;
	size_t room;

	if (!size)
		return 0;
	room = 4 + (size_t)data[0] * 8;
	symbol = strndup((const char *)data + 1, size - 1);
	name = malloc(room);
	MUST(symbol && name);
	memset(name, 'x', room);
	if (dt_demangle_rust(symbol, name, room))
		MUST(memchr(name, '\0', room));
	else
		MUST(!name[0]);
	memset(name, 'x', room);
	dt_demangle(symbol, name, room);
	MUST(memchr(name, '\0', room));
	return 0;
}
