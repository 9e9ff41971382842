// Preloaded into a redis-server, this moves its wall clock by a number of
// microseconds that lies in the file of $ROBOTS_CLOCK, eight octets in the
// machine's order. The monotonic clock is left alone, as when an operator or a
// time server sets the clock of a machine.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *moved;

__attribute__((constructor)) static void start(void) {
	const char *name = getenv("ROBOTS_CLOCK");
	int fd = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return;
	void *p = mmap(NULL, sizeof *moved, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (p != MAP_FAILED)
		moved = p;
}

int clock_gettime(clockid_t id, struct timespec *ts) {
	int r = syscall(SYS_clock_gettime, id, ts);
	if (r == 0 && moved && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)) {
		int64_t ns = (int64_t)ts->tv_nsec + *moved % 1000000 * 1000;
		ts->tv_sec += *moved / 1000000;
		if (ns < 0) {
			ns += 1000000000;
			ts->tv_sec--;
		} else if (ns >= 1000000000) {
			ns -= 1000000000;
			ts->tv_sec++;
		}
		ts->tv_nsec = ns;
	}
	return r;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
	struct timespec ts;
	(void)zone;
	int r = clock_gettime(CLOCK_REALTIME, &ts);
	tv->tv_sec = ts.tv_sec;
	tv->tv_usec = ts.tv_nsec / 1000;
	return r;
}

time_t time(time_t *out) {
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	if (out)
		*out = ts.tv_sec;
	return ts.tv_sec;
}
