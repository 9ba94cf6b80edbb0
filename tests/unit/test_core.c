/* Core files: what is read out of good ones, and that bad ones are refused or do no harm. */
#include "unit.h"

#include <fcntl.h>
#include <signal.h>

#include "base/util.h"
#include "core_opened.h"

static void refused(const struct core_file_maker *m, int code, const char *words)
{
	struct dt_error err = {0};
	struct dt_core *core;

	assert_int_equal(dt_core_open(m->path, NULL, NULL, NULL, &core, &err), code);
	if (!strstr(err.message, words))
		fail_msg("'%s' is not in '%s'", words, err.message);
	unlink(m->path);
}

static void add_process(struct core_file_maker *m)
{
	uint8_t process[136] = {0};
	const int pid = 77, ppid = 7;

	memcpy(process + 24, &pid, 4);
	memcpy(process + 28, &ppid, 4);
	memcpy(process + 40, "sixteen-letters!", 16);
	memcpy(process + 56, "python3 -c pass  ", 17);
	core_file_note(m, NT_PRPSINFO, process, sizeof(process));
}

static void threads_and_signal_are_read(void **state)
{
	struct core_file_maker m;
	const struct dt_core_info *info;
	struct dt_core *core;
	uint8_t siginfo[128] = {SIGSEGV, 0, 0, 0, 0, 0, 0, 0, SEGV_MAPERR, [16] = 0x10, 0x20};
	uint8_t other[128] = {SIGSEGV, 0, 0, 0, 0, 0, 0, 0, SEGV_ACCERR};

	(void)state;
	core_file_begin(&m);
	core_file_thread(&m, 78, SIGSEGV, 0x7000, -1);
	add_process(&m);
	core_file_note(&m, NT_SIGINFO, siginfo, sizeof(siginfo));
	core_file_thread(&m, 77, SIGSEGV, 0x8000, 202);
	core_file_note(&m, NT_SIGINFO, other, sizeof(other));
	core_file_load(&m, 0x10000, 0x2000, 0x4000, 0x2000, PF_R | PF_W);
	core_file_write(&m, 0x6000);
	core = opened(&m);
	info = dt_core_info(core);
	assert_int_equal(info->pid, 77);
	assert_int_equal(info->ppid, 7);
	assert_string_equal(info->name, "sixteen-letters!");
	assert_string_equal(info->command, "python3 -c pass");
	assert_int_equal(info->signal, SIGSEGV);
	assert_int_equal(info->signal_code, SEGV_MAPERR);
	assert_true(info->has_address);
	assert_int_equal(info->address, 0x2010);
	assert_int_equal(info->thread_count, 2);
	assert_int_equal(info->threads[0].tid, 78);
	assert_int_equal(info->threads[0].pointer, 0x7000);
	assert_true(info->threads[0].call.running);
	assert_int_equal(info->threads[1].tid, 77);
	assert_false(info->threads[1].call.running);
	assert_int_equal(info->threads[1].call.number, 202);
	assert_int_equal(info->size, info->whole);
	assert_int_equal(byte_at(core, 0x10000), 4);
	assert_int_equal(byte_at(core, 0x11000), 5);
	missing_at(core, 0x12000);
	dt_core_free(core);
}

/* What lies at the place of the sender is the number of a timer, or of a file, where nobody sent the signal. */
static void only_a_signal_that_was_sent_has_a_sender(void **state)
{
	static const struct {
		int code, sender;
	} cases[] = {{SI_USER, 9},  {SI_QUEUE, 9},  {SI_TKILL, 9},   {SI_MESGQ, 9},   {SI_TIMER, 0},
		     {SI_SIGIO, 0}, {SI_KERNEL, 0}, {SI_ASYNCIO, 0}, {SEGV_MAPERR, 0}};

	(void)state;
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		const int siginfo[32] = {SIGSEGV, 0, cases[i].code, 0, 9};
		struct core_file_maker m;
		struct dt_core *core;

		core_file_begin(&m);
		core_file_thread(&m, 78, SIGSEGV, 0, -1);
		core_file_note(&m, NT_SIGINFO, siginfo, sizeof(siginfo));
		core_file_write(&m, 0x4000);
		core = opened(&m);
		assert_int_equal(dt_core_info(core)->signal_code, cases[i].code);
		assert_int_equal(dt_core_info(core)->sender, cases[i].sender);
		assert_int_equal(dt_core_info(core)->has_address, cases[i].code == SEGV_MAPERR);
		dt_core_free(core);
	}
}

