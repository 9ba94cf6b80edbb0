/* Snapshots made by hand, in every format, against tests/golden. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/short_command.h"
#include "base/utf8.h"
#include "base/util.h"
#include "format/json_writer.h"
#include "format/processes.h"
#include "golden.h"

static const struct dt_frame nap[] = {
    {.name = "inner", .file = "/srv/app/sleepy.py", .line = 3, .first_line = 2, .source = "time.sleep(1000)"},
    {.name = "Job.run", .file = "/srv/app/sleepy.py", .line = 9, .first_line = 7},
    {.name = "<module>", .file = "/srv/app/sleepy.py", .line = 13, .first_line = 1, .entry = true},
};

static const struct dt_frame worker[] = {
    {.name = "wait",
     .file = "/usr/lib/python3.12/threading.py",
     .line = 355,
     .first_line = 320,
     .source = "waiter.acquire()"},
    {.name = "Pool.get", .file = "/venv/lib/python3.12/site-packages/pool/core.py", .line = 40, .first_line = 30},
    {.name = "step", .file = "/srv/app/a/utils.py", .line = 4, .first_line = 1},
    {.name = "step", .file = "/srv/app/b/utils.py", .line = 4, .first_line = 1},
    {.name = "Thread._bootstrap",
     .file = "/usr/lib/python3.12/threading.py",
     .line = 1030,
     .first_line = 1010,
     .entry = true},
};

static const struct dt_thread threads[] = {
    {.tid = 6852,
     .ns_tid = 6852,
     .ident = 0x7f0000001000,
     .name = "MainThread",
     .state = DT_STATE_SLEEPING,
     .syscall = "clock_nanosleep",
     .main = true,
     .proof = DT_PROOF_STILL,
     .frames = nap,
     .frame_count = DT_COUNT(nap)},
    {.tid = 6853,
     .ns_tid = 12,
     .ident = 0x7f0000002000,
     .name = "worker-1",
     .state = DT_STATE_RUNNING,
     .gil = true,
     .gc = true,
     .proof = DT_PROOF_PERCH,
     .frames = worker,
     .frame_count = DT_COUNT(worker)},
    {.tid = 6854,
     .ident = 0x7f0000003000,
     .state = DT_STATE_GIL_WAIT,
     .interpreter = 2,
     .proof = DT_PROOF_AGREE,
     .frames = nap + 1,
     .frame_count = 2},
    {.ident = 0x7f0000004000,
     .name = "reader",
     .state = DT_STATE_SYSCALL,
     .syscall = "read",
     .torn = true,
     .frames = nap,
     .frame_count = 1},
    {.tid = 6856, .ident = 0x7f0000005000, .proof = DT_PROOF_STILL},
};

static const char *const warnings[] = {"Python 3.16 is newer than this darter knows"};

static const struct dt_snapshot ordinary = {
    .pid = 6852,
    .ppid = 1,
    .version_text = "3.12.1",
    .executable = "/usr/bin/python3.12",
    .library = "/usr/lib/libpython3.12.so.1.0",
    .command = "python sleepy.py --fast",
    .container = "pod shop/cart-7d9f",
    .taken_ns = 1700000000123456789,
    .window_ns = 12345,
    .interpreters = 2,
    .looks = 3,
    .torn = 1,
    .threads = threads,
    .thread_count = DT_COUNT(threads),
    .warnings = warnings,
    .warning_count = DT_COUNT(warnings),
};

/* A target that wants to take over the terminal and the parser. */
static const struct dt_frame evil_frames[] = {
    {.name = "\033]0;owned\a\033[2J",
     .file = "/tmp/a\nThread 1 \"fake\" (running)\n.py",
     .line = 1,
     .source = "x = '\x9b'"},
    {.name = "ev\xe2\x80\xaelive", .file = "\xff\xfe\x80", .line = 0},
    {.name = "\"},{\"pid\":1,\"x\":\"\\", .file = "</script>", .line = UINT32_MAX},
    {.name = "функция_🐍", .file = "/каталог/модуль.py", .line = 7},
    {.name = NULL, .file = NULL},
};
static const struct dt_thread evil_threads[] = {
    {.tid = 7,
     .ident = UINT64_MAX,
     .name = "a\r\nb\x7f\x01",
     .interpreter = INT64_MIN,
     .state = (enum dt_state)99,
     .proof = (enum dt_proof)99,
     .frames = evil_frames,
     .frame_count = DT_COUNT(evil_frames)},
};
static const struct dt_snapshot evil = {
    .pid = 7,
    .version_text = "3.13.0",
    .version.free_threaded = true,
    .executable = "/tmp/\033[31mpython",
    .command = "python\n-c\nimport os\xc3",
    .taken_ns = UINT64_MAX,
    .threads = evil_threads,
    .thread_count = DT_COUNT(evil_threads),
};

