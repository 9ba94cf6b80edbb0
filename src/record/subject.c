/* A process of a recording, and how its rounds are told: see subject.h. */
#include "record/subject.h"

#include <string.h>

#include "base/util.h"
#include "profile/profile.h"
#include "python/thread_names.h"
#include "record/message.h"

#define NAMES       65536
#define GROUP_SHIFT 32                   /* of the number of an interpreter, above the place of a name in its list */
#define NAMES_NS    UINT64_C(1000000000) /* names are read as often as that: a thread may get another one */
#define SOON_NS     UINT64_C(50000000)   /* or that, if there are threads without: a pool begins many at once */
#define NAMES_REST  100                  /* times as long as it took to read them there is none */
#define SEEK        5                    /* times that a name is looked for before that, each after twice the time */
#define NAME_LIMIT  1024
#define TEXT_LIMIT  4096

static int read_names(void *context, struct dt_mem *image, const struct dt_walk *walk, struct dt_arena *arena)
{
	struct dt_subject *subject = context;
	struct dt_budget budget = walk->budget;
	uint64_t began;

	subject->name_groups = 0;
	if (!subject->names_wanted || !walk->interpreter_count)
		return 0;
	began = dt_clock_ns();
	subject->names = dt_arena_calloc(arena, walk->interpreter_count, sizeof(*subject->names));
	if (!subject->names || !dt_index_clear(&subject->by_ident, 0))
		return 0;
	budget.steps = NAMES;
	for (size_t i = 0; i < walk->interpreter_count; i++) {
		struct dt_subject_names *group = &subject->names[subject->name_groups++];

		group->interpreter = walk->interpreters[i].id;
		if (dt_thread_names(image, &subject->python->layout, walk->interpreters[i].address, arena, &budget,
				    &group->names, &group->count) < 0)
			group->count = 0;
		for (size_t k = 0; k < group->count; k++)
			dt_index_put(&subject->by_ident, group->names[k].ident, i << GROUP_SHIFT | k);
	}
	subject->names_read = true;
	subject->names_took = dt_clock_ns() - began;
	return 0;
}

int dt_subject_new(const struct dt_proc *proc, struct dt_mem *live, const struct dt_python *python,
		   const struct dt_options *options, struct dt_subject **result, struct dt_error *err)
{
	struct dt_subject *subject = calloc(1, sizeof(*subject));
	int rc = DT_EMEMORY;

	if (!subject)
		return dt_fail(err, DT_EMEMORY, "out of memory");
	subject->pid = proc->pid;
	subject->python = python;
	subject->names_wanted = true;
	subject->pool = dt_image_pool_new_empty();
	if (subject->pool)
		rc = dt_recorder_new(proc, live, python, options, subject->pool, &subject->recorder, err);
	else
		dt_fail(err, DT_EMEMORY, "out of memory");
	if (rc < 0) {
		dt_subject_free(subject);
		return rc;
	}
	dt_recorder_set_extra(subject->recorder, read_names, subject);
	*result = subject;
	return 0;
}

void dt_subject_free(struct dt_subject *subject)
{
	if (!subject)
		return;
	dt_recorder_free(subject->recorder);
	dt_image_pool_free(subject->pool);
	free(subject->told_codes);
	free(subject->threads);
	dt_index_release(&subject->by_ident);
	free(subject);
}

/* Beside: who sits on the CPU of a process that was just forked, and whose look fails until it has got on, keeps it
 * from getting on. */
int dt_subject_meet(struct dt_subject *subject, struct dt_image_pool *pool, struct dt_error *err)
{
	const struct dt_seat beside = {.kind = DT_SEAT_BESIDE, .cpu = -1};
	const struct dt_moment moment = {.seat = &beside, .ladder = true, .late_ns = UINT64_MAX};
	enum dt_taken taken;
	int rc;

	dt_image_pool_lend(subject->pool, pool);
	rc = dt_recorder_take(subject->recorder, &moment, &taken, err);
	dt_image_pool_lend(subject->pool, NULL);
	return rc;
}

static struct dt_message head(const struct dt_subject *subject, enum dt_message_kind kind, uint32_t thread)
{
	return (struct dt_message){
	    .kind = kind, .subject = subject->number, .thread = thread, .round = subject->rounds};
}

