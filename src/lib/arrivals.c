/*
 * Processes that come while one looks: see dt_arrivals_* in the public header. It is asked many times a second, so an
 * answer must cost next to nothing while nothing happens: the kernel tells the number that it gave away last
 * (/proc/loadavg), and only when that has changed, or once a second in any case, the processes are listed (family.h).
 *
 * Those that are new wait as candidates: a child may first be a copy of its parent, then a shell, then Python. Each is
 * looked at again after a while that grows with its age; of some in turn it is asked each time whether another program
 * runs there now.
 */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/regex.h"
#include "base/util.h"
#include "lib/family.h"
#include "proc/proc.h"
#include "python/find.h"

#define NS_PER_S  UINT64_C(1000000000)
#define LIST_NS   NS_PER_S /* at the latest after which /proc is listed again */
#define REST      50       /* times as long as listing took nothing is listed: 2 % of a CPU at most */
#define MOST_REST (NS_PER_S / 50)
#define AGAIN_NS  (NS_PER_S / 200) /* at the earliest after which a candidate is looked at again */
#define YOUNG_NS  (10 * NS_PER_S)  /* older ones are looked at when another program has begun in them */
#define OF_AGE    8                /* a candidate waits for this part of its age */
#define ASKED     8                /* candidates of which it is asked at a time whether another program has begun */
#define LIVELY_NS NS_PER_S         /* after a process has begun others are believed to follow */
#define HASTE_S   0.005            /* between two questions then */
#define REST_S    0.02

struct candidate {
	int pid;
	bool tree;
	bool joined; /* it need not be told any more */
	bool due;    /* a Python that was asked for, as far as is known, and it has not been attached */
	uint64_t since_ns, next_ns;
	uint64_t image; /* of its program */
};

struct dt_arrivals {
	struct dt_arrival_options options;
	regex_t *regexes;
	size_t regex_count;
	struct dt_family family;
	struct candidate *candidates;
	size_t count, capacity;
	size_t turn; /* of the candidates that are asked for their program */
	int *told;
	size_t told_capacity;
	uint64_t listed_ns, rest_ns; /* when they were listed, and for how long they are not listed again */
	uint64_t last_pid;           /* 0: not known */
	size_t missed;               /* that ended while they were due */
	uint64_t lively_ns;          /* until when others are believed to come */
	int loadavg;                 /* the file, which is asked many times a second */
	struct dt_arena arena;
	struct dt_find_cache *cache;
};

static int out_of_memory(struct dt_error *err)
{
	return dt_fail(err, DT_EMEMORY, "out of memory");
}

/* The number that the kernel gave away last, to a process or a thread: 0 if it does not tell. */
static uint64_t last_pid(const struct dt_arrivals *a)
{
	char text[128];
	ssize_t length = a->loadavg < 0 ? -1 : pread(a->loadavg, text, sizeof(text) - 1, 0);
	const char *space;

	text[DT_MAX(length, 0)] = '\0';
	space = strrchr(text, ' ');
	return space ? strtoull(space + 1, NULL, 10) : 0;
}

static struct candidate *find_candidate(const struct dt_arrivals *a, int pid)
{
	for (size_t i = 0; i < a->count; i++)
		if (a->candidates[i].pid == pid)
			return &a->candidates[i];
	return NULL;
}

/* Also if it is the same file as before: one script of Python may become another. */
static bool has_begun_another(struct candidate *candidate)
{
	uint64_t image = dt_proc_image(candidate->pid);
	bool another = image && image != candidate->image;

	if (image)
		candidate->image = image;
	return another;
}

static int add_candidate(struct dt_arrivals *a, int pid, bool tree)
{
	struct candidate *candidate = find_candidate(a, pid);
	uint64_t now = dt_clock_ns();

	if (candidate) {
		candidate->tree |= tree;
		return 0;
	}
	if (a->count == a->capacity) {
		size_t capacity = a->capacity ? a->capacity * 2 : 64;
		struct candidate *grown = reallocarray(a->candidates, capacity, sizeof(*grown));

		if (!grown)
			return DT_EMEMORY;
		a->candidates = grown;
		a->capacity = capacity;
	}
	candidate = &a->candidates[a->count++];
	*candidate = (struct candidate){
	    .pid = pid, .tree = tree, .since_ns = now, .next_ns = now, .image = dt_proc_image(pid)};
	return 0;
}

