/*
 * Walks the stack of this program, and compares with what each function knew of its caller and, with glibc, with the
 * unwinder of the compiler. Built without frame pointers; some functions have one nevertheless (memory of any size on
 * the stack), or none but an aligned stack.
 */
#include "unit.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <unwind.h>

#include "base/util.h"
#include "native/unwind.h"

#define DEPTH     64
#define STEADY    __attribute__((noinline))
#define BELOW     (16 << 10) /* bytes of the stack below the test that whoever it called may have used */
#define ALTERNATE (256 << 10)

struct copy {
	uint64_t address;
	size_t size;
	uint64_t *words;
};

static struct {
	struct dt_unwind_module list[64];
	struct dt_cfi tables[64];
	size_t count;
} modules;

/* What functions saw of themselves, outermost first. */
static volatile uint64_t truth[DEPTH];
static volatile size_t truth_count;

static struct {
	struct dt_unwind_frame frames[DEPTH];
	size_t count;
	enum dt_unwind_end end;
	uint64_t reference[DEPTH];
	size_t reference_count;
} seen;

static bool without_fp;
/* Read by a signal handler, of which the compiler knows nothing. */
static char *volatile alternate; /* a stack for signals */
static volatile uint64_t lowest; /* of the stack; 0: from where the registers say */

static ssize_t read_own(void *context, uint64_t offset, void *buffer, size_t size)
{
	memcpy(buffer, (const char *)context + offset, size);
	return (ssize_t)size;
}

static int compile(const struct dl_phdr_info *info, struct dt_cfi *table)
{
	dt_auto_close int fd = open(*info->dlpi_name ? info->dlpi_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct dt_elf *elf = NULL;
	/* What has no file is the kernel's. */
	int rc = fd < 0 ? dt_elf_open_image_at(read_own, (void *)info->dlpi_addr, info->dlpi_addr, &elf) // NOLINT
			: dt_elf_open(fd, &elf);

	if (rc < 0 || !elf)
		return rc;
	rc = dt_cfi_compile(elf, table);
	dt_elf_free(elf);
	return rc;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct dt_unwind_module module = {.start = UINT64_MAX, .bias = info->dlpi_addr};
	struct dt_cfi *table = &modules.tables[modules.count];

	(void)size;
	(void)context;
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];

		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		module.start = DT_MIN(module.start, module.bias + segment->p_vaddr);
		module.end = DT_MAX(module.end, module.bias + segment->p_vaddr + segment->p_memsz);
	}
	if (modules.count == DT_COUNT(modules.list) || !module.end)
		return 0;
	if (compile(info, table) == 0)
		module.table = table;
	modules.list[modules.count++] = module;
	return 0;
}

static bool find(void *context, uint64_t address, struct dt_unwind_module *module)
{
	(void)context;
	for (size_t i = 0; i < modules.count; i++) {
		*module = modules.list[i];
		if (address >= module->start && address < module->end)
			return true;
	}
	return false;
}

static uint64_t stack_top(void)
{
	pthread_attr_t attributes;
	void *address;
	size_t size;

	assert_int_equal(pthread_getattr_np(pthread_self(), &attributes), 0);
	assert_int_equal(pthread_attr_getstack(&attributes, &address, &size), 0);
	pthread_attr_destroy(&attributes);
	return (uint64_t)(uintptr_t)address + size;
}

/* memcpy() would be told apart by the sanitizer: not all of a stack is variables. */
__attribute__((no_sanitize("address"))) static struct copy copy_of(uint64_t from, uint64_t to)
{
	struct copy copy = {.address = from & ~UINT64_C(7)};
	const volatile uint64_t *words = (const uint64_t *)(uintptr_t)copy.address; // NOLINT

	copy.size = (size_t)(to - copy.address) & ~(size_t)7;
	copy.words = malloc(copy.size);
	if (!copy.words)
		abort();
	for (size_t i = 0; i < copy.size / 8; i++)
		copy.words[i] = words[i];
	return copy;
}

#ifdef __GLIBC__
static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *unused)
{
	int before = 0;
	uint64_t ip = _Unwind_GetIPInfo(context, &before);

	(void)unused;
	if (ip && seen.reference_count < DEPTH)
		seen.reference[seen.reference_count++] = before ? ip : ip - 1;
	return _URC_NO_REASON;
}
#endif

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define HERE(r)                                                                                                        \
	__asm__ volatile("leaq 0(%%rip), %0\n\tmovq %%rsp, %1\n\tmovq %%rbp, %2"                                       \
			 : "=&r"((r).ip), "=&r"((r).sp), "=&r"((r).fp))
#else
#define MACHINE EM_AARCH64
#define HERE(r)                                                                                                        \
	__asm__ volatile("adr %0, .\n\tmov %1, sp\n\tmov %2, x29\n\tmov %3, x30"                                       \
			 : "=&r"((r).ip), "=&r"((r).sp), "=&r"((r).fp), "=&r"((r).lr))
#endif

static STEADY void look(const struct dt_unwind_registers *registers)
{
	struct copy own = copy_of(lowest ? lowest : registers->sp, stack_top()), other = {0};
	struct dt_unwinder unwinder = {.machine = MACHINE, .find = find};
	struct dt_recorded_range ranges[2] = {{own.address, own.words, own.size}};

	if (alternate) {
		other = copy_of((uint64_t)(uintptr_t)alternate, (uint64_t)(uintptr_t)alternate + ALTERNATE);
		ranges[1] = (struct dt_recorded_range){other.address, other.words, other.size};
	}
	assert_int_equal(dt_mem_open_recorded(ranges, alternate ? 2 : 1, &unwinder.mem), 0);
	seen.count = dt_unwind(&unwinder, registers, seen.frames, DEPTH, &seen.end);
	dt_mem_free(unwinder.mem);
	free(own.words);
	free(other.words);
#ifdef __GLIBC__
	seen.reference_count = 0;
	_Unwind_Backtrace(note, NULL);
#endif
}

