/*
 * A live process, by process_vm_readv: one call for up to IOV_MAX ranges. Where that call is refused the file
 * /proc/PID/mem is read instead, one pread per range. The file is opened below the borrowed /proc/PID directory, so it
 * is the same process for sure; and it stays bound to the memory that the process had then: after an exec or the end it
 * reads as empty, which is reported as -ESRCH.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/util.h"
#include "mem/reader.h"

#define BATCH      1024              /* IOV_MAX of the kernel */
#define FEW        32                /* ranges, which several threads may read at once */
#define BATCH_SIZE ((size_t)1 << 30) /* the kernel cuts a call at 2 GiB, which would look like a fault */

struct live {
	struct dt_mem mem;
	int pid;
	int proc_dir; /* borrowed */
	int file;     /* /proc/PID/mem once process_vm_readv was refused, else -1 */
	int witness;  /* the same of dt_live_watch(), else -1. Never read through: permission is asked for anew */
	struct iovec local[BATCH], remote[BATCH]; /* for the one thread that reads many ranges at once */
};

static int read_file(struct live *live, const struct dt_range *range)
{
	size_t done = 0;

	if (range->address > INT64_MAX || range->size > INT64_MAX - range->address)
		return -EFAULT;
	while (done < range->size) {
		ssize_t got = pread(live->file, (char *)range->buffer + done, range->size - done,
				    (off_t)(range->address + done));

		live->mem.stats.calls++;
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == EIO ? -EFAULT : -errno;
		if (got == 0)
			return -ESRCH;
		done += (size_t)got;
		live->mem.stats.bytes += (uint64_t)got;
	}
	return 0;
}

static ssize_t gather_file(struct live *live, const struct dt_range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int rc = read_file(live, &ranges[i]);

		if (rc < 0)
			return i ? (ssize_t)i : rc;
	}
	return (ssize_t)count;
}

static int open_file(const struct live *live)
{
	return openat(live->proc_dir, "mem", O_RDONLY | O_CLOEXEC);
}

/* True if /proc/PID/mem is open from now on; else *rc says why it could not be. */
static bool turn_to_file(struct live *live, int *rc)
{
	live->file = open_file(live);
	if (live->file < 0) {
		*rc = errno == ENOENT ? -ESRCH : -errno;
		return false;
	}
	live->mem.stats.way = "/proc/PID/mem";
	return true;
}

/* How many ranges one call may take: at least one. */
static size_t fill(struct iovec *local, struct iovec *remote, size_t most, const struct dt_range *ranges, size_t count)
{
	size_t total = 0, n;

	for (n = 0; n < count && n < most; n++) {
		if (n && ranges[n].size > BATCH_SIZE - total)
			break;
		total += ranges[n].size;
		local[n] = (struct iovec){ranges[n].buffer, ranges[n].size};
		remote[n] = (struct iovec){(void *)(uintptr_t)ranges[n].address, ranges[n].size};
	}
	return n;
}

/* The threads that stop others ask something of their own while somebody else looks: see pause.c. */
static ssize_t call_few(const struct live *live, const struct dt_range *ranges, size_t count, size_t *batch)
{
	struct iovec local[FEW], remote[FEW];

	*batch = fill(local, remote, FEW, ranges, count);
	return process_vm_readv(live->pid, local, *batch, remote, *batch, 0);
}

static ssize_t call_many(struct live *live, const struct dt_range *ranges, size_t count, size_t *batch)
{
	*batch = fill(live->local, live->remote, BATCH, ranges, count);
	return process_vm_readv(live->pid, live->local, *batch, live->remote, *batch, 0);
}

/* The number of leading ranges that `bytes` bytes cover; the kernel stops at the first byte that it cannot read. */
static size_t count_whole(const struct dt_range *ranges, size_t count, size_t bytes)
{
	size_t n;

	for (n = 0; n < count && ranges[n].size <= bytes; n++)
		bytes -= ranges[n].size;
	return n;
}

static ssize_t gather(struct dt_mem *mem, const struct dt_range *ranges, size_t count)
{
	struct live *live = (struct live *)mem;
	size_t done = 0;

	while (live->file < 0 && done < count) {
		size_t batch, whole;
		ssize_t got;

		if (ranges[done].size > BATCH_SIZE)
			return done ? (ssize_t)done : -EINVAL;
		got = count - done <= FEW ? call_few(live, ranges + done, count - done, &batch)
					  : call_many(live, ranges + done, count - done, &batch);
		mem->stats.calls++;
		if (got < 0) {
			int rc = -errno;

			if ((rc == -EPERM || rc == -ENOSYS) && turn_to_file(live, &rc))
				break;
			return done ? (ssize_t)done : rc;
		}
		mem->stats.bytes += (uint64_t)got;
		whole = count_whole(ranges + done, batch, (size_t)got);
		done += whole;
		if (whole < batch)
			return done ? (ssize_t)done : -EFAULT;
	}
	if (done < count) {
		ssize_t rest = gather_file(live, ranges + done, count - done);

		return rest < 0 ? (done ? (ssize_t)done : rest) : (ssize_t)done + rest;
	}
	return (ssize_t)done;
}

static void live_free(struct dt_mem *mem)
{
	struct live *live = (struct live *)mem;

	if (live->file >= 0)
		close(live->file);
	if (live->witness >= 0)
		close(live->witness);
	free(live);
}

static const struct dt_mem_ops live_ops = {gather, live_free};

int dt_mem_open_live(int pid, int proc_dir, struct dt_mem **mem)
{
	struct live *live = malloc(sizeof(*live));

	if (!live)
		return -ENOMEM;
	live->mem = (struct dt_mem){.ops = &live_ops, .stats = {.way = "process_vm_readv"}};
	live->pid = pid;
	live->proc_dir = proc_dir;
	live->file = live->witness = -1;
	*mem = &live->mem;
	return 0;
}

void dt_live_watch(struct dt_mem *mem)
{
	struct live *live = (struct live *)mem;

	if (live->witness < 0)
		live->witness = open_file(live);
}

/* Nothing is read, and no error given, of memory that has no users. */
bool dt_live_replaced(struct dt_mem *mem, uint64_t address)
{
	struct live *live = (struct live *)mem;
	char byte;

	if (live->witness < 0 || address > INT64_MAX)
		return false;
	mem->stats.calls++;
	return pread(live->witness, &byte, 1, (off_t)address) == 0;
}