static const struct dt_render plain = {0}, colored = {.color = true};

static void test_text(void **state)
{
	struct golden golden;

	(void)state;
	assert_int_equal(dt_render_text(&ordinary, &plain, golden_begin(&golden)), 0);
	golden_end(&golden, "dump.txt");
	assert_int_equal(dt_render_text(&ordinary, &colored, golden_begin(&golden)), 0);
	golden_end(&golden, "dump-color.txt");
	assert_int_equal(dt_render_text(&ordinary,
					&(struct dt_render){.full_names = true, .verbose = true, .max_frames = 2},
					golden_begin(&golden)),
			 0);
	golden_end(&golden, "dump-verbose.txt");
	assert_int_equal(dt_render_text(&evil, NULL, golden_begin(&golden)), 0);
	golden_end(&golden, "dump-hostile.txt");
}

static void test_threads_alone(void **state)
{
	struct dt_snapshot two = ordinary;
	struct golden golden;

	(void)state;
	two.thread_count = 2;
	assert_int_equal(dt_render_threads_text(&two, &plain, golden_begin(&golden)), 0);
	golden_end(&golden, "dump-threads.txt");
}

static void test_json(void **state)
{
	static struct dt_failure failures[2];
	const struct dt_format *json = dt_format_by_name("json");
	struct golden golden;
	FILE *out = golden_begin(&golden);

	(void)state;
	failures[0].pid = 99;
	dt_fail(&failures[0].error, DT_EPERMISSION, "process 99 may not be \"read\"");
	dt_hint(&failures[0].error, "sudo darter dump 99");
	dt_hint(&failures[0].error, "or something else");
	failures[1].pid = 100;
	dt_fail(&failures[1].error, DT_ENOTFOUND, "there is no process 100");
	assert_int_equal(json->begin(out), 0);
	assert_int_equal(json->snapshot(&ordinary, &plain, true, out), 0);
	assert_int_equal(json->snapshot(&evil, &(struct dt_render){.max_frames = 4}, false, out), 0);
	assert_int_equal(json->end(failures, DT_COUNT(failures), out), 0);
	golden_end(&golden, "dump.json");
	assert_int_equal(dt_render_json(&(struct dt_snapshot){.pid = 5}, golden_begin(&golden)), 0);
	golden_end(&golden, "dump-empty.json");
}

/* As safe on a terminal as other text; what is visible stays as it is. */
static void test_json_hides_nothing(void **state)
{
	static const struct {
		const char *text, *written;
	} cases[] = {
	    {"a\x1b\x7f\xc2\x9b", "a\\u001b\\u007f\\u009b"},
	    {"\xc2\xad\xd8\x9c\xcd\x8f", "\\u00ad\\u061c\\u034f"},
	    {"\xe2\x80\xae\xef\xbb\xbf\xef\xbf\xbe", "\\u202e\\ufeff\\ufffe"},
	    {"\xf3\xa0\x80\x81\xf3\xa0\x81\xbf", "\\udb40\\udc01\\udb40\\udc7f"},
	    {"\xf0\x9d\x85\xb3\xf4\x8f\xbf\xbf", "\\ud834\\udd73\\udbff\\udfff"},
	    {"\xc3\xa9\xf0\x9f\x90\x8d\"\\\n", "\xc3\xa9\xf0\x9f\x90\x8d\\\"\\\\\\n"},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		char *text = NULL, expected[64];
		size_t size;
		struct dt_json json = {.out = open_memstream(&text, &size)};

		assert_non_null(json.out);
		dt_json_text(&json, NULL, cases[i].text);
		assert_int_equal(fclose(json.out), 0);
		snprintf(expected, sizeof(expected), "\"%s\"", cases[i].written);
		assert_string_equal(text, expected);
		free(text);
	}
}

