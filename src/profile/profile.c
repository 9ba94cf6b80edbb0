/*
 * The model: lists of items that are never taken out again, and an index beside each that is interned. A number is
 * checked when it comes in, so whoever reads may follow it. Nothing is allocated for what is known already.
 */
#include "profile/profile.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "profile/inside.h"

#define FIRST_ITEMS 64

/* ---- lists ---- */

/* Where the next item goes; it counts once the caller has raised the count. NULL: the limit, or memory is out. */
static void *next_item(struct dt_list *list, size_t size, size_t limit)
{
	size_t capacity = list->capacity ? list->capacity * 2 : FIRST_ITEMS;
	void *items;

	if (list->count >= limit)
		return NULL;
	if (list->count + 1 >= list->capacity) {
		items = realloc(list->items, capacity * size);
		if (!items)
			return NULL;
		if (!list->capacity)
			memset(items, 0, size);
		list->items = items;
		list->capacity = capacity;
	}
	return (char *)list->items + (list->count + 1) * size;
}

static void release_list(struct dt_list *list)
{
	free(list->items);
	dt_intern_release(&list->index);
}

struct dt_profile *dt_profile_new(void)
{
	struct dt_profile *profile = calloc(1, sizeof(*profile));

	if (!profile)
		return NULL;
	profile->seed = dt_hash_seed();
	profile->most_stacks = DT_PROFILE_STACKS;
	dt_arena_init(&profile->texts, DT_PROFILE_TEXT);
	if (next_item(&profile->strings, sizeof(struct dt_profile_string), 1) &&
	    next_item(&profile->functions, sizeof(struct dt_profile_function), 1) &&
	    next_item(&profile->locations, sizeof(struct dt_profile_location), 1) &&
	    next_item(&profile->stacks, sizeof(struct dt_profile_stack), 1) &&
	    next_item(&profile->processes, sizeof(struct dt_process_entry), 1) &&
	    next_item(&profile->threads, sizeof(struct dt_thread_entry), 1)) {
		((struct dt_profile_string *)profile->strings.items)->text = "";
		return profile;
	}
	dt_profile_free(profile);
	return NULL;
}

void dt_profile_free(struct dt_profile *profile)
{
	if (!profile)
		return;
	release_list(&profile->strings);
	release_list(&profile->functions);
	release_list(&profile->locations);
	release_list(&profile->stacks);
	release_list(&profile->processes);
	release_list(&profile->threads);
	dt_arena_release(&profile->texts);
	free(profile->runs);
	free(profile);
}

/* ---- what is interned ---- */

struct string_key {
	const struct dt_profile_string *strings;
	const char *text;
	size_t length;
};

static bool same_string(const void *context, uint32_t id)
{
	const struct string_key *key = context;
	const struct dt_profile_string *string = &key->strings[id];

	return string->length == key->length && !memcmp(string->text, key->text, key->length);
}

int dt_profile_string(struct dt_profile *profile, const char *text, size_t length, uint32_t *id)
{
	struct dt_list *list = &profile->strings;
	struct string_key key = {list->items, text, length};
	struct dt_profile_string *string;
	uint32_t hash;

	if (!length) {
		*id = 0;
		return 0;
	}
	if (length > DT_PROFILE_STRING)
		return -ENOMEM;
	hash = (uint32_t)dt_hash64(text, length, profile->seed);
	*id = dt_intern_find(&list->index, hash, same_string, &key);
	if (*id)
		return 0;
	if (memchr(text, 0, length))
		return -EINVAL;
	string = next_item(list, sizeof(*string), DT_PROFILE_STRINGS);
	if (!string || dt_intern_reserve(&list->index) < 0)
		return -ENOMEM;
	string->text = dt_arena_strndup(&profile->texts, text, length);
	string->length = (uint32_t)length;
	if (!string->text)
		return -ENOMEM;
	*id = (uint32_t)++list->count;
	dt_intern_add(&list->index, hash, *id);
	return 0;
}

/* Functions, locations and stacks begin with the words that tell one from another, and those have no padding. */
struct words_key {
	const char *items;
	size_t item_size;
	const void *words;
	size_t size;
};

static_assert(sizeof(struct dt_profile_function) == 16, "a function is four words");
static_assert(sizeof(struct dt_profile_location) == 8, "a location is two words");
static_assert(offsetof(struct dt_profile_stack, depth) == 8, "a stack begins with the two words that name it");

static bool same_words(const void *context, uint32_t id)
{
	const struct words_key *key = context;

	return !memcmp(key->items + id * key->item_size, key->words, key->size);
}