/* aarch64 has the number of the call and the thread pointer in notes behind the status of their thread. */
static void threads_of_aarch64_are_read(void **state)
{
	const uint64_t pointer = 0x7000;
	const int32_t futex = 98, none = -1;
	struct core_file_maker m;
	const struct dt_core_info *info;
	struct dt_core *core;
	uint64_t status[49] = {0};

	(void)state;
	core_file_begin(&m);
	m.header.e_machine = EM_AARCH64;
	core_file_note_of(&m, "LINUX", 0x401, &pointer, sizeof(pointer)); /* nobody's */
	for (uint64_t i = 0; i < 34; i++)
		status[14 + i] = 0x100 + i;
	for (int tid = 5; tid < 8; tid++) {
		memcpy((char *)status + 32, &tid, sizeof(tid));
		core_file_note(&m, NT_PRSTATUS, status, sizeof(status));
		if (tid == 6)
			core_file_note_of(&m, "LINUX", 0x401, &pointer, sizeof(pointer));
		if (tid < 7)
			core_file_note_of(&m, "LINUX", 0x404, tid == 5 ? &none : &futex, sizeof(none));
	}
	core_file_note_of(&m, "LINUX", 0x404, &futex, 3); /* too short */
	core_file_note_of(&m, "LINUX", 0x401, &pointer, 7);
	core_file_write(&m, 0x4000);
	core = opened(&m);
	info = dt_core_info(core);
	assert_string_equal(info->machine->name, "aarch64");
	assert_int_equal(info->thread_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct dt_core_thread *thread = &info->threads[i];

		assert_int_equal(thread->tid, 5 + i);
		assert_int_equal(thread->told, i < 2);
		assert_int_equal(thread->pointer, i == 1 ? pointer : 0);
		assert_int_equal(thread->call.running, i != 1);
		assert_int_equal(thread->call.number, i == 1 ? futex : -1);
		assert_int_equal(thread->call.args[0], 0x100);
		assert_int_equal(thread->call.args[5], 0x105);
		assert_int_equal(thread->call.sp, 0x11f);
		assert_int_equal(thread->call.pc, 0x120);
	}
	assert_string_equal(dt_machine_call(info->machine, info->threads[1].call.number), "futex");
	dt_core_free(core);
}

/* The bottom of a stack at 0x10000, as the kernel makes it: the note has 80 bytes of the arguments, this has all. */
static void the_whole_command_is_found(uint64_t argc, const char *expected)
{
	uint64_t words[0x200] = {argc, 0x10800, 0x10808, 0, 0x10a00, 0x10a08, 0};
	const uint64_t auxv[16] = {AT_PHDR, 0x400040, AT_EXECFN, 0x10ff0, AT_PAGESZ, 4096, AT_UID, 1, AT_GID, 2};
	struct core_file_maker m;
	struct dt_core *core;
	int fd;

	memcpy(words + 7, auxv, sizeof(auxv));
	memcpy((char *)words + 0x800, "python3", 8);
	memset((char *)words + 0x808, 'x', 400);
	core_file_begin(&m);
	add_process(&m);
	core_file_note(&m, NT_AUXV, auxv, sizeof(auxv));
	core_file_load(&m, 0x10000, 0x1000, 0x4000, 0x1000, PF_R | PF_W);
	core_file_write(&m, 0x5000);
	fd = open(m.path, O_WRONLY | O_CLOEXEC);
	assert_int_equal(pwrite(fd, words, sizeof(words), 0x4000), sizeof(words));
	close(fd);
	core = opened(&m);
	assert_string_equal(dt_core_info(core)->command, expected);
	dt_core_free(core);
}