static void test_core(void **state)
{
	static const struct dt_core_death killed = {
	    .file = "/var/\033crash/core.6852",
	    .signal = 11,
	    .signal_name = "SIGSEGV",
	    .cause = "there is no memory at address 0x0",
	    .has_address = true,
	    .instruction = 0x7f0000abc000,
	    .module = "/srv/app/_speed\nups.so",
	    .module_offset = 0x1a2b,
	    .size = 1000,
	    .whole_size = 2000,
	};
	static const struct dt_core_death alive = {.file = "core", .size = 1000, .whole_size = 1000};
	static const struct dt_thread dead[] = {
	    {.tid = 6853,
	     .ns_tid = 12,
	     .state = DT_STATE_RUNNING,
	     .gil = true,
	     .faulting = true,
	     .torn = true,
	     .frames = nap,
	     .frame_count = 1},
	    {.tid = 6852,
	     .state = DT_STATE_SLEEPING,
	     .syscall = "futex",
	     .main = true,
	     .frames = nap,
	     .frame_count = 3},
	};
	struct dt_snapshot snapshot = ordinary;
	struct golden golden;

	(void)state;
	snapshot.core = &killed;
	snapshot.threads = dead;
	snapshot.thread_count = DT_COUNT(dead);
	assert_int_equal(dt_render_text(&snapshot, &plain, golden_begin(&golden)), 0);
	golden_end(&golden, "dump-core.txt");
	assert_int_equal(dt_render_json(&snapshot, golden_begin(&golden)), 0);
	golden_end(&golden, "dump-core.json");
	snapshot.core = &alive;
	snapshot.thread_count = 0;
	assert_int_equal(dt_render_text(&snapshot, &plain, golden_begin(&golden)), 0);
	golden_end(&golden, "dump-core-alive.txt");
	assert_int_equal(dt_render_json(&snapshot, golden_begin(&golden)), 0);
	golden_end(&golden, "dump-core-alive.json");
}

/* 100,000 times the same frame is one line in the text, and all of it in JSON. */
static void test_recursion_is_folded(void **state)
{
	enum { DEPTH = 100000 };
	struct dt_frame *frames = calloc(DEPTH, sizeof(*frames));
	struct dt_thread thread = {.tid = 1, .state = DT_STATE_RUNNING, .frames = frames, .frame_count = DEPTH};
	struct dt_snapshot deep = {
	    .pid = 1, .version_text = "3.12.1", .command = "deep", .threads = &thread, .thread_count = 1};
	struct golden golden;
	size_t size, seen = 0;
	char *data;
	FILE *out;

	(void)state;
	assert_non_null(frames);
	for (size_t i = 0; i < DEPTH; i++)
		frames[i] = (struct dt_frame){.name = "fall", .file = "deep.py", .line = i < 8 ? 2 : 4};
	frames[DEPTH - 1] = (struct dt_frame){.name = "<module>", .file = "deep.py", .line = 6};
	assert_int_equal(dt_render_text(&deep, &plain, golden_begin(&golden)), 0);
	golden_end(&golden, "dump-deep.txt");
	out = open_memstream(&data, &size);
	assert_int_equal(dt_render_json(&deep, out), 0);
	fclose(out);
	for (const char *at = data; at < data + size; at++)
		seen += *at == '{' && !strncmp(at, "{\"name\":\"fall\"", 14);
	assert_int_equal(seen, DEPTH - 1);
	free(data);
	free(frames);
}

