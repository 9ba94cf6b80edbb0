/* Whether a source file is the one that the code was made from: what fits, and what shows that it does not. */
#include "unit.h"

#include "base/util.h"
#include "lib/source_fit.h"

#define FRAMES 8

/* One thread; frames are added from the innermost on. */
struct stack {
	struct dt_code codes[FRAMES];
	struct dt_walk_frame frames[FRAMES];
	struct dt_walk_thread walk;
	struct dt_look_thread thread;
	struct dt_look look;
};

static void add(struct stack *stack, const char *file, const char *name, uint32_t first_line, uint32_t line)
{
	size_t at = stack->walk.frame_count++;

	stack->codes[at] = (struct dt_code){.file = file, .name = name, .first_line = first_line};
	stack->frames[at] = (struct dt_walk_frame){.code = &stack->codes[at], .line = line};
	stack->walk.frames = stack->frames;
	stack->thread.walk = &stack->walk;
	stack->look.threads = &stack->thread;
	stack->look.thread_count = 1;
}

static bool fits(const struct stack *stack, const char *file, const char *text)
{
	struct dt_source_users users;
	bool answer;

	assert_int_equal(dt_source_users_init(&users, &stack->look), 0);
	answer = dt_source_fits(&users, file, text, strlen(text));
	dt_source_users_release(&users);
	return answer;
}

static bool one_fits(const char *name, uint32_t first_line, uint32_t line, const char *text)
{
	struct stack stack = {0};

	add(&stack, "/a.py", name, first_line, line);
	return fits(&stack, "/a.py", text);
}

static void definitions_are_found(void **state)
{
	(void)state;
	assert_true(one_fits("f", 2, 3, "import x\ndef f():\n  x()\n"));
	assert_true(one_fits("f", 2, 3, "import x\r\n\tasync  def\tf (\r\n  x): y\r\n"));
	assert_false(one_fits("A.B.f", 1, 1, "class A: pass; pass\n"));
	assert_true(one_fits("A.<locals>.f", 1, 1, "def f(): pass"));
	assert_true(one_fits("A", 1, 1, "\xef\xbb\xbf class A: x = 1"));
	assert_true(one_fits("Alias", 1, 1, "type Alias = list[f()]"));
	assert_false(one_fits("g", 1, 1, "def f(): x = 1"));
	assert_true(one_fits("f", 1, 2, "  @ decorated(\ndef g"));
	assert_true(one_fits("f", 1, 1, "def f"));
	assert_true(one_fits("f", 1, 1, "if ff: class f: x"));
}

static void what_is_near_a_definition_is_none(void **state)
{
	(void)state;
	assert_false(one_fits("f", 1, 1, "f()\n"));
	assert_false(one_fits("f", 1, 1, "def ff():\n"));
	assert_false(one_fits("f", 1, 1, "def _f():\n"));
	assert_false(one_fits("f", 1, 1, "undef f():\n"));
	assert_false(one_fits("f", 1, 1, "deff():\n"));
	assert_false(one_fits("f", 1, 1, "\ndef f():\n"));
	assert_false(one_fits("f", 2, 2, "def f():\n    pass\n"));
	assert_false(one_fits("f", 1, 1, " "));
	assert_false(one_fits("f", 1, 1, ""));
}

/* Code that has no name in the source must lie within the file. */
static void names_that_are_not_written_need_their_line(void **state)
{
	static const char *const names[] = {"<module>",     "f.<locals>.<lambda>", "<listcomp>",
					    "__annotate__", "\xc3\xa4ndern",       ""};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(names); i++) {
		assert_true(one_fits(names[i], 2, 2, "x\ny"));
		assert_false(one_fits(names[i], 3, 3, "x\ny"));
		assert_false(one_fits(names[i], 3, 3, "x\ny\n"));
		assert_true(one_fits(names[i], 0, 0, "x\ny\n"));
	}
	assert_false(one_fits("f", 1, 4, "def f():\n\n\n")); /* the file ends before the line that it is at */
	assert_true(one_fits("f", 1, 3, "def f():\n\n\n"));
}

/* One frame that does not fit is enough, wherever it is; other files do not matter. */
static void all_frames_of_a_file_are_asked(void **state)
{
	static const char text[] = "def f():\n    g()\ndef g():\n    pass\n";
	struct stack stack = {0};

	(void)state;
	add(&stack, "/b.py", "g", 3, 4);
	add(&stack, "/a.py", "elsewhere", 7, 9);
	add(&stack, "/b.py", "f", 1, 2);
	add(&stack, "/b.py", "f", 1, 2);
	assert_true(fits(&stack, "/b.py", text));
	assert_false(fits(&stack, "/a.py", text));
	add(&stack, "/c.py", "h", 2, 2);
	assert_true(fits(&stack, "/b.py", text));
	add(&stack, "/b.py", "h", 2, 2);
	assert_false(fits(&stack, "/b.py", text));
}

/* A line without an end is not searched for each of its functions. */
static void long_lines_fit(void **state)
{
	char *text = malloc(100000);

	(void)state;
	memset(text, 'x', 100000);
	text[99999] = '\0';
	assert_true(one_fits("f", 1, 1, text));
	text[4000] = '\0';
	assert_false(one_fits("f", 1, 1, text));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(definitions_are_found),
	    cmocka_unit_test(what_is_near_a_definition_is_none),
	    cmocka_unit_test(names_that_are_not_written_need_their_line),
	    cmocka_unit_test(all_frames_of_a_file_are_asked),
	    cmocka_unit_test(long_lines_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
