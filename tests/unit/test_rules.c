/* The judge of the hammer is judged: what is possible passes, and every kind of mixture is noticed. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../hammer/rules.c" // NOLINT(bugprone-suspicious-include): it is no part of the library

#define G GENERATED

static const char TEXT[] = "body\t" G "\tt0_drive\t1\t3\n"
			   "body\t" G "\tt0_0\t4\t7\n"
			   "body\t" G "\tt0_1\t8\t10\n"
			   "body\t" G "\tt1_0\t11\t12\n"
			   "call\t" G "\t2\tt0_drive\tt0_0\n"
			   "call\t" G "\t5\tt0_0\tt0_1\n"
			   "away\t" G "\t6\n"
			   "entry\t" G "\tt0_drive\n"
			   "root\t/hammer.py\n";

static const struct dt_frame ROOT = {.name = "<module>", .file = "/hammer.py", .line = 300, .first_line = 1};

static struct rules *rules;

static int setup(void **state)
{
	char path[] = "/tmp/darter-rules-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, TEXT, strlen(TEXT)), strlen(TEXT));
	close(fd);
	rules = rules_read(path);
	unlink(path);
	return rules ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	rules_free(rules);
	return 0;
}

static struct dt_frame frame(const char *name, uint32_t first, uint32_t line)
{
	return (struct dt_frame){.name = name, .file = G, .first_line = first, .line = line};
}

static int judge(const char *name, const struct dt_frame *frames, size_t count)
{
	struct dt_thread thread = {.name = name, .frames = frames, .frame_count = count, .proof = DT_PROOF_STILL};
	char what[1024] = "";
	int code = rules_check(rules, &thread, what, sizeof(what));

	assert_int_equal(code < 0, what[0] != '\0');
	return code;
}

/* A stack that is possible; one frame of it replaced by another is not. */
static int judge_with(size_t place, struct dt_frame other)
{
	struct dt_frame frames[] = {frame("t0_1", 8, 9), frame("t0_0", 4, 5), frame("t0_drive", 1, 2), ROOT};

	frames[place] = other;
	return judge("hammer-t0", frames, 4);
}

static void test_mixtures(void **state)
{
	(void)state;
	assert_int_equal(judge_with(0, frame("t0_1", 8, 9)), 0);
	assert_int_equal(judge_with(0, frame("t0_1", 8, 8)), 0);
	assert_int_equal(judge_with(0, frame("t0_1", 8, 0)), 0);
	assert_int_equal(judge_with(3, ROOT), 0);
	assert_int_equal(judge_with(0, frame("t0_1", 8, 7)), -1);   /* a line of another function */
	assert_int_equal(judge_with(0, frame("t0_1", 9, 9)), -1);   /* begins elsewhere */
	assert_int_equal(judge_with(0, frame("t0_0", 4, 5)), -1);   /* that line calls another one */
	assert_int_equal(judge_with(0, frame("t1_0", 11, 11)), -1); /* another thread's */
	assert_int_equal(judge_with(0, frame("t9_9", 8, 9)), -1);   /* not there at all */
	assert_int_equal(judge_with(1, frame("t0_0", 4, 6)), -1);   /* the caller has moved on */
	assert_int_equal(judge_with(1, frame("t0_0", 4, 0)), -1);
	assert_int_equal(judge_with(2, frame("t0_drive", 1, 3)), -1);
	assert_int_equal(judge_with(2, ROOT), -1); /* a frame is missing */
	assert_int_equal(judge_with(3, frame("t0_drive", 1, 2)), -1);
}

static void test_edges(void **state)
{
	struct dt_frame library = {.name = "start", .file = "/threading.py", .line = 5, .first_line = 1};
	struct dt_frame away[] = {library, frame("t0_0", 4, 6), frame("t0_drive", 1, 2), ROOT};
	struct dt_frame rootless[] = {frame("t0_0", 4, 6), frame("t0_drive", 1, 2)};

	(void)state;
	assert_int_equal(judge(NULL, away, 4), 0);
	away[1].line = 7;
	assert_int_equal(judge(NULL, away, 4), -1);
	assert_int_equal(judge(NULL, rootless, 2), -1);
	assert_int_equal(judge("hammer-t1", rootless, 2), -1);
	assert_int_equal(judge(NULL, NULL, 0), 0);
	assert_false(rules_idle(rules));
}

static void test_names(void **state)
{
	(void)state;
	assert_int_equal(judge("name-2-17", &ROOT, 1), 0);
	assert_int_equal(judge("name-2-18", &ROOT, 1), -1);
	assert_int_equal(judge("name-2-173", &ROOT, 1), -1);
	assert_int_equal(judge("name-2", &ROOT, 1), -1);
	assert_int_equal(judge("MainThread", &ROOT, 1), 0);
}

static int judge_fresh(const char *name, const char *file, uint32_t first, uint32_t caller_line)
{
	struct dt_frame frames[] = {
	    {.name = name, .file = file, .first_line = first, .line = first + 1},
	    {.name = "outer_500", .file = FRESH "500.py", .first_line = 500, .line = caller_line},
	    ROOT,
	};

	return judge(NULL, frames, 3);
}

static void test_fresh_code(void **state)
{
	(void)state;
	assert_int_equal(judge_fresh("inner_500", FRESH "500.py", 510, 502), 0);
	assert_int_equal(judge_fresh("inner_500", FRESH "500.py", 20, 502), 0);
	assert_int_equal(judge_fresh("inner_501", FRESH "501.py", 511, 502), -1);
	assert_int_equal(judge_fresh("inner_501", FRESH "500.py", 510, 502), -1);
	assert_int_equal(judge_fresh("inner_500", FRESH "501.py", 510, 502), -1);
	assert_int_equal(judge_fresh("inner_500", FRESH "500.py", 511, 502), -1);
	assert_int_equal(judge_fresh("inner_500", FRESH "500.py", 510, 501), -1);
	assert_int_equal(judge_fresh("inner_500x", FRESH "500.py", 510, 502), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_mixtures),
	    cmocka_unit_test(test_edges),
	    cmocka_unit_test(test_names),
	    cmocka_unit_test(test_fresh_code),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