static const struct dt_process processes[] = {
    {.pid = 41,
     .version_text = "3.8.18",
     .threads = 1,
     .cpu = 0,
     .rss = 9 << 20,
     .user = "www",
     .command = "/usr/bin/python3 -m http.server --bind 127.0.0.1 --directory /srv/files 8000",
     .function = "BaseServer.serve_forever",
     .file = "/usr/lib/python3.8/socketserver.py",
     .line = 232,
     .state = DT_STATE_SLEEPING},
    {.pid = 1042,
     .version_text = "3.15.0rc1",
     .version.free_threaded = true,
     .threads = 64,
     .cpu = 187.46,
     .rss = (uint64_t)3 << 30,
     .user = "ray",
     .container = "0123456789abcdef0123456789abcdef",
     .command = "ray::train",
     .function = "Trainer.step",
     .file = "/srv/train.py",
     .line = 88,
     .state = DT_STATE_RUNNING},
    {.pid = 77,
     .code = DT_EPERMISSION,
     .reason = "owned by root",
     .threads = 2,
     .cpu = -1,
     .rss = 512 << 10,
     .user = "root",
     .command = "python\033[2J evil"},
    {.pid = 78, .version_text = "3.12.1", .threads = 2, .cpu = 0, .user = "root", .command = "python"},
};

static void test_processes(void **state)
{
	const struct dt_process *rows[DT_COUNT(processes)];
	struct golden golden;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(processes); i++)
		rows[i] = &processes[i];
	dt_processes_sort(rows, DT_COUNT(rows));
	assert_int_equal(rows[0]->pid, 1042);
	assert_int_equal(rows[3]->pid, 77);
	assert_int_equal(dt_processes_text(rows, DT_COUNT(rows), &plain, golden_begin(&golden)), 0);
	golden_end(&golden, "ps.txt");
	assert_int_equal(dt_processes_text(rows, DT_COUNT(rows), &(struct dt_render){.color = true, .columns = 100},
					   golden_begin(&golden)),
			 0);
	golden_end(&golden, "ps-100.txt");
	assert_int_equal(dt_processes_json(rows, DT_COUNT(rows), golden_begin(&golden)), 0);
	golden_end(&golden, "ps.json");
	/* None of these is in a container: the column is left out. */
	assert_int_equal(dt_processes_text(rows + 1, 2, &(struct dt_render){.columns = 80}, golden_begin(&golden)), 0);
	golden_end(&golden, "ps-80.txt");
	assert_int_equal(dt_processes_text(rows + 1, 2, &(struct dt_render){.columns = 60}, golden_begin(&golden)), 0);
	golden_end(&golden, "ps-60.txt");
}

static size_t widest_line(char *text)
{
	size_t widest = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		widest = DT_MAX(widest, dt_columns(line));
	return widest;
}

/* However narrow the terminal is, no line is wider and every row has its state: without it, what sleeps would look like
 * what runs. The line stays where a terminal has room for it. */
static void test_processes_fit(void **state)
{
	static const char *const words[] = {" run ", " sleep ", " call ", " gil ", " stop "};
	static struct dt_process many[5];
	const struct dt_process *rows[DT_COUNT(many)];
	struct golden golden;

	(void)state;
	for (size_t i = 0; i < DT_COUNT(many); i++) {
		many[i] = processes[i % 2];
		many[i].pid = 4194300 + (int)i;
		many[i].file = "a_file_whose_name_goes_on_and_on_and_on.py";
		many[i].line = 12345;
		rows[i] = &many[i];
	}
	many[0].state = DT_STATE_RUNNING;
	many[1].state = DT_STATE_SLEEPING;
	many[2].state = DT_STATE_SYSCALL;
	many[3].state = DT_STATE_GIL_WAIT;
	many[4].state = DT_STATE_STOPPED;
	for (size_t columns = 20; columns <= 250; columns++) {
		struct dt_render render = {.columns = columns};

		assert_int_equal(dt_processes_text(rows, DT_COUNT(rows), &render, golden_begin(&golden)), 0);
		fclose(golden.out);
		for (size_t i = 0; i < DT_COUNT(words); i++)
			assert_non_null(strstr(golden.data, words[i]));
		if (columns >= 26)
			assert_non_null(strstr(golden.data, ":12345)"));
		assert_true(widest_line(golden.data) <= columns);
		free(golden.data);
	}
}

