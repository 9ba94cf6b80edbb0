/*
 * XXH64: a hash of any bytes with a seed. It names strings in the model and is the checksum of what we write: 64
 * bits so that no damage passes by chance, seeded so that nobody who chooses bytes can choose their hash, fast without
 * special instructions, and to be had for every language.
 */
#ifndef DT_BASE_HASH_H
#define DT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t dt_hash64(const void *bytes, size_t size, uint64_t seed);

/* A seed that nobody can foretell. */
uint64_t dt_hash_seed(void);

#endif
