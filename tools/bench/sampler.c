/* SPDX-License-Identifier: MIT
 *
 * What: see sampler.h.
 *
 * Why this way: see sampler.h.
 */
#include "bench/sampler.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "bench/session.h"
#include "bench/text.h"

enum { SAMPLER_DEPTH_MAX = 8, SAMPLER_NAME_BYTES = 64, SAMPLER_ROOM = 128 };

static const double SAMPLER_GAP_LEAST_SECONDS = 0.004;
static const double SAMPLER_GAP_SHARE = 0.01; /* of the time so far */

static double sampler_resident_kib(pid_t process)
{
    char name[SAMPLER_NAME_BYTES];
    unsigned long pages = 0;
    snprintf(name, sizeof name, "/proc/%d/statm", (int)process);
    FILE *file = fopen(name, "re");
    if (file == NULL)
        return 0; /* it has ended */
    if (fscanf(file, "%*u %lu", &pages) != 1)
        pages = 0;
    fclose(file);
    return (double)pages * ((double)sysconf(_SC_PAGESIZE) / 1024);
}

/* All that descend from a process. */
static double sampler_descendants_kib(pid_t process, unsigned depth) /* NOLINT(misc-no-recursion): SAMPLER_DEPTH_MAX */
{
    char name[SAMPLER_NAME_BYTES];
    int child;
    double kib = 0;
    snprintf(name, sizeof name, "/proc/%d/task/%d/children", (int)process, (int)process);
    FILE *file = depth < SAMPLER_DEPTH_MAX ? fopen(name, "re") : NULL;
    while (file != NULL && fscanf(file, "%d", &child) == 1)
        kib += sampler_resident_kib(child) + sampler_descendants_kib(child, depth + 1);
    if (file != NULL)
        fclose(file);
    return kib;
}

static void sampler_keep(struct bench_sampler *sampler, double now, double kib)
{
    if (sampler->count == sampler->room) {
        sampler->room = sampler->room > 0 ? 2 * sampler->room : SAMPLER_ROOM;
        sampler->samples = realloc(sampler->samples, sampler->room * sizeof *sampler->samples);
        if (sampler->samples == NULL)
            abort();
    }
    sampler->samples[sampler->count++] = (struct lab_point){ now, kib };
}

static void *sampler_run(void *argument)
{
    struct bench_sampler *sampler = argument;
    struct pollfd stop = { .fd = sampler->stop, .events = POLLIN };
    do {
        double now = bench_now_seconds();
        double kib = sampler_descendants_kib(sampler->launcher, 0);
        if (kib > 0)
            sampler_keep(sampler, now, kib);
        double seconds = sampler->count > 0 ? now - sampler->samples[0].at : 0;
        double gap = fmax(SAMPLER_GAP_LEAST_SECONDS, SAMPLER_GAP_SHARE * seconds);
        int ready = poll(&stop, 1, (int)lround(1e3 * gap));
        if (ready != 0 && !(ready < 0 && errno == EINTR))
            return NULL;
    } while (true);
}

void bench_sampler_begin(struct bench_sampler *sampler, pid_t launcher)
{
    sigset_t all;
    sigset_t before;
    *sampler = (struct bench_sampler){ .launcher = launcher, .stop = eventfd(0, EFD_CLOEXEC) };
    sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the runner's own thread */
    int error = sampler->stop < 0 ? errno : pthread_create(&sampler->thread, NULL, sampler_run, sampler);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0)
        bench_die("no thread to look at memory: %s", strerror(error));
}

void bench_sampler_end(struct bench_sampler *sampler, struct lab_series *kib)
{
    const uint64_t one = 1;
    if (write(sampler->stop, &one, sizeof one) != (ssize_t)sizeof one)
        bench_die("eventfd: %s", strerror(errno));
    (void)pthread_join(sampler->thread, NULL);
    close(sampler->stop);
    lab_series_make(kib, sampler->samples, sampler->count);
    kib->span = round(1e6 * kib->span) / 1e6;
    for (size_t i = 0; i < kib->count; i++)
        kib->values[i] = round(kib->values[i]);
    free(sampler->samples);
}
