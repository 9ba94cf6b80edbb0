/* XXH64 after its specification: four lanes over parts of 32 bytes, then what is left over, then a last mixing. */
#include "base/hash.h"

#include <sys/random.h>

#include "base/util.h"

#define PRIME1 UINT64_C(0x9e3779b185ebca87)
#define PRIME2 UINT64_C(0xc2b2ae3d27d4eb4f)
#define PRIME3 UINT64_C(0x165667b19e3779f9)
#define PRIME4 UINT64_C(0x85ebca77c2b2ae63)
#define PRIME5 UINT64_C(0x27d4eb2f165667c5)
#define LANES  4

static uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

static uint64_t stir(uint64_t lane, uint64_t word)
{
	return rotate(lane + word * PRIME2, 31) * PRIME1;
}

static uint64_t long_part(const uint8_t **at, const uint8_t *end, uint64_t seed)
{
	uint64_t lane[LANES] = {seed + PRIME1 + PRIME2, seed + PRIME2, seed, seed - PRIME1};
	uint64_t hash;

	for (; end - *at >= 8 * LANES; *at += (ptrdiff_t)8 * LANES)
		for (size_t i = 0; i < LANES; i++)
			lane[i] = stir(lane[i], dt_get64(*at + 8 * i));
	hash = rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
	for (size_t i = 0; i < LANES; i++)
		hash = (hash ^ stir(0, lane[i])) * PRIME1 + PRIME4;
	return hash;
}

uint64_t dt_hash64(const void *bytes, size_t size, uint64_t seed)
{
	const uint8_t *at = bytes;
	const uint8_t *end = size ? at + size : at;
	uint64_t hash = size >= 8 * LANES ? long_part(&at, end, seed) : seed + PRIME5;

	hash += size;
	for (; end - at >= 8; at += 8)
		hash = rotate(hash ^ stir(0, dt_get64(at)), 27) * PRIME1 + PRIME4;
	for (; end - at >= 4; at += 4)
		hash = rotate(hash ^ dt_get32(at) * PRIME1, 23) * PRIME2 + PRIME3;
	for (; at < end; at++)
		hash = rotate(hash ^ *at * PRIME5, 11) * PRIME1;
	hash = (hash ^ hash >> 33) * PRIME2;
	hash = (hash ^ hash >> 29) * PRIME3;
	return hash ^ hash >> 32;
}

uint64_t dt_hash_seed(void)
{
	uint64_t seed;

	/* No entropy yet, or a filter of system calls: a clock and an address are better than nothing. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = (dt_clock_ns() ^ (uintptr_t)&seed) * PRIME1;
	return seed;
}