static void test_short_commands(void **state)
{
	static const struct {
		const char *command, *program, *script;
	} cases[] = {
	    {"/usr/bin/python3 /srv/server.py --dir /x/y", "python3 /srv/server.py --dir /x/y", "server.py --dir /x/y"},
	    {"python3 -m http.server 8000", "python3 -m http.server 8000", "http.server 8000"},
	    {"python3.13t -uIm http.server", "python3.13t -uIm http.server", "http.server"},
	    {"python -mpip list", "python -mpip list", "pip list"},
	    {"python -X dev -Wd -W error -u a.py", "python -X dev -Wd -W error -u a.py", "a.py"},
	    {"python --check-hash-based-pycs always a.py", "python --check-hash-based-pycs always a.py", "a.py"},
	    {"/usr/bin/python3.11-dbg -Bc import x", "python3.11-dbg -Bc import x", "-Bc import x"},
	    {"python3 -", "python3 -", "-"},
	    {"/opt/python3", "python3", "python3"},
	    {"python3 -X", "python3 -X", "python3 -X"},
	    {"python3 -m", "python3 -m", "python3 -m"},
	    {"python3 -u", "python3 -u", "python3 -u"},
	    {"python3 /srv/", "python3 /srv/", "srv/"},
	    {"/usr/bin/python-server -x y", "python-server -x y", "python-server -x y"},
	    {"/usr/sbin/uwsgi --ini a.ini", "uwsgi --ini a.ini", "uwsgi --ini a.ini"},
	    {"gunicorn: worker [shop]", "gunicorn: worker [shop]", "gunicorn: worker [shop]"},
	    {"", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		assert_string_equal(dt_command_program(cases[i].command), cases[i].program);
		assert_string_equal(dt_command_script(cases[i].command), cases[i].script);
	}
}

static void test_names_for_files(void **state)
{
	static const struct {
		const char *command, *name;
	} cases[] = {
	    {"/usr/bin/python3 -u /srv/server.py --port 80", "server"},
	    {"python3 -m http.server", "http.server"},
	    {"/usr/bin/python3 -c import time", "python3"},
	    {"python3.13t -Ic pass", "python3.13t"},
	    {"python3 -", "python3"},
	    {"/bin/x y", "x"},
	    {"", "python"},
	};
	char name[64];

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		dt_process_name(0, cases[i].command, name, sizeof(name));
		assert_string_equal(name, cases[i].name);
	}
}

