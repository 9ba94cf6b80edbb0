/* The ring: messages come out whole and in order, a round comes out at once or not at all, a full ring refuses. */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "record/ring.h"

#define SIZE ((size_t)4096)

static void test_order(void **state)
{
	struct dt_ring *ring = dt_ring_new(SIZE);
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
	struct dt_ring *ring = dt_ring_new(SIZE);
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
	struct dt_ring *ring = dt_ring_new(SIZE);
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
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_two_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