static int list_processes(struct dt_arrivals *a, struct dt_error *err)
{
	const struct dt_arrival_options *options = &a->options;

	return dt_family_list(&a->family, options->children, options->roots, options->root_count, err);
}

static bool wanted(const struct dt_arrivals *a)
{
	return a->options.all || a->regex_count || a->options.children;
}

static int take_new(struct dt_arrivals *a, struct dt_error *err)
{
	uint64_t now = dt_clock_ns(), last;
	size_t kept = 0;
	int rc;

	if (now - a->listed_ns < a->rest_ns)
		return 0;
	last = last_pid(a);
	if (last && last == a->last_pid && !a->family.unsettled && now - a->listed_ns < LIST_NS)
		return 0;
	if (last != a->last_pid)
		a->lively_ns = now + LIVELY_NS;
	a->last_pid = last;
	a->listed_ns = now;
	rc = list_processes(a, err);
	a->rest_ns = DT_MIN((dt_clock_ns() - now) * REST, MOST_REST);
	for (size_t i = 0; i < a->family.count && rc == 0; i++) {
		const struct dt_relative *known = &a->family.list[i];

		if (known->fresh && known->pid != getpid() && (known->tree || a->options.all || a->regex_count) &&
		    add_candidate(a, known->pid, known->tree) < 0)
			rc = out_of_memory(err);
	}
	for (size_t i = 0; i < a->count && rc == 0; i++) {
		if (dt_family_find(&a->family, a->candidates[i].pid))
			a->candidates[kept++] = a->candidates[i];
		else
			a->missed += a->candidates[i].due;
	}
	if (rc == 0)
		a->count = kept;
	return rc;
}

static bool matches(struct dt_arrivals *a, const struct candidate *candidate, const struct dt_proc *proc)
{
	const char *command;
	bool found = candidate->tree || a->options.all;

	command = found ? NULL : dt_proc_command(proc, &a->arena);
	for (size_t i = 0; command && i < a->regex_count && !found; i++)
		found = regexec(&a->regexes[i], command, 0, NULL, 0) == 0;
	dt_arena_reset(&a->arena);
	return found;
}

/* Whether it belongs to those that are looked for, and may be Python. Of one that has ended nothing is known: it stays
 * what it was. Who works in the memory of its parent is about to become another program. */
static bool may_join(struct dt_arrivals *a, struct candidate *candidate)
{
	struct dt_proc proc;
	bool may, borrows;

	if (dt_proc_open(candidate->pid, &proc) < 0)
		return false;
	dt_proc_outlive(&proc);
	may = matches(a, candidate, &proc);
	borrows = may && dt_proc_borrows_memory(&proc); /* before it is looked at: meanwhile it may become the other */
	may = may && dt_python_likely(&proc, a->cache);
	if (may || !dt_proc_ended(&proc))
		candidate->due = may && !borrows;
	dt_proc_release(&proc);
	return may;
}

/* Candidates that are due, and some of which another program has begun. */
static size_t choose(struct dt_arrivals *a)
{
	uint64_t now = dt_clock_ns();
	size_t count = 0, turn = a->count ? a->turn % a->count : 0;

	for (size_t i = 0; i < a->count; i++) {
		struct candidate *candidate = &a->candidates[i];
		uint64_t age = now - candidate->since_ns;
		bool changed = false;

		if (candidate->joined)
			continue;
		if ((i + a->count - turn) % a->count < ASKED)
			changed = has_begun_another(candidate);
		if (!changed && (age > YOUNG_NS || now < candidate->next_ns))
			continue;
		if (changed) { /* which has to begin first */
			candidate->since_ns = now;
			candidate->due = false;
			age = 0;
		}
		candidate->next_ns = now + DT_MAX(AGAIN_NS, age / OF_AGE);
		if (may_join(a, candidate))
			a->told[count++] = candidate->pid;
	}
	a->turn = turn + ASKED;
	return count;
}

int dt_arrivals_ask(struct dt_arrivals *a, const int **pids, size_t *count, struct dt_error *err)
{
	int rc;

	*count = 0;
	if (!wanted(a) && !a->count)
		return 0;
	rc = wanted(a) ? take_new(a, err) : 0;
	if (rc == 0 && a->count > a->told_capacity) {
		int *grown = reallocarray(a->told, a->capacity, sizeof(*grown));

		if (!grown)
			return out_of_memory(err);
		a->told = grown;
		a->told_capacity = a->capacity;
	}
	if (rc == 0) {
		*count = choose(a);
		*pids = a->told;
	}
	return rc;
}

