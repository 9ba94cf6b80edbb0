/*
 * How the rounds of a process are told: see subject.h. What is new comes first, then what has changed, then the round
 * itself; if there is no room for all of it nothing is told, and the next round tells everything.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "profile/profile.h"
#include "record/message.h"
#include "record/subject_inside.h"

#define NAME_LIMIT 1024
#define TEXT_LIMIT 4096

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
	const char *name = subject_name_of(subject, thread);
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

/* Of a stack that is too deep the outer frames are told: they are what it has in common with the next one. */
static bool tell_change(struct dt_subject *subject, struct dt_ring *ring, struct dt_recorded *thread)
{
	size_t depth = thread->fresh && !thread->unseen ? DT_MIN(thread->frame_count, (size_t)DT_PROFILE_DEPTH) : 0;
	const struct dt_walk_frame *frames = depth ? thread->frames + (thread->frame_count - depth) : NULL;
	bool same = !thread->fresh && !thread->unseen && !dt_told_lost(thread); /* unseen: it has none */
	uint8_t flags = dt_told_flags(thread);
	struct dt_message_change *message;

	if (dt_told_same(thread))
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

/* What the crew is to know of it. */
static void note_load(struct dt_subject *subject, bool active, uint64_t spent_ns)
{
	subject->active = active;
	atomic_fetch_add_explicit(&subject->spent_ns, spent_ns, memory_order_relaxed);
}

/* What was spent is told, or belongs to a time of which nothing is. How much it was. */
static uint64_t forget_spent(struct dt_recorded *threads, size_t count, const struct dt_touched *changed)
{
	uint64_t spent_ns = 0;

	for (size_t i = 0; i < (changed->few ? changed->count : count); i++) {
		struct dt_recorded *thread = &threads[changed->few ? changed->list[i] : i];

		spent_ns += thread->spent_ns;
		thread->spent_ns = 0;
	}
	return spent_ns;
}

/* What is told of one thread. */
static bool tell_one(struct dt_subject *subject, struct dt_ring *ring, struct dt_recorded *thread)
{
	dt_told_count(thread, subject->counts);
	return !dt_recorded_lives(thread) || (tell_thread(subject, ring, thread) &&
					      tell_change(subject, ring, thread) && tell_spent(subject, ring, thread));
}

static bool tell_any(struct dt_subject *subject, struct dt_ring *ring, struct dt_recorded *threads, size_t count)
{
	bool good = make_room(subject, count) && tell_gone(subject, ring, threads, count);

	dt_told_count_none(threads, count, subject->counts);
	subject->sought = SEEK;
	for (size_t i = 0; good && i < count; i++) {
		good = tell_one(subject, ring, &threads[i]);
		if (dt_recorded_lives(&threads[i]) && !threads[i].told.named)
			subject->sought = DT_MIN(subject->sought, (unsigned)threads[i].told.sought);
	}
	return good;
}

/* Has the look touched few threads, and come or gone is none of them? Then nothing is new of all others. */
static bool are_few(const struct dt_subject *subject, const struct dt_recorded *threads, struct dt_touched *changed)
{
	if (!dt_recorder_changed(subject->recorder, changed) || subject->names_read)
		return false;
	for (size_t i = 0; i < changed->count; i++) {
		const struct dt_recorded *thread = &threads[changed->list[i]];

		if (dt_told_lives(thread) != dt_recorded_lives(thread))
			return false;
	}
	return true;
}

/* Programs that look for mistakes in themselves end where one was not touched that is another now. */
static void check_others(const struct dt_recorded *threads, size_t count, const struct dt_touched *changed)
{
#ifdef __SANITIZE_ADDRESS__
	for (size_t i = 0; i < count; i++) {
		bool touched = false;

		for (size_t k = 0; k < changed->count; k++)
			touched = touched || changed->list[k] == i;
		if (!touched && !dt_told_all(&threads[i])) {
			fprintf(stderr,
				"darter: thread %d has changed and was not touched: this is a mistake in darter\n",
				threads[i].tid);
			abort();
		}
	}
#else
	(void)threads, (void)count, (void)changed;
#endif
}

/* All but the round itself. first: nothing was told so far. *changed: of these threads. */
static bool tell_threads(struct dt_subject *subject, struct dt_ring *ring, bool first, struct dt_touched *changed)
{
	size_t count;
	struct dt_recorded *threads = dt_recorder_threads(subject->recorder, &count);
	bool good = true;

	changed->few = !first && are_few(subject, threads, changed);
	if (!changed->few)
		return tell_any(subject, ring, threads, count);
	for (size_t i = 0; good && i < changed->count; i++)
		good = tell_one(subject, ring, &threads[changed->list[i]]);
	if (good)
		check_others(threads, count, changed);
	return good;
}

static void count_round(const struct dt_subject *subject, struct dt_tally *tally)
{
	tally->samples += subject->counts[DT_TOLD_LIVES];
	tally->unseen += subject->counts[DT_TOLD_UNSEEN];
	tally->torn += subject->counts[DT_TOLD_TORN];
}

/* Publishes what was told, or takes it back. */
static bool settle(struct dt_subject *subject, struct dt_ring *ring, bool good, const struct dt_touched *changed,
		   uint64_t at_ns, struct dt_tally *tally)
{
	size_t count;
	struct dt_recorded *threads = dt_recorder_threads(subject->recorder, &count);
	uint64_t spent_ns = good ? forget_spent(threads, count, changed) : 0;

	subject->name_groups = 0;
	subject->names_read = false;
	subject_plan_names(subject, subject->sought, at_ns);
	note_load(subject, subject->counts[DT_TOLD_ACTIVE] || spent_ns, spent_ns);
	if (!good) {
		dt_ring_abandon(ring);
		tell_anew(subject); /* what was told is taken back with the round */
		tally->lost++;
		return false;
	}
	dt_ring_publish(ring);
	dt_strays_note(&subject->strays, subject->recorder, !changed->few, spent_ns, at_ns);
	if (!changed->few)
		remember(subject, threads, count);
	return true;
}

/* The thread that a process begins with. */
static struct dt_recorded *first_thread(struct dt_subject *subject)
{
	struct dt_recorded *found = NULL;
	size_t count;
	struct dt_recorded *threads = dt_recorder_threads(subject->recorder, &count);

	for (size_t i = 0; i < count; i++)
		if (dt_recorded_lives(&threads[i]) && (!found || threads[i].tid == subject->pid))
			found = &threads[i];
	return found;
}

static bool tell_unseen(struct dt_subject *subject, struct dt_ring *ring, struct dt_recorded *thread,
			enum dt_state state)
{
	struct dt_message_change *message = dt_ring_put(ring, sizeof(*message));

	if (!message)
		return false;
	*message = (struct dt_message_change){
	    .head = head(subject, DT_MESSAGE_CHANGE, thread->serial), .state = (uint8_t)state, .flags = DT_RUN_UNSEEN};
	thread->told.state = (uint8_t)state;
	thread->told.flags = DT_RUN_UNSEEN;
	thread->told.call = NULL;
	return true;
}

/* One round of a time in which nobody looked; it begins where the last one ends, but for the first. */
static bool tell_time(struct dt_subject *subject, struct dt_ring *ring, uint64_t began_ns, uint64_t from_ns,
		      uint64_t to_ns)
{
	const struct dt_message_round times = {.from_ns = subject->rounds ? 0 : DT_MAX(from_ns - began_ns, 1),
					       .to_ns = DT_MAX(to_ns - began_ns, 1),
					       .at_ns = DT_MAX(to_ns - began_ns, 1)};

	if (!tell_round(subject, ring, &times))
		return false;
	subject->rounds++;
	return true;
}

/* The time that it lived before it could be looked at, of which its CPU time is known. Not up to told_ns if it was
 * handed over before: it may have ended then. */
static bool tell_life(struct dt_subject *subject, struct dt_ring *ring, uint64_t began_ns, uint64_t told_ns,
		      struct dt_tally *tally)
{
	uint64_t until_ns = subject->lived_ns ? DT_MAX(DT_MIN(told_ns, subject->until_ns), began_ns) : told_ns;
	uint64_t lived_ns = DT_MIN(subject->lived_ns, until_ns - began_ns), from_ns = until_ns - lived_ns;
	uint64_t ran_ns = DT_MIN(subject->ran_ns, lived_ns);
	struct dt_recorded *thread = lived_ns ? first_thread(subject) : NULL;

	if (!thread)
		return tell_time(subject, ring, began_ns, told_ns, told_ns);
	if (!tell_thread(subject, ring, thread))
		return false;
	thread->spent_ns = ran_ns;
	if (ran_ns) {
		tally->samples++;
		tally->unseen++;
		if (!tell_unseen(subject, ring, thread, DT_STATE_RUNNING) || !tell_spent(subject, ring, thread) ||
		    !tell_time(subject, ring, began_ns, from_ns, from_ns + ran_ns))
			return false;
	}
	thread->spent_ns = 0;
	if (ran_ns == lived_ns)
		return true;
	tally->samples++;
	tally->unseen++;
	return tell_unseen(subject, ring, thread, DT_STATE_SLEEPING) &&
	       tell_time(subject, ring, began_ns, from_ns + ran_ns, until_ns);
}

bool dt_subject_begin(struct dt_subject *subject, struct dt_ring *ring, uint64_t began_ns, uint64_t told_ns,
		      struct dt_tally *tally)
{
	uint32_t rounds = subject->rounds;
	struct dt_touched changed = {.few = false};
	size_t count;
	struct dt_recorded *threads = dt_recorder_threads(subject->recorder, &count);
	bool good;

	forget_spent(threads, count, &changed);
	good = tell_life(subject, ring, began_ns, DT_MAX(told_ns, began_ns), tally) &&
	       tell_threads(subject, ring, true, &changed);
	if (!settle(subject, ring, good, &changed, dt_clock_ns(), tally)) {
		subject->rounds = rounds;
		return false;
	}
	subject->last_ns = DT_MAX(told_ns, began_ns);
	return true;
}

/* A part of the time since the last look is still that one's. */
static bool tell_rest(struct dt_subject *subject, struct dt_ring *ring, const struct dt_span *span, uint64_t to_ns)
{
	uint64_t half_ns = DT_MIN(span->half_ns, to_ns);

	if (half_ns <= subject->last_ns)
		return true;
	if (!tell_round(subject, ring,
			&(struct dt_message_round){
			    .to_ns = half_ns - span->began_ns, .at_ns = half_ns - span->began_ns, .rest = true}))
		return false;
	subject->rounds++;
	return true;
}

bool dt_subject_tell(struct dt_subject *subject, struct dt_ring *ring, const struct dt_span *span,
		     struct dt_tally *tally)
{
	uint64_t since_ns = DT_MAX(span->since_ns, subject->since_ns);
	bool missing = subject->last_ns && subject->last_ns < since_ns;
	/* It may have come from another thread, which was further. */
	uint64_t to_ns = DT_MAX(span->to_ns, missing ? since_ns : subject->last_ns);
	struct dt_touched changed = {.few = false};
	uint32_t rounds = subject->rounds;
	size_t count;
	struct dt_recorded *threads = dt_recorder_threads(subject->recorder, &count);
	bool good;

	if (missing)
		subject->strays.known_ns += forget_spent(threads, count, &changed);
	dt_strays_give(&subject->strays, threads, count);
	good = (missing || !subject->last_ns || tell_rest(subject, ring, span, to_ns)) &&
	       tell_threads(subject, ring, false, &changed) &&
	       tell_round(subject, ring,
			  &(struct dt_message_round){.from_ns = missing ? since_ns - span->began_ns : 0,
						     .to_ns = to_ns - span->began_ns,
						     .at_ns = span->at_ns - span->began_ns});
	count_round(subject, tally);
	if (!settle(subject, ring, good, &changed, span->at_ns, tally)) {
		subject->rounds = rounds;
		return false;
	}
	subject->rounds++;
	subject->last_ns = to_ns;
	subject->since_ns = 0;
	return true;
}
