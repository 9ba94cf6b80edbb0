/*
 * recording FILE: writes a recording in several blocks, and prints what is in it from the model, one line for each
 * thing, with texts in hexadecimal: what a reader of the file must find.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "../unit/profile_example.h"
#include "profile/file.h"

/* What happens later: threads get names, processes end, stacks and runs come up. */
static void change(struct dt_profile *profile, uint32_t second)
{
	struct dt_profile_thread thread = *dt_profile_thread_at(profile, 3);
	struct dt_profile_process process = *dt_profile_process_at(profile, 1);
	struct dt_profile_meta meta = *dt_profile_meta(profile);
	char name[32];

	snprintf(name, sizeof(name), "named in second %u", second);
	thread.name = example_string(profile, name);
	process.ended_ns = second * 1000 * EXAMPLE_MS;
	process.start_ns = UINT64_C(98765430000000);
	process.image = ~UINT64_C(0) - second;
	meta.duration_ns = (second + 1) * 1000 * EXAMPLE_MS;
	meta.quality.samples += 100;
	assert_int_equal(dt_profile_set_thread(profile, 3, &thread), 0);
	assert_int_equal(dt_profile_set_process(profile, 1, &process), 0);
	dt_profile_set_meta(profile, &meta);
	for (uint32_t i = 0; i < 20; i++) {
		struct dt_profile_run run = {
		    .start_ns = (second * 1000 + i * 20) * EXAMPLE_MS + i,
		    .wall_ns = (1 + i % 3) * EXAMPLE_MS,
		    .cpu_ns = i * UINT64_C(123457),
		    .samples = i,
		    .thread = 1 + i % 4,
		    .stack = example_frame(profile, i, name, "later.py", i),
		    .state = (uint8_t)(i % 6),
		    .flags = (uint8_t)(i % 8),
		};

		assert_int_equal(dt_profile_add_run(profile, &run), 0);
	}
}

static void print_text(const struct dt_profile *profile, uint32_t string)
{
	putchar(' ');
	for (const char *p = dt_profile_text(profile, string); *p; p++)
		printf("%02x", (unsigned char)*p);
	putchar('.');
}

static void print_processes(const struct dt_profile *profile)
{
	struct dt_profile_counts counts = dt_profile_counts(profile);

	for (uint32_t i = 1; i <= counts.processes; i++) {
		const struct dt_profile_process *process = dt_profile_process_at(profile, i);

		printf("process %" PRId32 " %" PRId32 " %" PRIu64 " %" PRIu64, process->pid, process->ppid,
		       process->began_ns, process->ended_ns);
		print_text(profile, process->command);
		print_text(profile, process->executable);
		print_text(profile, process->version);
		print_text(profile, process->container);
		printf(" %" PRIu64 " %" PRIu64 "\n", process->start_ns, process->image);
	}
	for (uint32_t i = 1; i <= counts.threads; i++) {
		const struct dt_profile_thread *thread = dt_profile_thread_at(profile, i);

		printf("thread %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRId64 " %d", thread->process, thread->tid,
		       thread->ident, thread->interpreter, thread->main);
		print_text(profile, thread->name);
		putchar('\n');
	}
}

/* Innermost frame first. */
static void print_runs(const struct dt_profile *profile)
{
	for (size_t i = 0; i < dt_profile_counts(profile).runs; i++) {
		const struct dt_profile_run *run = &dt_profile_runs(profile)[i];

		printf("run %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu32 " %d %d", run->thread,
		       run->start_ns, run->wall_ns, run->cpu_ns, run->samples, run->state, run->flags);
		print_text(profile, run->call);
		for (uint32_t stack = run->stack; stack; stack = dt_profile_stack_at(profile, stack)->parent) {
			const struct dt_profile_location *location = dt_profile_location_at(
			    profile, dt_profile_stack_at(profile, stack)->location);
			const struct dt_profile_function *function = dt_profile_function_at(profile,
											    location->function);

			printf(" %" PRIu32 " %" PRIu32 " %d", location->line, function->first_line,
			       (int)function->kind);
			print_text(profile, function->name);
			print_text(profile, function->file);
		}
		putchar('\n');
	}
}

static void print_meta(const struct dt_profile *profile)
{
	const struct dt_profile_meta *meta = dt_profile_meta(profile);
	const struct dt_profile_quality *quality = &meta->quality;
	const uint64_t figures[] = {quality->samples,    quality->rounds,     quality->late,   quality->unseen,
				    quality->settled,    quality->torn,       quality->lost,   quality->stops,
				    quality->stopped_ns, quality->own_cpu_ns, quality->own_rss};

	printf("meta %" PRIu64 " %" PRIu64 " %a", meta->began_realtime_ns, meta->duration_ns, meta->rate);
	print_text(profile, meta->mode);
	print_text(profile, meta->rung);
	print_text(profile, meta->rung_why);
	print_text(profile, meta->host);
	print_text(profile, meta->darter);
	for (size_t i = 0; i < DT_COUNT(figures); i++)
		printf(" %" PRIu64, figures[i]);
	print_text(profile, meta->boot);
	printf(" %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", meta->began_boot_ns, quality->missed,
	       meta->damaged_ns, meta->damaged_samples, meta->looked_ns);
}

int main(int argc, char **argv)
{
	struct dt_profile *written = example_profile(), *whole = example_profile();
	struct dt_writer *writer;
	struct dt_error err;
	int fd;

	if (argc != 2) {
		fprintf(stderr, "usage: recording FILE\n");
		return 2;
	}
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0 || dt_writer_new(fd, written, &writer, &err) < 0)
		return 1;
	for (uint32_t second = 1; second <= 5; second++) {
		if (dt_writer_flush(writer, &err) < 0)
			return 1;
		change(written, second);
		change(whole, second);
	}
	if (dt_writer_end(writer, &err) < 0)
		return 1;
	print_processes(whole);
	print_runs(whole);
	print_meta(whole);
	dt_writer_free(writer);
	dt_profile_free(written);
	dt_profile_free(whole);
	return close(fd) < 0;
}