#define ENTER() truth[truth_count] = (uint64_t)(uintptr_t)__builtin_return_address(0), truth_count++
#define LEAVE() __asm__ volatile("" ::: "memory") /* no jump in place of the last call */

static STEADY void leaf(void)
{
	struct dt_unwind_registers registers = {0};

	ENTER();
	HERE(registers);
	registers.has_fp = registers.has_lr = !without_fp;
	look(&registers);
	LEAVE();
}

static STEADY void plain(int depth)
{
	ENTER();
	if (depth)
		plain(depth - 1);
	else
		leaf();
	LEAVE();
}

static STEADY void of_any_size(size_t size)
{
	volatile char *bytes = alloca(size);

	ENTER();
	bytes[0] = 1;
	plain(3);
	bytes[size - 1] = 1;
	LEAVE();
}

/* Arguments on the stack are found from before it was aligned. */
static STEADY int aligned(size_t size, int a, int b, int c, int d, int e, int f, int g)
{
	volatile char line[64] __attribute__((aligned(64)));
	volatile char *bytes = alloca(size);

	ENTER();
	line[f & 63] = bytes[0] = 1;
	of_any_size(size);
	LEAVE();
	return line[f & 63] + a + b + c + d + e + f + g;
}

static int compare(const void *a, const void *b)
{
	ENTER();
	if (truth_count == 1)
		leaf();
	LEAVE();
	return *(const int *)a - *(const int *)b;
}

static void begin(void)
{
	truth_count = 0;
	memset(&seen, 0, sizeof(seen));
}

/* leaf() is the first frame; the address that it saw is in the second. */
static void check_truth(void)
{
	assert_true(seen.count > truth_count);
	for (size_t i = 0; i < truth_count; i++)
		assert_int_equal(seen.frames[i + 1].ip + 1, truth[truth_count - 1 - i]);
}

/* The other one begins with look(), where leaf() had not been before. */
static void check_reference(void)
{
#ifdef __GLIBC__
	assert_int_equal(seen.end, DT_UNWIND_WHOLE);
	assert_int_equal(seen.count + 1, seen.reference_count);
	for (size_t i = 1; i < seen.count; i++)
		assert_int_equal(seen.frames[i].ip, seen.reference[i + 1]);
#endif
}

static void a_known_chain_is_walked(void **state)
{
	(void)state;
	begin();
	aligned(1000, 1, 2, 3, 4, 5, 6, 7);
	assert_int_equal(truth_count, 7);
	check_truth();
	check_reference();
}

/* As of a thread in a system call: sp and ip are enough for functions that have no frame pointer. */
static void two_registers_are_enough(void **state)
{
	(void)state;
	begin();
	without_fp = MACHINE == EM_X86_64;
	plain(20);
	without_fp = false;
	assert_int_equal(truth_count, 22);
	check_truth();
}

static void a_call_from_libc_is_walked(void **state)
{
	int numbers[] = {2, 1};

	(void)state;
	begin();
	qsort(numbers, DT_COUNT(numbers), sizeof(*numbers), compare);
	truth_count = 2; /* compare() may have been called again */
#ifdef __GLIBC__
	check_truth();
#endif
	check_reference();
}

static void *thread(void *unused)
{
	ENTER();
	of_any_size(100);
	LEAVE();
	return unused;
}

static void a_thread_is_walked_to_its_start(void **state)
{
	pthread_t id;

	(void)state;
	begin();
	assert_int_equal(pthread_create(&id, NULL, thread, NULL), 0);
	assert_int_equal(pthread_join(id, NULL), 0);
	check_truth();
	check_reference();
}

#ifdef __GLIBC__
static void on_signal(int number)
{
	(void)number;
	ENTER();
	plain(1);
	LEAVE();
}

static STEADY void interrupted(void)
{
	ENTER();
	raise(SIGUSR1);
	LEAVE();
}

static void a_signal_on_another_stack_is_walked(void **state)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	stack_t other = {.ss_sp = malloc(ALTERNATE), .ss_size = ALTERNATE}, none = {.ss_flags = SS_DISABLE};
	char here;
	size_t at = 0;

	(void)state;
	begin();
	assert_non_null(other.ss_sp);
	memset(other.ss_sp, 0, ALTERNATE);
	assert_int_equal(sigaltstack(&other, NULL), 0);
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	alternate = other.ss_sp;
	lowest = (uint64_t)(uintptr_t)&here - BELOW;
	interrupted();
	alternate = NULL;
	lowest = 0;
	sigaltstack(&none, NULL);
	free(other.ss_sp);
	check_reference();
	while (at < seen.count && seen.frames[at].ip + 1 != truth[0])
		at++;
	assert_true(at > 5 && at < seen.count);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_known_chain_is_walked),
	    cmocka_unit_test(two_registers_are_enough),
	    cmocka_unit_test(a_call_from_libc_is_walked),
	    cmocka_unit_test(a_thread_is_walked_to_its_start),
#ifdef __GLIBC__
	    cmocka_unit_test(a_signal_on_another_stack_is_walked),
#endif
	};
	int failed;

	dl_iterate_phdr(add_module, NULL);
	failed = cmocka_run_group_tests_name("unwind_self", tests, NULL, NULL);
	for (size_t i = 0; i < DT_COUNT(modules.tables); i++)
		dt_cfi_release(&modules.tables[i]);
	return failed;
}
