/* The ring: messages come out whole and in order, a round comes out at once or not at all, a full ring refuses, or goes
 * on elsewhere if it may. */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "record/ring.h"

#define SIZE ((size_t)4096)

static void test_order(void **state)
{
	struct dt_ring *ring = dt_ring_new(SIZE, SIZE);
	size_t size;

	(void)state;
	assert_null(dt_ring_get(ring, &size));
	for (unsigned round = 0; round < 1000; round++) {
		for (unsigned i = 1; i <= 5; i++) {
			unsigned char *message = dt_ring_put(ring, i * 37);

			assert_non_null(message);
			assert_int_equal((uintptr_t)message % 8, 0);
			memset(message, (int)(round + i), i * 37);
		}
		assert_null(dt_ring_get(ring, &size)); /* not published */
		dt_ring_publish(ring);
		for (unsigned i = 1; i <= 5; i++) {
			const unsigned char *message = dt_ring_get(ring, &size);

			assert_non_null(message);
			assert_int_equal(size, i * 37);
			assert_int_equal(message[0], (unsigned char)(round + i));
			assert_int_equal(message[size - 1], (unsigned char)(round + i));
			dt_ring_next(ring);
		}
		assert_null(dt_ring_get(ring, &size));
	}
	dt_ring_free(ring);
}

static void test_full(void **state)
{
	struct dt_ring *ring = dt_ring_new(SIZE, SIZE);
	size_t size, count = 0;

	(void)state;
	assert_null(dt_ring_put(ring, SIZE));
	while (dt_ring_put(ring, 100))
		count++;
	assert_true(count > 30 && count * 100 <= SIZE);
	dt_ring_abandon(ring);
	assert_null(dt_ring_get(ring, &size));
	dt_ring_publish(ring);
	assert_null(dt_ring_get(ring, &size)); /* what was abandoned is not there */
	for (size_t i = 0; i < count; i++)
		assert_non_null(dt_ring_put(ring, 100)); /* and its room is free again */
	dt_ring_publish(ring);
	assert_null(dt_ring_put(ring, 100));
	assert_non_null(dt_ring_get(ring, &size));
	dt_ring_next(ring);
	assert_non_null(dt_ring_put(ring, 100));
	dt_ring_free(ring);
}

/* Puts messages of 100 bytes with these numbers; how many there was room for. */
static unsigned put_numbers(struct dt_ring *ring, unsigned from, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned *message = dt_ring_put(ring, 100);

		if (!message)
			return i;
		*message = from + i;
	}
	return count;
}

static void get_numbers(struct dt_ring *ring, unsigned from, unsigned count)
{
	size_t size;

	for (unsigned i = 0; i < count; i++) {
		const unsigned *message = dt_ring_get(ring, &size);

		assert_non_null(message);
		assert_int_equal(size, 100);
		assert_int_equal(*message, from + i);
		dt_ring_next(ring);
	}
}

/* A round that is many times as large as the ring, in front of which another one waits. */
static void test_large_round(void **state)
{
	struct dt_ring *ring = dt_ring_new(SIZE, 64 * SIZE);
	size_t size;

	(void)state;
	for (unsigned again = 0; again < 20; again++) {
		assert_int_equal(put_numbers(ring, 0, 20), 20);
		dt_ring_publish(ring);
		assert_int_equal(put_numbers(ring, 100, 500), 500);
		get_numbers(ring, 0, 20);
		assert_null(dt_ring_get(ring, &size)); /* not published */
		dt_ring_publish(ring);
		assert_int_equal(put_numbers(ring, 600, 1), 1);
		dt_ring_publish(ring);
		get_numbers(ring, 100, 501);
		assert_null(dt_ring_get(ring, &size));
	}
	dt_ring_free(ring);
}

/* What is abandoned is gone wherever it was; the limit holds, and what was read is given back. */
static void test_limit(void **state)
{
	struct dt_ring *ring = dt_ring_new(SIZE, 16 * SIZE);
	unsigned count, again;
	size_t size;

	(void)state;
	assert_int_equal(put_numbers(ring, 7, 3), 3);
	dt_ring_publish(ring);
	count = put_numbers(ring, 0, 10000);
	assert_true(count * 100 > 2 * SIZE && count * 100 <= 16 * SIZE);
	dt_ring_abandon(ring);
	assert_null(dt_ring_put(ring, 16 * SIZE));
	assert_null(dt_ring_put(ring, SIZE_MAX));
	dt_ring_abandon(ring);
	get_numbers(ring, 7, 3);
	assert_null(dt_ring_get(ring, &size));
	for (again = 0; put_numbers(ring, again, 1); again++)
		dt_ring_publish(ring);
	assert_true(again * 100 > 8 * SIZE && again * 100 <= 16 * SIZE);
	dt_ring_abandon(ring);
	get_numbers(ring, 0, again);
	assert_null(dt_ring_get(ring, &size));
	assert_true(put_numbers(ring, 0, 10000) * 100 > 2 * SIZE);
	dt_ring_abandon(ring);
	assert_int_equal(put_numbers(ring, 3, 1), 1);
	dt_ring_publish(ring);
	assert_int_equal(put_numbers(ring, 4, 100), 100);
	dt_ring_free(ring); /* with something in it, and something that is not published */
}

#define ROUNDS 20000u

/* Rounds of up to three times the ring. */
static unsigned messages_in(unsigned round)
{
	return 1 + round * 31 % 113;
}

static void *write_rounds(void *argument)
{
	struct dt_ring *ring = argument;

	for (unsigned round = 0; round < ROUNDS; round++) {
		while (put_numbers(ring, round, messages_in(round)) < messages_in(round)) {
			dt_ring_abandon(ring);
			sched_yield();
		}
		dt_ring_publish(ring);
	}
	return NULL;
}

static void test_rounds_of_two_threads(void **state)
{
	struct dt_ring *ring = dt_ring_new(SIZE, 16 * SIZE);
	pthread_t writer;
	size_t size;

	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, write_rounds, ring), 0);
	for (unsigned round = 0; round < ROUNDS; round++) {
		while (!dt_ring_get(ring, &size))
			sched_yield();
		get_numbers(ring, round, messages_in(round)); /* all of it is there at once */
	}
	pthread_join(writer, NULL);
	assert_null(dt_ring_get(ring, &size));
	dt_ring_free(ring);
}

#define MESSAGES 200000u

static void *write_all(void *argument)
{
	struct dt_ring *ring = argument;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		size_t words = 1 + i % 50;
		uint32_t *message;

		while (!(message = dt_ring_put(ring, words * sizeof(*message))))
			sched_yield();
		for (size_t k = 0; k < words; k++)
			message[k] = i;
		dt_ring_publish(ring);
	}
	return NULL;
}

static void test_two_threads(void **state)
{
	struct dt_ring *ring = dt_ring_new(SIZE, SIZE);
	pthread_t writer;

	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, write_all, ring), 0);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		const uint32_t *message;
		size_t size;

		while (!(message = dt_ring_get(ring, &size)))
			sched_yield();
		assert_int_equal(size, (1 + i % 50) * sizeof(*message));
		assert_int_equal(message[0], i);
		assert_int_equal(message[size / sizeof(*message) - 1], i);
		dt_ring_next(ring);
	}
	pthread_join(writer, NULL);
	dt_ring_free(ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order),       cmocka_unit_test(test_full),
	    cmocka_unit_test(test_large_round), cmocka_unit_test(test_limit),
	    cmocka_unit_test(test_two_threads), cmocka_unit_test(test_rounds_of_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