/* Frames of C between those of Python, and a thread that has no others. */
static void test_native(void **state)
{
	static const struct dt_frame mixed[] = {
	    {.name = "sha256_block",
	     .file = "/usr/lib/x86_64-linux-gnu/libcrypto.so.3",
	     .native = true,
	     .address = 0x29c2f3},
	    {.file = "/usr/lib/x86_64-linux-gnu/libcrypto.so.3", .native = true, .address = 0x1f},
	    {.name = "digest", .file = "/srv/app/a/utils.py", .line = 4, .first_line = 1, .entry = true},
	    {.name = "links::Link<int>::\033[2Jleaf\n", .file = "/tmp/e\033vil\n.so", .native = true, .address = 1},
	    {.file = "", .native = true, .address = 0x7f0000001000},
	};
	static const struct dt_thread both[] = {
	    {.tid = 5,
	     .ident = 1,
	     .name = "MainThread",
	     .main = true,
	     .proof = DT_PROOF_PAUSE,
	     .state = DT_STATE_RUNNING,
	     .frames = mixed,
	     .frame_count = DT_COUNT(mixed),
	     .native_missing = "C frames further out are not known"},
	    {.tid = 6,
	     .name = "pool-1",
	     .foreign = true,
	     .state = DT_STATE_RUNNING,
	     .native_missing = "C frames were not seen: it ran, and was not to be stopped"},
	    {.tid = 7,
	     .name = "pool-2",
	     .foreign = true,
	     .proof = DT_PROOF_STILL,
	     .state = DT_STATE_SLEEPING,
	     .syscall = "futex",
	     .frames = mixed,
	     .frame_count = 2},
	};
	const struct dt_snapshot snapshot = {.pid = 5,
					     .version_text = "3.12.1",
					     .command = "python app.py",
					     .threads = both,
					     .thread_count = DT_COUNT(both)};
	struct golden golden;

	(void)state;
	assert_int_equal(dt_render_text(&snapshot, &plain, golden_begin(&golden)), 0);
	golden_end(&golden, "dump-native.txt");
	assert_int_equal(dt_render_json(&snapshot, golden_begin(&golden)), 0);
	golden_end(&golden, "dump-native.json");
}

static void test_torn(void **state)
{
	static const struct {
		struct dt_thread thread;
		const char *words;
	} cases[] = {
	    {{.state = DT_STATE_RUNNING, .torn = true}, "it ran on while it was read"},
	    {{.state = DT_STATE_SLEEPING, .torn = true}, "its frames lead nowhere"},
	    {{.state = DT_STATE_SLEEPING, .torn = true, .frames = nap, .frame_count = 1},
	     "it ran on while it was read"},
	};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		struct dt_snapshot one = {.threads = &cases[i].thread, .thread_count = 1};
		char text[1024] = "";
		FILE *out = fmemopen(text, sizeof(text), "w");

		assert_non_null(out);
		assert_int_equal(dt_render_threads_text(&one, &plain, out), 0);
		fclose(out);
		assert_non_null(strstr(text, cases[i].words));
	}
}

static void test_full_disk(void **state)
{
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	setvbuf(full, NULL, _IONBF, 0);
	errno = 0;
	assert_int_equal(dt_render_text(&ordinary, &plain, full), DT_ERUNTIME);
	assert_int_equal(errno, ENOSPC);
	assert_int_equal(dt_render_json(&ordinary, full), DT_ERUNTIME);
	fclose(full);
}

static void test_table(void **state)
{
	(void)state;
	assert_null(dt_format_by_name("no such format"));
	for (const struct dt_format *const *format = dt_formats(); *format; format++) {
		assert_ptr_equal(dt_format_by_name((*format)->name), *format);
		assert_non_null((*format)->snapshot);
		assert_int_equal((*format)->extension[0], '.');
		assert_true(strlen((*format)->description) > 10);
	}
}

static void test_names(void **state)
{
	(void)state;
	assert_string_equal(dt_state_name(DT_STATE_GIL_WAIT), "waiting for the GIL");
	assert_string_equal(dt_state_name((enum dt_state)99), "unknown");
	assert_string_equal(dt_proof_name(DT_PROOF_PERCH), "perch");
	assert_string_equal(dt_proof_name((enum dt_proof)99), "none");
	assert_string_equal(dt_error_name(DT_ENOTFOUND), "not found");
	assert_string_equal(dt_error_name(12), "runtime");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_text),           cmocka_unit_test(test_threads_alone),
	    cmocka_unit_test(test_json),           cmocka_unit_test(test_json_hides_nothing),
	    cmocka_unit_test(test_table),          cmocka_unit_test(test_recursion_is_folded),
	    cmocka_unit_test(test_processes),      cmocka_unit_test(test_processes_fit),
	    cmocka_unit_test(test_short_commands), cmocka_unit_test(test_names),
	    cmocka_unit_test(test_full_disk),      cmocka_unit_test(test_names_for_files),
	    cmocka_unit_test(test_native),         cmocka_unit_test(test_torn),
	    cmocka_unit_test(test_core),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