/* Has this code been told? If not, it counts as told from now on. Ids from before the oldest do not come again. */
static bool tell_first(struct dt_subject *subject, const struct dt_code *code)
{
	uint32_t index = code->id - code->oldest;
	size_t byte = index / 8;
	uint8_t bit = (uint8_t)(1u << index % 8);

	if (code->oldest != subject->oldest_code && subject->told_bytes)
		memset(subject->told_codes, 0, subject->told_bytes);
	subject->oldest_code = code->oldest;

	if (byte >= subject->told_bytes) {
		size_t bytes = DT_MAX((byte + 1) * 2, (size_t)256);
		uint8_t *grown = realloc(subject->told_codes, bytes);

		if (!grown)
			return true; /* told again each time: wasteful, and right */
		memset(grown + subject->told_bytes, 0, bytes - subject->told_bytes);
		subject->told_codes = grown;
		subject->told_bytes = bytes;
	}
	if (subject->told_codes[byte] & bit)
		return false;
	subject->told_codes[byte] |= bit;
	return true;
}

static bool tell_code(struct dt_subject *subject, struct dt_ring *ring, const struct dt_code *code)
{
	size_t name = strnlen(code->name, TEXT_LIMIT), file = strnlen(code->file, TEXT_LIMIT);
	struct dt_message_code *message;

	if (!tell_first(subject, code))
		return true;
	message = dt_ring_put(ring, sizeof(*message) + name + file);
	if (!message)
		return false;
	message->head = head(subject, DT_MESSAGE_CODE, 0);
	message->id = code->id;
	message->oldest = code->oldest;
	message->first_line = code->first_line;
	message->name_length = (uint32_t)name;
	message->file_length = (uint32_t)file;
	memcpy(message->text, code->name, name);
	memcpy(message->text + name, code->file, file);
	return true;
}

/* The one that its own interpreter gives it. A thread state that is lent is not run by the thread that it names. */
static const char *name_of(const struct dt_subject *subject, const struct dt_recorded *thread)
{
	size_t step = 0, at;

	while (subject->name_groups && !thread->lent && dt_index_next(&subject->by_ident, thread->ident, &step, &at)) {
		const struct dt_subject_names *group = &subject->names[at >> GROUP_SHIFT];

		if (group->interpreter == thread->interpreter)
			return group->names[at & (((size_t)1 << GROUP_SHIFT) - 1)].name;
	}
	return NULL;
}

static uint64_t hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	while (text && *text)
		hash = (hash ^ (uint8_t)*text++) * UINT64_C(0x100000001b3);
	return hash;
}

/* A thread is told when it is new, and again when its name or number became known. */
static bool tell_thread(struct dt_subject *subject, struct dt_ring *ring, struct dt_recorded *thread)
{
	const char *name = name_of(subject, thread);
	uint64_t mark = hash_text(name) ^ (uint64_t)thread->tid;
	size_t length = name ? strnlen(name, NAME_LIMIT) : 0;
	struct dt_message_thread *message;

	thread->told.named = thread->told.named || name;
	if (subject->names_read && !name && thread->told.sought < SEEK)
		thread->told.sought++;
	if (thread->told.known && thread->told.tid == thread->tid && (!name || mark == thread->told.name))
		return true;
	message = dt_ring_put(ring, sizeof(*message) + length);
	if (!message)
		return false;
	*message = (struct dt_message_thread){.head = head(subject, DT_MESSAGE_THREAD, thread->serial),
					      .tid = (uint64_t)thread->tid,
					      .ident = thread->ident,
					      .interpreter = thread->interpreter,
					      .main = thread->main && !thread->lent,
					      .name_length = (uint32_t)length};
	if (length)
		memcpy(message->name, name, length);
	thread->told.known = true;
	thread->told.tid = thread->tid;
	thread->told.name = mark;
	return true;
}

/* Its stack was seen in a round that is lost, and it was not read again since. */
static bool is_lost(const struct dt_recorded *thread)
{
	return !thread->fresh && !thread->told.stack;
}

static bool is_unseen(const struct dt_recorded *thread)
{
	return thread->unseen || is_lost(thread);
}

static bool is_torn(const struct dt_recorded *thread)
{
	return !is_unseen(thread) && (thread->torn || thread->frame_count > DT_PROFILE_DEPTH);
}

