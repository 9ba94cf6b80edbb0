/*
 * The tables that map bytecode to lines. Each is walked from its start, as CPython itself does:
 *
 *   lnotab      pairs (bytes, signed lines; in 2.7 unsigned): the line changes at the address that the pair leads to
 *   linetable   pairs (bytes, signed lines): the pair is a range of so many bytes, its line changed before it; -128 is
 * a range without a line locations   entries of one byte 1cccclll (kind c, l + 1 units of two bytes), then bytes below
 * 128: for kinds 13 and 14 first the change of the line, for 10 to 12 the change is in the kind, 15 has no line
 *
 * A line is kept in 64 bits: even the longest table cannot overflow it.
 */
#include "python/lines.h"

static uint32_t to_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static int64_t lnotab_at(const uint8_t *table, size_t size, bool is_signed, int64_t line, int64_t offset)
{
	int64_t address = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > offset)
			break;
		line += is_signed ? (int8_t)table[i + 1] : table[i + 1];
	}
	return line;
}

static int64_t linetable_at(const uint8_t *table, size_t size, int64_t line, int64_t offset)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int8_t change = (int8_t)table[i + 1];

		if (change != -128)
			line += change;
		end += table[i];
		if (offset < end)
			return change == -128 ? 0 : line;
	}
	return 0;
}

/* Six bits a byte, lowest first, bit 6 says that another follows; the lowest bit of the sum is the sign. */
static int64_t read_signed(const uint8_t *table, size_t size, size_t at)
{
	uint32_t sum = 0;

	for (unsigned shift = 0; at < size; shift += 6) {
		uint8_t byte = table[at++];

		if (shift < 32)
			sum |= (uint32_t)(byte & 63) << shift;
		if (!(byte & 64))
			break;
	}
	return sum & 1 ? -(int64_t)(sum >> 1) : (int64_t)(sum >> 1);
}

static int64_t locations_at(const uint8_t *table, size_t size, int64_t line, int64_t offset)
{
	int64_t end = 0;
	size_t i = 0;

	while (i < size) {
		unsigned kind = table[i] >> 3 & 15;

		end += ((table[i] & 7) + 1) * 2;
		if (kind == 13 || kind == 14)
			line += read_signed(table, size, i + 1);
		else if (kind >= 10 && kind <= 12)
			line += kind - 10;
		if (offset < end)
			return kind == 15 ? 0 : line;
		do
			i++;
		while (i < size && table[i] < 128);
	}
	return 0;
}

uint32_t dt_lines_at(enum dt_line_kind kind, const uint8_t *table, size_t size, uint32_t first_line, int64_t offset)
{
	if (offset < 0)
		return to_line(first_line);
	switch (kind) {
	case DT_LINES_LNOTAB:
	case DT_LINES_LNOTAB_UNSIGNED:
		return to_line(lnotab_at(table, size, kind == DT_LINES_LNOTAB, first_line, offset));
	case DT_LINES_LINETABLE:
		return to_line(linetable_at(table, size, first_line, offset));
	case DT_LINES_LOCATIONS:
		return to_line(locations_at(table, size, first_line, offset));
	}
	return 0;
}
