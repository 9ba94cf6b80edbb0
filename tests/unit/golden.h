/* Output compared with a file of tests/golden. DARTER_UPDATE_GOLDEN=1 writes the files instead. */
#ifndef DT_TESTS_GOLDEN_H
#define DT_TESTS_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct golden {
	char *data;
	size_t size;
	FILE *out;
};

static inline FILE *golden_begin(struct golden *golden)
{
	*golden = (struct golden){0};
	golden->out = open_memstream(&golden->data, &golden->size);
	assert_non_null(golden->out);
	return golden->out;
}

static inline void golden_end(struct golden *golden, const char *name)
{
	char path[4096], expected[65536];
	size_t length;
	FILE *file;

	assert_int_equal(fclose(golden->out), 0);
	snprintf(path, sizeof(path), "%s/%s", DT_GOLDEN, name);
	if (getenv("DARTER_UPDATE_GOLDEN")) {
		file = fopen(path, "w");
		assert_non_null(file);
		assert_int_equal(fwrite(golden->data, 1, golden->size, file), golden->size);
		assert_int_equal(fclose(file), 0);
	}
	file = fopen(path, "r");
	if (!file)
		fail_msg("%s cannot be opened", path);
	length = fread(expected, 1, sizeof(expected) - 1, file);
	expected[length] = '\0';
	fclose(file);
	if (length != golden->size || memcmp(expected, golden->data, length) != 0)
		fail_msg("not as in %s:\n%.*s", path, (int)golden->size, golden->data);
	free(golden->data);
}

#endif