static void commands_are_read_from_the_stack(void **state)
{
	char whole[512] = "python3 ";

	(void)state;
	memset(whole + 8, 'x', 400);
	the_whole_command_is_found(2, whole);
	the_whole_command_is_found(3, "python3 -c pass"); /* the number does not fit: the note is believed */
	the_whole_command_is_found(0, "python3 -c pass");
}

static void a_stopped_process_was_alive(void **state)
{
	struct core_file_maker m;
	struct dt_core *core;

	(void)state;
	core_file_begin(&m);
	core_file_thread(&m, 78, SIGSTOP, 0, 0);
	core_file_write(&m, 0x4000);
	core = opened(&m);
	assert_int_equal(dt_core_info(core)->signal, 0);
	dt_core_free(core);
}

static void a_cut_core_is_read_as_far_as_it_goes(void **state)
{
	struct core_file_maker m;
	struct dt_core *core;

	(void)state;
	core_file_begin(&m);
	core_file_thread(&m, 78, SIGABRT, 0, -1);
	core_file_load(&m, 0x10000, 0x3000, 0x4000, 0x3000, PF_R | PF_W);
	core_file_load(&m, 0x20000, 0x1000, 0x7000, 0x1000, PF_R | PF_W);
	core_file_write(&m, 0x5800);
	core = opened(&m);
	assert_int_equal(dt_core_info(core)->size, 0x5800);
	assert_int_equal(dt_core_info(core)->whole, 0x8000);
	assert_int_equal(byte_at(core, 0x10000), 4);
	assert_int_equal(byte_at(core, 0x117ff), 0);
	missing_at(core, 0x11800);
	missing_at(core, 0x20000);
	dt_core_free(core);
}

/* Whatever their length, the headers are there or they are not. */
static void cut_headers_are_refused(void **state)
{
	(void)state;
	for (size_t size = 0; size < sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr); size += 7) {
		struct core_file_maker m;

		core_file_begin(&m);
		core_file_thread(&m, 78, SIGABRT, 0, -1);
		core_file_load(&m, 0x10000, 0x1000, 0x4000, 0x1000, PF_R | PF_W);
		core_file_write(&m, size);
		refused(&m, DT_ERUNTIME, !size ? "is empty" : "cut short");
	}
}

static void other_files_are_refused(void **state)
{
	struct core_file_maker m;
	struct dt_error err;
	struct dt_core *core;

	(void)state;
	core_file_begin(&m);
	m.header.e_type = ET_DYN;
	core_file_write(&m, 0x4000);
	refused(&m, DT_ERUNTIME, "is a program or library");
	core_file_begin(&m);
	m.header.e_machine = EM_RISCV;
	core_file_write(&m, 0x4000);
	refused(&m, DT_EUNSUPPORTED, "(riscv); darter reads cores of x86_64 and aarch64");
	core_file_begin(&m);
	m.header.e_machine = EM_386;
	m.header.e_ident[EI_CLASS] = ELFCLASS32;
	core_file_write(&m, 0x4000);
	refused(&m, DT_EUNSUPPORTED, "of a 32-bit program");
	core_file_begin(&m);
	m.header.e_ident[EI_CLASS] = ELFCLASS32; /* and x86_64: a forgery, or x32 */
	core_file_write(&m, 0x4000);
	refused(&m, DT_EUNSUPPORTED, "of a 32-bit program");
	core_file_begin(&m);
	m.header.e_ident[EI_CLASS] = 7;
	core_file_write(&m, 0x4000);
	refused(&m, DT_ERUNTIME, "headers of");
	core_file_begin(&m);
	m.header.e_machine = 0x1234;
	core_file_write(&m, 0x4000);
	refused(&m, DT_EUNSUPPORTED, "number 4660");
	assert_int_equal(dt_core_open("/no such file", NULL, NULL, NULL, &core, &err), DT_ENOTFOUND);
	assert_int_equal(dt_core_open("/dev/null", NULL, NULL, NULL, &core, &err), DT_ERUNTIME);
	assert_int_equal(dt_core_open("/tmp", NULL, NULL, NULL, &core, &err), DT_ERUNTIME);
	core_file_begin(&m);
	core_file_write(&m, 0x4000);
	assert_int_equal(dt_core_open(m.path, "/dev/null", NULL, NULL, &core, &err), DT_EUSAGE);
	assert_string_equal(err.message, "--root: /dev/null is no directory");
	assert_int_equal(dt_core_open(m.path, "/no such directory", NULL, NULL, &core, &err), DT_ENOTFOUND);
	assert_string_equal(err.message, "--root: there is no directory /no such directory");
	unlink(m.path);
}