static uint8_t flags_of(const struct dt_recorded *thread)
{
	return (uint8_t)((thread->gil ? DT_RUN_GIL : 0) | (thread->gc ? DT_RUN_GC : 0) |
			 (is_torn(thread) ? DT_RUN_TORN : 0) | (is_unseen(thread) ? DT_RUN_UNSEEN : 0));
}

/* Of a stack that is too deep the outer frames are told: they are what it has in common with the next one. */
static bool tell_change(struct dt_subject *subject, struct dt_ring *ring, struct dt_recorded *thread)
{
	size_t depth = thread->fresh && !thread->unseen ? DT_MIN(thread->frame_count, (size_t)DT_PROFILE_DEPTH) : 0;
	const struct dt_walk_frame *frames = depth ? thread->frames + (thread->frame_count - depth) : NULL;
	bool same = !thread->fresh && !is_lost(thread);
	uint8_t flags = flags_of(thread);
	struct dt_message_change *message;

	if (!thread->fresh && thread->told.state == thread->state && thread->told.flags == flags &&
	    thread->told.call == thread->syscall)
		return true;
	for (size_t i = 0; i < depth; i++)
		if (!tell_code(subject, ring, frames[i].code))
			return false;
	message = dt_ring_put(ring, sizeof(*message) + depth * sizeof(message->frames[0]));
	if (!message)
		return false;
	*message = (struct dt_message_change){.head = head(subject, DT_MESSAGE_CHANGE, thread->serial),
					      .call = thread->syscall,
					      .depth = same ? DT_SAME_STACK : (uint32_t)depth,
					      .state = (uint8_t)thread->state,
					      .flags = flags};
	for (size_t i = 0; i < depth; i++)
		message->frames[i] = (struct dt_told_frame){frames[i].code->id, frames[i].line};
	thread->told.state = (uint8_t)thread->state;
	thread->told.flags = flags;
	thread->told.call = thread->syscall;
	thread->told.stack = thread->told.stack || thread->fresh;
	return true;
}

static bool tell_spent(struct dt_subject *subject, struct dt_ring *ring, const struct dt_recorded *thread)
{
	struct dt_message_spent *message;

	if (!thread->spent_ns)
		return true;
	message = dt_ring_put(ring, sizeof(*message));
	if (!message)
		return false;
	message->head = head(subject, DT_MESSAGE_SPENT, thread->serial);
	message->cpu_ns = thread->spent_ns;
	message->elsewhere = thread->waits;
	return true;
}

/* Those that were told last time and are not here any more. Both are in the order of their serials. */
static bool tell_gone(struct dt_subject *subject, struct dt_ring *ring, const struct dt_recorded *threads, size_t count)
{
	size_t at = 0;

	for (size_t i = 0; i < subject->thread_count; i++) {
		struct dt_message *message;

		while (at < count && threads[at].serial < subject->threads[i])
			at++;
		if (at < count && threads[at].serial == subject->threads[i] && dt_recorded_lives(&threads[at]))
			continue;
		message = dt_ring_put(ring, sizeof(*message));
		if (!message)
			return false;
		*message = head(subject, DT_MESSAGE_GONE, subject->threads[i]);
	}
	return true;
}

static bool make_room(struct dt_subject *subject, size_t count)
{
	uint32_t *grown;

	if (count <= subject->thread_capacity)
		return true;
	grown = reallocarray(subject->threads, count * 2, sizeof(*grown));
	if (!grown)
		return false;
	subject->threads = grown;
	subject->thread_capacity = count * 2;
	return true;
}

static void remember(struct dt_subject *subject, const struct dt_recorded *threads, size_t count)
{
	subject->thread_count = 0;
	for (size_t i = 0; i < count; i++)
		if (dt_recorded_lives(&threads[i]))
			subject->threads[subject->thread_count++] = threads[i].serial;
}

static bool tell_round(const struct dt_subject *subject, struct dt_ring *ring, const struct dt_message_round *times)
{
	struct dt_message_round *message = dt_ring_put(ring, sizeof(*message));

	if (!message)
		return false;
	*message = *times;
	message->head = head(subject, DT_MESSAGE_ROUND, 0);
	return true;
}