void dt_arrivals_told(struct dt_arrivals *a, int pid, int code)
{
	struct dt_relative *known = dt_family_find(&a->family, pid);
	struct candidate *candidate = find_candidate(a, pid);
	bool again = code == DT_ENOTPYTHON || code == DT_EAGAIN;

	if (candidate) {
		candidate->joined = !again;
		/* One that has ended was due until then, if it had not joined before. */
		candidate->due = candidate->due && (code == DT_EAGAIN || code == DT_EENDED || code == DT_ENOTFOUND);
	}
	if (!candidate && again)
		add_candidate(a, pid, true); /* out of memory: it is not asked for again */
	if (code == 0 && known)
		known->tree = true;
}

size_t dt_arrivals_missed(struct dt_arrivals *a)
{
	size_t missed = a->missed;

	a->missed = 0;
	return missed;
}

double dt_arrivals_rest(const struct dt_arrivals *a)
{
	uint64_t now = dt_clock_ns();

	if (!wanted(a) && !a->count)
		return INFINITY;
	if (now < a->lively_ns)
		return HASTE_S;
	for (size_t i = 0; i < a->count; i++)
		if (!a->candidates[i].joined && now < a->candidates[i].since_ns + LIVELY_NS)
			return HASTE_S;
	return REST_S;
}

bool dt_arrivals_rooted(const struct dt_arrivals *a)
{
	for (size_t i = 0; i < a->options.root_count; i++) {
		struct dt_proc proc;
		bool ended;

		if (dt_proc_open(a->options.roots[i], &proc) < 0)
			continue;
		ended = dt_proc_ended(&proc);
		dt_proc_release(&proc);
		if (!ended)
			return true;
	}
	return false;
}

/* A process that was there, a shell say, may become one that is looked for: it is asked for its program, no more. Not a
 * kernel thread: there may be hundreds. */
static int watch_all(struct dt_arrivals *a, struct dt_error *err)
{
	for (size_t i = 0; i < a->family.count; i++) {
		if (a->family.list[i].pid == getpid())
			continue;
		if (add_candidate(a, a->family.list[i].pid, a->family.list[i].tree) < 0)
			return out_of_memory(err);
		a->candidates[a->count - 1].since_ns = 0;
		a->count -= !a->candidates[a->count - 1].image;
	}
	return 0;
}

/* If we are a root ourselves, who loses its parent becomes our child: none has to be guessed. */
static bool adopts(const struct dt_arrival_options *options)
{
	for (size_t i = 0; i < options->root_count; i++)
		if (options->roots[i] == getpid())
			return true;
	return false;
}

int dt_arrivals_new(const struct dt_arrival_options *options, struct dt_arrivals **result, struct dt_error *err)
{
	struct dt_arrivals *a = calloc(1, sizeof(*a));
	int rc = 0;

	if (!a)
		return out_of_memory(err);
	a->options = *options;
	dt_arena_init(&a->arena, 0);
	a->cache = dt_find_cache_new(); /* without one it is only slower */
	a->regexes = calloc(options->name_count + 1, sizeof(*a->regexes));
	if (!a->regexes)
		rc = out_of_memory(err);
	for (; rc == 0 && a->regex_count < options->name_count; a->regex_count += rc == 0)
		rc = dt_regex_compile(options->names[a->regex_count], &a->regexes[a->regex_count], err);
	a->loadavg = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	a->last_pid = last_pid(a);
	a->listed_ns = dt_clock_ns();
	a->lively_ns = a->listed_ns + LIVELY_NS;
	a->family.orphans = !adopts(options);
	if (rc == 0 && wanted(a))
		rc = list_processes(a, err);
	if (rc == 0 && (options->all || options->name_count))
		rc = watch_all(a, err);
	if (rc < 0) {
		dt_arrivals_free(a);
		return rc;
	}
	*result = a;
	return 0;
}

void dt_arrivals_free(struct dt_arrivals *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->regex_count; i++)
		regfree(&a->regexes[i]);
	if (a->loadavg >= 0)
		close(a->loadavg);
	free(a->regexes);
	dt_family_release(&a->family);
	free(a->candidates);
	free(a->told);
	dt_find_cache_free(a->cache);
	dt_arena_release(&a->arena);
	free(a);
}