/* Whether it will be needed or not. */
static void programs_that_cannot_be_that_of_the_core_are_refused(void **state)
{
	static const struct {
		const char *exe;
		int code;
		const char *message;
	} cases[] = {
	    {"/no such file", DT_ENOTFOUND, "--exe: there is no file /no such file"},
	    {"/tmp", DT_EUSAGE, "--exe: /tmp is no file"},
	    {"/dev/null", DT_EUSAGE, "--exe: /dev/null is no file"},
	    {"/etc/passwd", DT_ERUNTIME, "--exe: /etc/passwd is no 64-bit program"},
	};
	struct core_file_maker m, other;
	struct dt_core *core;
	struct dt_error err;

	(void)state;
	core_file_begin(&m);
	core_file_write(&m, 0x4000);
	for (size_t i = 0; i < DT_COUNT(cases); i++) {
		assert_int_equal(dt_core_open(m.path, NULL, cases[i].exe, NULL, &core, &err), cases[i].code);
		assert_string_equal(err.message, cases[i].message);
	}
	assert_int_equal(dt_core_open(m.path, NULL, m.path, NULL, &core, &err), DT_ERUNTIME);
	assert_non_null(strstr(err.message, "is a core file, not a program"));
	core_file_begin(&other);
	other.header.e_type = ET_DYN;
	other.header.e_machine = EM_AARCH64;
	core_file_write(&other, 0x4000);
	assert_int_equal(dt_core_open(m.path, NULL, other.path, NULL, &core, &err), DT_ERUNTIME);
	assert_non_null(strstr(err.message, "is a program of aarch64, and the core is of x86_64"));
	unlink(other.path);
	unlink(m.path);
}

/* 'lz4 -l' */
static void the_old_format_of_lz4_is_named(void **state)
{
	struct core_file_maker m;

	(void)state;
	core_file_begin(&m);
	memcpy(m.header.e_ident, "\x02\x21\x4c\x18", 4);
	core_file_write(&m, 0x4000);
	refused(&m, DT_EUNSUPPORTED, "is compressed with lz4 in its old format");
}

static void segments_that_wrap_around_are_refused(void **state)
{
	struct core_file_maker m;

	(void)state;
	core_file_begin(&m);
	core_file_load(&m, UINT64_MAX - 0xfff, 0x2000, 0x4000, 0x1000, PF_R);
	core_file_write(&m, 0x5000);
	refused(&m, DT_ERUNTIME, "damaged");
	core_file_begin(&m);
	core_file_load(&m, 0x10000, 0x2000, UINT64_MAX - 0xfff, 0x2000, PF_R);
	core_file_write(&m, 0x5000);
	refused(&m, DT_ERUNTIME, "damaged");
	core_file_begin(&m);
	m.header.e_phnum = PN_XNUM;
	core_file_write(&m, 0x5000);
	refused(&m, DT_ERUNTIME, "damaged");
}

/* Larger than memory and disk: nothing is done for bytes that are not there. */
static void giant_segments_cost_nothing(void **state)
{
	struct core_file_maker m;
	struct dt_core *core;

	(void)state;
	core_file_begin(&m);
	core_file_load(&m, 0, (uint64_t)1 << 63, 0x4000, (uint64_t)1 << 62, PF_R | PF_W);
	core_file_write(&m, 0x5000);
	core = opened(&m);
	assert_int_equal(byte_at(core, 0), 4);
	missing_at(core, 0x1000);
	assert_true(dt_core_info(core)->whole > (uint64_t)1 << 61);
	dt_core_free(core);
}