/* The next round tells everything again. */
static void tell_anew(struct dt_subject *subject)
{
	size_t count;
	struct dt_recorded *threads = dt_recorder_threads(subject->recorder, &count);

	if (subject->told_codes)
		memset(subject->told_codes, 0, subject->told_bytes);
	for (size_t i = 0; i < count; i++)
		memset(&threads[i].told, 0, sizeof(threads[i].told));
	dt_recorder_forget(subject->recorder);
}

void dt_subject_missed(struct dt_subject *subject, uint64_t now_ns)
{
	subject->since_ns = now_ns;
	tell_anew(subject);
}

/* To read names is a look at all threads, and more: a program that makes new threads all the time is not looked at
 * like that for each of them. Who lives for a shorter time than that may stay without a name. Some threads have none,
 * and others not yet: a program that was met when it began has not imported threading. sought: how often the name of
 * the newest of them was looked for. */
static void plan_names(struct dt_subject *subject, unsigned sought, uint64_t at_ns)
{
	uint64_t rest_ns = DT_MAX(DT_MIN(SOON_NS << sought, NAMES_NS), NAMES_REST * subject->names_took);

	subject->names_wanted = at_ns - subject->names_ns > rest_ns;
	if (!subject->names_wanted)
		return;
	subject->names_ns = at_ns;
	dt_recorder_refresh(subject->recorder);
}

/* What the crew is to know of it. */
static void note_load(struct dt_subject *subject, bool active, uint64_t spent_ns)
{
	subject->active = active;
	atomic_fetch_add_explicit(&subject->spent_ns, spent_ns, memory_order_relaxed);
}

/* What was spent is told, or belongs to a time of which nothing is. How much it was. */
static uint64_t forget_spent(struct dt_recorded *threads, size_t count)
{
	uint64_t spent_ns = 0;

	for (size_t i = 0; i < count; i++) {
		spent_ns += threads[i].spent_ns;
		threads[i].spent_ns = 0;
	}
	return spent_ns;
}

bool dt_subject_tell(struct dt_subject *subject, struct dt_ring *ring, const struct dt_span *span,
		     struct dt_tally *tally)
{
	uint64_t since_ns = DT_MAX(span->since_ns, subject->since_ns);
	bool missing = subject->last_ns && subject->last_ns < since_ns;
	/* It may have come from another thread, which was further. */
	uint64_t spent_ns = 0, to_ns = DT_MAX(span->to_ns, missing ? since_ns : subject->last_ns);
	bool good, active = false;
	unsigned sought = SEEK;
	size_t count;
	struct dt_recorded *threads = dt_recorder_threads(subject->recorder, &count);

	if (missing)
		subject->strays.known_ns += forget_spent(threads, count);
	dt_strays_give(&subject->strays, threads, count);
	good = make_room(subject, count) && tell_gone(subject, ring, threads, count);
	for (size_t i = 0; good && i < count; i++) {
		if (!dt_recorded_lives(&threads[i]))
			continue;
		tally->samples++;
		tally->unseen += is_unseen(&threads[i]);
		tally->torn += is_torn(&threads[i]);
		good = tell_thread(subject, ring, &threads[i]) && tell_change(subject, ring, &threads[i]) &&
		       tell_spent(subject, ring, &threads[i]);
		sought = threads[i].told.named ? sought : DT_MIN(sought, (unsigned)threads[i].told.sought);
		spent_ns += threads[i].spent_ns;
		active = active || threads[i].unseen || threads[i].state == DT_STATE_RUNNING;
	}
	good = good && tell_round(subject, ring,
				  &(struct dt_message_round){.from_ns = missing ? since_ns - span->began_ns : 0,
							     .to_ns = to_ns - span->began_ns,
							     .at_ns = span->at_ns - span->began_ns});
	subject->name_groups = 0;
	subject->names_read = false;
	plan_names(subject, sought, span->at_ns);
	note_load(subject, active || spent_ns, good ? spent_ns : 0);
	if (!good) {
		dt_ring_abandon(ring);
		tell_anew(subject); /* what was told is taken back with the round */
		tally->lost++;
		return false;
	}
	dt_ring_publish(ring);
	dt_strays_note(&subject->strays, subject->recorder, forget_spent(threads, count), span->at_ns);
	remember(subject, threads, count);
	subject->rounds++;
	subject->last_ns = to_ns;
	subject->since_ns = 0;
	return true;
}
