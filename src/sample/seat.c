/* Seats: see seat.h. */
#include "sample/seat.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/small_file.h"
#include "base/util.h"

#define RT_US     3000000 /* without a break: longer than any look */
#define MOMENT_NS 2000u   /* from the end of one thread's time to the beginning of another's */

/* A real-time thread that never sleeps would keep its CPU from everybody: the kernel ends us before that. */
static void bound_real_time(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_RTTIME, &limit) < 0)
		return;
	limit.rlim_cur = DT_MIN(limit.rlim_cur, (rlim_t)RT_US);
	limit.rlim_max = DT_MIN(limit.rlim_max, (rlim_t)RT_US);
	setrlimit(RLIMIT_RTTIME, &limit);
}

/* Where a real-time priority is refused to who has the right, it is the cgroup that has none to give. */
static bool has_sys_nice(void)
{
	char text[4096];
	uint64_t rights = 0;

	return dt_small_file("/proc/self/status", text, sizeof(text)) > 0 &&
	       dt_field_numbers(text, "CapEff", 16, &rights, 1) == 1 && (rights & (UINT64_C(1) << CAP_SYS_NICE));
}

static bool take_slice(const struct dt_seat *seat)
{
	struct dt_sched wanted = seat->saved;

	wanted.flags |= DT_SCHED_RESET_ON_FORK;
	return dt_perch_slice(&wanted);
}

/* Beside, it matters to be woken in time, and not to lose the CPU while somebody is stopped. */
static void hurry(struct dt_seat *seat, bool brisk)
{
	if (sched_getaffinity(0, sizeof(seat->allowed), &seat->allowed) < 0)
		CPU_ZERO(&seat->allowed);
	if (dt_perch_sched(&seat->saved) < 0 || seat->saved.policy != SCHED_OTHER)
		return;
	if (brisk)
		bound_real_time();
	seat->brisk = brisk && dt_perch_fifo();
	seat->lent = seat->brisk || take_slice(seat);
}

void dt_seat_take(struct dt_seat *seat, bool perch, bool brisk)
{
	*seat = (struct dt_seat){
	    .kind = DT_SEAT_BESIDE, .why = "no perch was asked for", .cpu = -1, .avoided = -1, .booked = -1};
	prctl(PR_SET_TIMERSLACK, 1);
	seat->booked = open("/proc/thread-self/sched", O_RDONLY | O_CLOEXEC);
	if (!perch) {
		hurry(seat, brisk);
		return;
	}
	seat->why = "the kernel does not tell how we are scheduled";
	if (sched_getaffinity(0, sizeof(seat->allowed), &seat->allowed) < 0 || dt_perch_sched(&seat->saved) < 0)
		return;
	if (seat->saved.policy == SCHED_FIFO || seat->saved.policy == SCHED_RR) {
		seat->kind = DT_SEAT_FIFO;
		seat->why = "";
		return;
	}
	bound_real_time();
	if (dt_perch_fifo()) {
		seat->kind = DT_SEAT_FIFO;
		seat->why = "";
	} else if (seat->saved.policy == SCHED_OTHER && take_slice(seat)) {
		seat->kind = DT_SEAT_SLICE;
		seat->why = has_sys_nice() ? "this cgroup has no real-time budget (cpu.rt_runtime_us)"
					   : "no right to a real-time priority (CAP_SYS_NICE)";
	} else {
		seat->why = has_sys_nice()
				? "this cgroup has no real-time budget (cpu.rt_runtime_us), and there are no "
				  "short time slices before Linux 6.12"
				: "no right to a real-time priority (CAP_SYS_NICE), and there are no short "
				  "time slices before Linux 6.12";
	}
}

static void lower(struct dt_seat *seat, enum dt_seat_kind kind)
{
	dt_perch_give_back(&seat->saved);
	if (kind == DT_SEAT_SLICE && !take_slice(seat))
		kind = DT_SEAT_BESIDE;
	if (kind == DT_SEAT_BESIDE && seat->cpu >= 0)
		sched_setaffinity(0, sizeof(seat->allowed), &seat->allowed);
	if (kind == DT_SEAT_BESIDE)
		seat->cpu = -1;
	seat->kind = kind;
}

void dt_seat_lower(struct dt_seat *seat, enum dt_seat_kind kind, const char *why)
{
	bool fifo = seat->kind == DT_SEAT_FIFO;

	if (kind >= seat->kind)
		return;
	if (seat->kind == DT_SEAT_SLICE)
		seat->left = seat->why;
	lower(seat, kind);
	seat->why = why;
	if (seat->kind == DT_SEAT_BESIDE)
		hurry(seat, fifo);
}