static void silly_notes_do_no_harm(void **state)
{
	static const uint32_t types[] = {NT_PRSTATUS, NT_PRPSINFO, NT_SIGINFO, NT_FILE, NT_AUXV};
	static const uint64_t counts[] = {0, 1, 2, 1000, (uint64_t)1 << 32, (uint64_t)1 << 60, UINT64_MAX};
	struct core_file_maker m;
	struct dt_core *core;

	(void)state;
	for (size_t t = 0; t < DT_COUNT(types); t++)
		for (size_t size = 0; size < 400; size += 13) {
			uint8_t bytes[400];

			memset(bytes, 0xff, sizeof(bytes));
			core_file_begin(&m);
			core_file_note(&m, types[t], bytes, size);
			m.notes_size -= size % 4; /* the segment ends within the note */
			core_file_write(&m, 0x4000);
			core = opened(&m);
			assert_true(dt_core_info(core)->thread_count <= 1);
			assert_int_equal(dt_core_maps(core)->count, 0);
			dt_core_free(core);
		}
	for (size_t i = 0; i < DT_COUNT(counts); i++) {
		const uint64_t files[] = {counts[i], 4096, 0x1000, 0x2000, 0, 0x2f};

		core_file_begin(&m);
		core_file_note(&m, NT_FILE, files, sizeof(files));
		core_file_write(&m, 0x4000);
		core = opened(&m);
		assert_int_equal(dt_core_maps(core)->count, counts[i] == 1);
		dt_core_free(core);
	}
}

/* Each of these would cost memory again each time. */
static void what_there_is_one_of_is_read_once(void **state)
{
	const uint64_t senseless[] = {1, 0, 0x1000, 0x2000, 0, 0x2f}, files[] = {1, 4096, 0x1000, 0x2000, 0, 0x2f};
	const uint8_t nobody[136] = {0};
	struct core_file_maker m;
	struct dt_core *core;

	(void)state;
	core_file_begin(&m);
	core_file_note(&m, NT_FILE, senseless, sizeof(senseless));
	core_file_note(&m, NT_FILE, files, sizeof(files));
	add_process(&m);
	core_file_note(&m, NT_PRPSINFO, nobody, sizeof(nobody));
	core_file_write(&m, 0x4000);
	core = opened(&m);
	assert_int_equal(dt_core_maps(core)->count, 0);
	assert_int_equal(dt_core_info(core)->pid, 77);
	dt_core_free(core);
}

static void note_segments_that_overlap_are_read_once(void **state)
{
	struct core_file_maker m;
	struct dt_core *core;

	(void)state;
	core_file_begin(&m);
	for (int tid = 1; tid < 5; tid++)
		core_file_thread(&m, tid, SIGABRT, 0, -1);
	core_file_load(&m, 0, 0, 0x1000, m.notes_size, 0)->p_type = PT_NOTE;
	core_file_load(&m, 0, 0, 0x1000 + m.notes_size / 4, m.notes_size, 0)->p_type = PT_NOTE;
	core_file_load(&m, 0, 0, 0x1000 + m.notes_size / 2, m.notes_size / 2, 0)->p_type = PT_NOTE;
	core_file_write(&m, 0x4000);
	core = opened(&m);
	assert_int_equal(dt_core_info(core)->thread_count, 4);
	dt_core_free(core);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(threads_and_signal_are_read),
	    cmocka_unit_test(only_a_signal_that_was_sent_has_a_sender),
	    cmocka_unit_test(threads_of_aarch64_are_read),
	    cmocka_unit_test(commands_are_read_from_the_stack),
	    cmocka_unit_test(a_stopped_process_was_alive),
	    cmocka_unit_test(a_cut_core_is_read_as_far_as_it_goes),
	    cmocka_unit_test(cut_headers_are_refused),
	    cmocka_unit_test(other_files_are_refused),
	    cmocka_unit_test(programs_that_cannot_be_that_of_the_core_are_refused),
	    cmocka_unit_test(the_old_format_of_lz4_is_named),
	    cmocka_unit_test(segments_that_wrap_around_are_refused),
	    cmocka_unit_test(giant_segments_cost_nothing),
	    cmocka_unit_test(silly_notes_do_no_harm),
	    cmocka_unit_test(what_there_is_one_of_is_read_once),
	    cmocka_unit_test(note_segments_that_overlap_are_read_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
