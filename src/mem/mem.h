/*
 * The one way to read a target's memory. Live processes, core files and recordings all look the same from above, so
 * that everything that understands Python is written once. Addresses come from the target and are hostile: a read
 * outside of what is mapped fails with -EFAULT, it never faults here.
 *
 * Errors are negative errnos: -EFAULT (not mapped), -ESRCH (this memory is gone: the process ended or has other memory
 * since an exec, or the thread that it is read through ended), -EPERM / -EACCES (not allowed).
 */
#ifndef DT_MEM_MEM_H
#define DT_MEM_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct dt_mem;

struct dt_range {
	uint64_t address;
	void *buffer;
	size_t size;
};

/* The whole range or an error: 0 or a negative errno. */
int dt_mem_read(struct dt_mem *mem, uint64_t address, void *buffer, size_t size);

/* Many ranges, in order, in as few system calls as can be. Returns how many ranges from the first on were read whole (a
 * range that fails ends it), or a negative errno if the first failed. */
ssize_t dt_mem_gather(struct dt_mem *mem, const struct dt_range *ranges, size_t count);

int dt_mem_read_u32(struct dt_mem *mem, uint64_t address, uint32_t *value);
int dt_mem_read_u64(struct dt_mem *mem, uint64_t address, uint64_t *value);

/* A dt_elf_read_fn for a file's image in memory, whose first byte is at start; its context is a struct dt_mem_from. */
struct dt_mem_from {
	struct dt_mem *mem;
	uint64_t start;
};
ssize_t dt_mem_read_from(void *from, uint64_t offset, void *buffer, size_t size);

void dt_mem_free(struct dt_mem *mem);

struct dt_mem_stats {
	uint64_t calls; /* system calls */
	uint64_t bytes;
	const char *way; /* "process_vm_readv", "/proc/PID/mem", "pieces", "metered", "image", "recorded" */
};
struct dt_mem_stats dt_mem_stats(const struct dt_mem *mem);

/* A live process. proc_dir is a descriptor of /proc/PID (borrowed, must outlive the reader). Where process_vm_readv is
 * refused (EPERM or ENOSYS: a seccomp filter on us, not the target's permissions) /proc/PID/mem is read instead.
 * Several threads may read at once, all but one of them up to 32 ranges in one call. */
int dt_mem_open_live(int pid, int proc_dir, struct dt_mem **mem);

/* After an exec the same addresses may hold another program. dt_live_watch() remembers the memory that the process has
 * now, dt_live_replaced() tells whether that is gone: the process ended, or execed since. It costs a read of one byte
 * at the address, which should be one that is read anyway: it may block as any other. Always false where /proc/PID/mem
 * may not be opened, and while another process shares the memory (vfork). For live readers only. */
void dt_live_watch(struct dt_mem *live);
bool dt_live_replaced(struct dt_mem *live, uint64_t address);

/* A recording: ranges given in memory. What they point to is borrowed. For tests and fuzzing. */
struct dt_recorded_range {
	uint64_t address;
	const void *data;
	size_t size;
};
int dt_mem_open_recorded(const struct dt_recorded_range *ranges, size_t count, struct dt_mem **mem);

/*
 * Memory put together from pieces of files: a core file, and the files that were mapped into the process. A file is a
 * number; it is asked for when a byte of it is first needed, and open() gives a descriptor that stays its owner's, or a
 * negative errno: then its pieces are not mapped. The pieces are copied, in any order; of two that overlap the second
 * is left out. A file that ends early makes the rest of a piece unmapped.
 */
struct dt_piece {
	uint64_t address, size;
	uint64_t offset; /* in the file */
	size_t file;
};
typedef int dt_piece_open_fn(void *context, size_t file);
int dt_mem_open_pieces(const struct dt_piece *pieces, size_t count, dt_piece_open_fn *open, void *context,
		       struct dt_mem **mem);

/* Another reader with a bound on how much is read: spend() is asked before each read or gather, with the bytes that it
 * is about. If it says no the read fails with -ETIMEDOUT. `base` is borrowed. */
typedef bool dt_mem_spend_fn(void *context, size_t bytes);
int dt_mem_open_metered(struct dt_mem *base, dt_mem_spend_fn *spend, void *context, struct dt_mem **mem);

/*
 * An image: a page-wise copy of another reader for one look at the target. The first read of a page fetches all of it,
 * later reads of that page are a memcpy, so code above reads field by field and the kernel is asked page by page. The
 * copy is only as true as the stillness of the target while it is made: that is proven by the sampler, not here.
 *
 * dt_image_begin() forgets everything, except which pages were used; dt_image_prefetch() fetches those again in as few
 * calls as can be (pages that vanished or were not asked for in the last two looks are left out).
 * dt_image_prefetch_and() reads some more in the same call, behind them: true if it did, and all of them are there.
 * What is read later shows in the number of calls. `base` is borrowed and must be readable by whole pages. Pages are
 * bounded by DT_IMAGE_LIMIT: -ENOMEM beyond.
 *
 * Processes that were forked from one have the same pages in use. dt_image_lead() notes in the pool which ones this
 * look has asked for (addresses alone, DT_IMAGE_TRAIL at most), and dt_image_follow() fetches those for the first look
 * of another image, in one call if all of them are there. Where several are not the others are not tried, and what
 * nobody asks for is not fetched again.
 *
 * The bytes lie in a pool, which images of one thread may share: a look with one of them forgets the look of another
 * (which begins anew when it is read again). With pool NULL an image has a pool of its own. An empty pool has no bytes
 * until those of another one are lent to it: so images can go from one thread to another, and each thread has one pool.
 */
#define DT_IMAGE_LIMIT ((size_t)80 << 20) /* 500,000 frames need 45, 10,000 threads 60 */
#define DT_IMAGE_TRAIL ((size_t)128)      /* a first look at an ordinary process asks for 30 */
#define DT_IMAGE_PAGE  ((size_t)1024)     /* a part of the kernel's page: what is not asked for costs time too */
struct dt_image_pool;
int dt_mem_open_image(struct dt_mem *base, struct dt_image_pool *pool, struct dt_mem **image);
struct dt_image_pool *dt_image_pool_new(void); /* NULL if out of memory */
struct dt_image_pool *dt_image_pool_new_empty(void);
void dt_image_pool_free(struct dt_image_pool *pool);
/* Between two looks, and by the thread that the bytes belong to; from NULL: takes back what was lent. */
void dt_image_pool_lend(struct dt_image_pool *empty, struct dt_image_pool *from);
/* Without a word to the thread that lent it, which does not come back: by anybody. */
void dt_image_pool_part(struct dt_image_pool *empty);
void dt_image_begin(struct dt_mem *image);
void dt_image_prefetch(struct dt_mem *image);
void dt_image_lead(struct dt_mem *image);
void dt_image_follow(struct dt_mem *image);
bool dt_image_prefetch_and(struct dt_mem *image, const struct dt_range *last, size_t count);

/* The bytes themselves, where they are here and lie in one page: good until the next look begins. NULL: they have to be
 * read. */
const uint8_t *dt_image_peek(const struct dt_mem *mem, uint64_t address, size_t size);

/* Has an image fetch the pages of many words in few calls, before they are read one by one. Errors do not matter here:
 * the read that follows tells. With another reader than an image it is of no use. */
void dt_mem_ahead(struct dt_mem *mem, const uint64_t *addresses, size_t count);

#endif