static uint32_t hash_words(const void *words, size_t size, uint64_t seed)
{
	uint64_t hash = seed;

	for (size_t i = 0; i < size; i += 8) {
		hash = (hash ^ dt_get64((const char *)words + i)) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	hash *= UINT64_C(0xd6e8feb86659fd93);
	return (uint32_t)(hash >> 32);
}

static int intern_words(struct dt_profile *profile, struct dt_list *list, const void *item, size_t item_size,
			size_t key_size, size_t limit, uint32_t *id)
{
	struct words_key key = {list->items, item_size, item, key_size};
	uint32_t hash = hash_words(item, key_size, profile->seed);
	void *place;

	*id = dt_intern_find(&list->index, hash, same_words, &key);
	if (*id)
		return 0;
	place = next_item(list, item_size, limit);
	if (!place || dt_intern_reserve(&list->index) < 0)
		return -ENOMEM;
	memcpy(place, item, item_size);
	*id = (uint32_t)++list->count;
	dt_intern_add(&list->index, hash, *id);
	return 0;
}

static bool names(const struct dt_list *list, uint32_t id)
{
	return id && id <= list->count;
}

static bool names_or_none(const struct dt_list *list, uint32_t id)
{
	return id <= list->count;
}

int dt_profile_function(struct dt_profile *profile, const struct dt_profile_function *function, uint32_t *id)
{
	if (!names_or_none(&profile->strings, function->name) || !names_or_none(&profile->strings, function->file) ||
	    (unsigned)function->kind > DT_FUNCTION_MARK)
		return -EINVAL;
	return intern_words(profile, &profile->functions, function, sizeof(*function), sizeof(*function),
			    DT_PROFILE_FUNCTIONS, id);
}

int dt_profile_location(struct dt_profile *profile, const struct dt_profile_location *location, uint32_t *id)
{
	if (!names(&profile->functions, location->function))
		return -EINVAL;
	return intern_words(profile, &profile->locations, location, sizeof(*location), sizeof(*location),
			    DT_PROFILE_LOCATIONS, id);
}

int dt_profile_stack(struct dt_profile *profile, uint32_t parent, uint32_t location, uint32_t *id)
{
	struct dt_profile_stack stack = {.parent = parent, .location = location};

	if (!names_or_none(&profile->stacks, parent) || !names(&profile->locations, location))
		return -EINVAL;
	stack.depth = dt_profile_stack_at(profile, parent)->depth + 1;
	if (stack.depth > DT_PROFILE_DEPTH)
		return -EINVAL;
	return intern_words(profile, &profile->stacks, &stack, sizeof(stack), offsetof(struct dt_profile_stack, depth),
			    profile->most_stacks, id);
}

void dt_profile_limit_stacks(struct dt_profile *profile, size_t limit)
{
	profile->most_stacks = DT_MIN(limit, DT_PROFILE_STACKS);
}

/* ---- processes, threads, runs ---- */

static bool process_makes_sense(const struct dt_profile *profile, const struct dt_profile_process *process)
{
	return names_or_none(&profile->strings, process->command) &&
	       names_or_none(&profile->strings, process->executable) &&
	       names_or_none(&profile->strings, process->version) &&
	       names_or_none(&profile->strings, process->container) && process->began_ns <= DT_PROFILE_TIME &&
	       process->ended_ns <= DT_PROFILE_TIME && (!process->ended_ns || process->ended_ns >= process->began_ns);
}

static bool thread_makes_sense(const struct dt_profile *profile, const struct dt_profile_thread *thread)
{
	return names(&profile->processes, thread->process) && names_or_none(&profile->strings, thread->name);
}

int dt_profile_add_process(struct dt_profile *profile, const struct dt_profile_process *process, uint32_t *id)
{
	struct dt_process_entry *entry;

	if (!process_makes_sense(profile, process))
		return -EINVAL;
	entry = next_item(&profile->processes, sizeof(*entry), DT_PROFILE_PROCESSES);
	if (!entry)
		return -ENOMEM;
	*entry = (struct dt_process_entry){.process = *process};
	*id = (uint32_t)++profile->processes.count;
	return 0;
}

int dt_profile_add_thread(struct dt_profile *profile, const struct dt_profile_thread *thread, uint32_t *id)
{
	struct dt_thread_entry *entry;

	if (!thread_makes_sense(profile, thread))
		return -EINVAL;
	entry = next_item(&profile->threads, sizeof(*entry), DT_PROFILE_THREADS);
	if (!entry)
		return -ENOMEM;
	*entry = (struct dt_thread_entry){.thread = *thread};
	*id = (uint32_t)++profile->threads.count;
	return 0;
}

int dt_profile_set_process(struct dt_profile *profile, uint32_t id, const struct dt_profile_process *process)
{
	if (!names(&profile->processes, id) || !process_makes_sense(profile, process))
		return -EINVAL;
	profile_process_entry(profile, id)->process = *process;
	profile_process_entry(profile, id)->changed = true;
	profile->entries_changed = true;
	return 0;
}

int dt_profile_set_thread(struct dt_profile *profile, uint32_t id, const struct dt_profile_thread *thread)
{
	if (!names(&profile->threads, id) || !thread_makes_sense(profile, thread))
		return -EINVAL;
	profile_thread_entry(profile, id)->thread = *thread;
	profile_thread_entry(profile, id)->changed = true;
	profile->entries_changed = true;
	return 0;
}

static bool run_makes_sense(const struct dt_profile *profile, const struct dt_profile_run *run)
{
	const unsigned all = DT_RUN_GIL | DT_RUN_GC | DT_RUN_TORN | DT_RUN_UNSEEN;

	return names(&profile->threads, run->thread) && names_or_none(&profile->stacks, run->stack) &&
	       names_or_none(&profile->strings, run->call) && run->state <= DT_STATE_STOPPED && !(run->flags & ~all) &&
	       !(run->flags & DT_RUN_UNSEEN && run->stack) && run->start_ns <= DT_PROFILE_TIME &&
	       run->wall_ns <= DT_PROFILE_TIME - run->start_ns && run->cpu_ns <= DT_PROFILE_TIME &&
	       run->start_ns >= profile_thread_entry(profile, run->thread)->end_ns;
}

static bool goes_on(const struct dt_profile_run *last, const struct dt_profile_run *run)
{
	return last->start_ns + last->wall_ns == run->start_ns && last->stack == run->stack &&
	       last->call == run->call && last->state == run->state && last->flags == run->flags &&
	       run->samples <= UINT32_MAX - last->samples && run->cpu_ns <= DT_PROFILE_TIME - last->cpu_ns;
}

static int grow_runs(struct dt_profile *profile)
{
	size_t capacity = profile->run_capacity ? profile->run_capacity * 2 : FIRST_ITEMS;
	struct dt_profile_run *runs;

	if (profile->run_count >= DT_PROFILE_RUNS)
		return -ENOMEM;
	if (profile->runs && profile->run_count < profile->run_capacity)
		return 0;
	runs = realloc(profile->runs, capacity * sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	profile->runs = runs;
	profile->run_capacity = capacity;
	return 0;
}

int dt_profile_add_run(struct dt_profile *profile, const struct dt_profile_run *run)
{
	struct dt_thread_entry *thread;
	struct dt_profile_run *last;

	if (!run_makes_sense(profile, run))
		return -EINVAL;
	thread = profile_thread_entry(profile, run->thread);
	last = thread->last ? &profile->runs[thread->last - 1] : NULL;
	if (last && goes_on(last, run)) {
		last->wall_ns += run->wall_ns;
		last->cpu_ns += run->cpu_ns;
		last->samples += run->samples;
	} else {
		if (grow_runs(profile) < 0)
			return -ENOMEM;
		profile->runs[profile->run_count++] = *run;
		thread->last = profile->run_count;
	}
	thread->end_ns = run->start_ns + run->wall_ns;
	return 0;
}

void profile_forget_first_runs(struct dt_profile *profile, size_t count)
{
	for (size_t i = 0; i < count; i++)
		profile_thread_entry(profile, profile->runs[i].thread)->last = 0;
	for (size_t i = count; i < profile->run_count; i++) {
		profile->runs[i - count] = profile->runs[i];
		profile_thread_entry(profile, profile->runs[i].thread)->last = i - count + 1;
	}
	profile->run_count -= count;
}

void dt_profile_forget_runs(struct dt_profile *profile)
{
	profile_forget_first_runs(profile, profile->run_count);
}

void dt_profile_set_meta(struct dt_profile *profile, const struct dt_profile_meta *meta)
{
	uint32_t *const strings[] = {&profile->meta.mode, &profile->meta.rung, &profile->meta.rung_why,
				     &profile->meta.boot, &profile->meta.host, &profile->meta.darter};

	profile->meta = *meta;
	for (size_t i = 0; i < DT_COUNT(strings); i++)
		if (!names_or_none(&profile->strings, *strings[i]))
			*strings[i] = 0;
	if (!isfinite(meta->rate) || meta->rate < 0)
		profile->meta.rate = 0;
	profile->meta_set = profile->meta_changed = true;
}