bool dt_seat_return(struct dt_seat *seat)
{
	if (seat->kind != DT_SEAT_BESIDE || !seat->left || !take_slice(seat))
		return false;
	if (seat->avoided >= 0)
		sched_setaffinity(0, sizeof(seat->allowed), &seat->allowed);
	seat->avoided = -1;
	seat->kind = DT_SEAT_SLICE;
	seat->why = seat->left;
	seat->left = NULL;
	seat->lent = seat->brisk = false;
	return true;
}

bool dt_seat_move(struct dt_seat *seat, int cpu)
{
	cpu_set_t only;

	if (seat->kind == DT_SEAT_BESIDE || cpu < 0 || cpu >= CPU_SETSIZE || !CPU_ISSET((size_t)cpu, &seat->allowed))
		return false;
	if (cpu == seat->cpu)
		return true;
	CPU_ZERO(&only);
	CPU_SET((size_t)cpu, &only);
	if (sched_setaffinity(0, sizeof(only), &only) < 0)
		return false;
	seat->cpu = cpu;
	seat->since_ns = dt_clock_ns();
	return true;
}

void dt_seat_avoid(struct dt_seat *seat, int cpu)
{
	cpu_set_t others = seat->allowed;

	if (seat->kind != DT_SEAT_BESIDE || cpu < 0 || cpu >= CPU_SETSIZE || cpu == seat->avoided)
		return;
	CPU_CLR((size_t)cpu, &others);
	if (CPU_COUNT(&others) && sched_setaffinity(0, sizeof(others), &others) == 0)
		seat->avoided = cpu;
}

/* Off the CPU first: as an ordinary thread we would have to wait there for who is busy on it. */
void dt_seat_stand_up(const struct dt_seat *seat)
{
	cpu_set_t others = seat->allowed;

	if (seat->cpu >= 0) {
		CPU_CLR((size_t)seat->cpu, &others);
		if (CPU_COUNT(&others))
			sched_setaffinity(0, sizeof(others), &others);
	}
	if (seat->kind == DT_SEAT_FIFO || seat->lent)
		dt_perch_give_back(&seat->saved);
}

void dt_seat_sit_down(const struct dt_seat *seat)
{
	bool fifo = seat->kind == DT_SEAT_FIFO || seat->brisk;
	cpu_set_t only;

	/* The right to a real-time priority may have been taken away meanwhile. */
	if ((seat->kind == DT_SEAT_FIFO || seat->lent) && (!fifo || !dt_perch_fifo()))
		take_slice(seat);
	if (seat->cpu < 0)
		return;
	CPU_ZERO(&only);
	CPU_SET((size_t)seat->cpu, &only);
	sched_setaffinity(0, sizeof(only), &only);
}

/* When the kernel last booked our time. */
static bool own_account(const struct dt_seat *seat, struct dt_thread_booked *ours)
{
	char text[DT_BOOKED_TEXT];
	ssize_t got = seat->booked < 0 ? -1 : pread(seat->booked, text, sizeof(text), 0);

	return got > 0 && dt_thread_booked_parse(text, (size_t)got, ours) == 0;
}

/* The kernel books the time of the one that has to go and begins to count ours at the same moment. */
bool dt_seat_followed(const struct dt_seat *seat, const struct dt_thread_booked *booked)
{
	struct dt_thread_booked ours;

	return !own_account(seat, &ours) || booked->ns + MOMENT_NS >= ours.ns;
}

/* The CPU's clock of what it books stands while the kernel, or a host, has the CPU: since then no more of it has passed
 * than of ours, and since our own account was booked no less than nothing. One that was woken on another CPU than it
 * slept on has no such time, 0. */
bool dt_seat_stood(const struct dt_seat *seat, const struct dt_thread_booked *booked, uint64_t since_ns)
{
	struct dt_thread_booked ours;

	return booked->ns && own_account(seat, &ours) && booked->ns + (dt_clock_ns() - since_ns) <= ours.ns;
}

void dt_seat_leave(struct dt_seat *seat)
{
	if (seat->booked >= 0)
		close(seat->booked);
	seat->booked = -1;
	if (seat->kind != DT_SEAT_BESIDE)
		lower(seat, DT_SEAT_BESIDE);
	else if (seat->lent)
		dt_perch_give_back(&seat->saved);
	if (seat->avoided >= 0)
		sched_setaffinity(0, sizeof(seat->allowed), &seat->allowed);
}
