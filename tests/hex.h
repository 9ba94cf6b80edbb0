/* Pairs of hex digits into bytes. */
#ifndef DT_TESTS_HEX_H
#define DT_TESTS_HEX_H

#include <stddef.h>
#include <stdint.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* As many bytes as the text begins with and as fit; returns how many. */
static size_t hex_bytes(const char *text, uint8_t *bytes, size_t limit)
{
	size_t count = 0;
	for (; count < limit && hex_digit(text[0]) >= 0 && hex_digit(text[1]) >= 0; text += 2)
		bytes[count++] = (uint8_t)(hex_digit(text[0]) << 4 | hex_digit(text[1]));
	return count;
}

#endif
