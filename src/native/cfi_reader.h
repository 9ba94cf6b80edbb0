/*
 * Bytes of .eh_frame, read one after the other. A read behind the end sets `bad`, gives 0 and leaves nothing to read,
 * so that a caller may ask once at the end, and no loop goes on for ever.
 */
#ifndef DT_NATIVE_CFI_READER_H
#define DT_NATIVE_CFI_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cfi_reader {
	const uint8_t *data;
	size_t at, end;
	uint64_t address; /* link-time address of data[0] */
	bool bad;
};

/* How a pointer is written: the lower four bits its shape, then what it is counted from. */
enum cfi_encoding {
	CFI_ABSOLUTE = 0x00,
	CFI_ULEB = 0x01,
	CFI_U16 = 0x02,
	CFI_U32 = 0x03,
	CFI_U64 = 0x04,
	CFI_SLEB = 0x09,
	CFI_S16 = 0x0a,
	CFI_S32 = 0x0b,
	CFI_S64 = 0x0c,
	CFI_FROM_HERE = 0x10,
	CFI_FROM_MASK = 0x70,
	CFI_INDIRECT = 0x80,
	CFI_OMITTED = 0xff,
};

static inline struct cfi_reader cfi_part(const struct cfi_reader *whole, size_t at, size_t end)
{
	return (struct cfi_reader){.data = whole->data, .at = at, .end = end, .address = whole->address};
}

static inline bool cfi_take(struct cfi_reader *reader, void *value, size_t size)
{
	if (size > reader->end - reader->at) {
		reader->at = reader->end;
		reader->bad = true;
		return false;
	}
	memcpy(value, reader->data + reader->at, size);
	reader->at += size;
	return true;
}

static inline void cfi_skip(struct cfi_reader *reader, uint64_t size)
{
	if (size > reader->end - reader->at) {
		reader->at = reader->end;
		reader->bad = true;
		return;
	}
	reader->at += (size_t)size;
}

static inline uint64_t cfi_fixed(struct cfi_reader *reader, size_t size)
{
	uint64_t value = 0;

	return cfi_take(reader, &value, size) ? value : 0;
}

static inline uint8_t cfi_u8(struct cfi_reader *reader)
{
	return (uint8_t)cfi_fixed(reader, 1);
}

static inline uint32_t cfi_u32(struct cfi_reader *reader)
{
	return (uint32_t)cfi_fixed(reader, 4);
}

/* Bits above the 64th are dropped. */
static inline uint64_t cfi_leb(struct cfi_reader *reader, bool is_signed)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = cfi_u8(reader);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !reader->bad && shift < 140);
	if (is_signed && (byte & 0x40) && shift < 64)
		value |= ~UINT64_C(0) << shift;
	return value;
}

static inline uint64_t cfi_uleb(struct cfi_reader *reader)
{
	return cfi_leb(reader, false);
}

static inline int64_t cfi_sleb(struct cfi_reader *reader)
{
	return (int64_t)cfi_leb(reader, true);
}

/* The shape alone, without what it is counted from. */
static inline uint64_t cfi_shaped(struct cfi_reader *reader, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case CFI_ULEB:
		return cfi_uleb(reader);
	case CFI_SLEB:
		return (uint64_t)cfi_sleb(reader);
	case CFI_U16:
		return cfi_fixed(reader, 2);
	case CFI_S16:
		return (uint64_t)(int16_t)cfi_fixed(reader, 2);
	case CFI_U32:
		return cfi_fixed(reader, 4);
	case CFI_S32:
		return (uint64_t)(int32_t)cfi_u32(reader);
	case CFI_ABSOLUTE:
	case CFI_U64:
	case CFI_S64:
		return cfi_fixed(reader, 8);
	default:
		reader->bad = true;
		return 0;
	}
}

/* An address that the file knows without running: counted from 0 or from where it stands. */
static inline uint64_t cfi_pointer(struct cfi_reader *reader, uint8_t encoding)
{
	uint64_t here = reader->address + reader->at, value = cfi_shaped(reader, encoding);

	switch (encoding & (CFI_FROM_MASK | CFI_INDIRECT)) {
	case 0:
		return value;
	case CFI_FROM_HERE:
		return here + value;
	default:
		reader->bad = true;
		return 0;
	}
}

#endif
