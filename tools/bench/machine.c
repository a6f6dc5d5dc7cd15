/* SPDX-License-Identifier: MIT
 *
 * What: see machine.h.
 *
 * Why this way: see machine.h.
 */
#include "bench/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "bench/text.h"

static const double MACHINE_LOOK_SECONDS = 0.1;

static char *machine_text(char *found)
{
    return found != NULL ? found : bench_copy("n/a", 3);
}

static char *machine_kernel(void)
{
    struct utsname name;
    if (uname(&name) != 0)
        return bench_copy("n/a", 3);
    return bench_format("%s %s %s", name.sysname, name.release, name.machine);
}

static char *machine_performance_counters(void)
{
    bool there = access("/sys/bus/event_source/devices/cpu", F_OK) == 0;
    return bench_format(there ? "n/a: not read" : "n/a: no PMU");
}

static char *machine_libc(void)
{
    char text[128];
    size_t length = confstr(_CS_GNU_LIBC_VERSION, text, sizeof text);
    return length > 0 && length <= sizeof text ? bench_copy(text, sizeof text) : bench_copy("n/a", 3);
}

static void machine_choose_cpus(struct bench_machine *machine)
{
    machine->runner_cpu = machine->job_cpu = -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, &machine->affinity))
            continue;
        if (machine->runner_cpu < 0)
            machine->runner_cpu = cpu;
        else
            machine->job_cpu = cpu; /* the last one: the first takes most interrupts */
    }
}

void bench_machine_read(struct bench_machine *machine)
{
    CPU_ZERO(&machine->affinity);
    (void)sched_getaffinity(0, sizeof machine->affinity, &machine->affinity);
    machine->cpus = (unsigned)CPU_COUNT(&machine->affinity);
    machine_choose_cpus(machine);
    machine->cpu_model = machine_text(bench_line_value("/proc/cpuinfo", "model name"));
    machine->kernel = machine_kernel();
    machine->governor = machine_text(bench_first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"));
    machine->huge_pages = machine_text(bench_first_line("/sys/kernel/mm/transparent_hugepage/enabled"));
    machine->address_randomisation = machine_text(bench_first_line("/proc/sys/kernel/randomize_va_space"));
    machine->load = machine_text(bench_first_line("/proc/loadavg"));
    machine->libc = machine_libc();
    machine->performance_counters = machine_performance_counters();
}

char *bench_machine_line(const struct bench_machine *machine)
{
    if (machine->from_file)
        return bench_format("%s, %u CPUs, %s, %s, governor %s, THP %s, ASLR %s, load %s, instructions %s",
                            machine->cpu_model, machine->cpus, machine->kernel, machine->libc, machine->governor,
                            machine->huge_pages, machine->address_randomisation, machine->load,
                            machine->performance_counters);
    struct bench_busy busy = bench_machine_busy();
    return bench_format("%s, %u CPUs, %s, %s, governor %s, THP %s, ASLR %s, load %s, pressure %.1f %%, "
                        "stolen %.1f of %.1f busy s since boot, instructions %s",
                        machine->cpu_model, machine->cpus, machine->kernel, machine->libc, machine->governor,
                        machine->huge_pages, machine->address_randomisation, machine->load, bench_machine_pressure(),
                        busy.stolen_seconds, busy.busy_seconds, machine->performance_counters);
}

int bench_machine_place(const struct bench_machine *machine, unsigned threads)
{
    bool apart = threads == 1 && machine->job_cpu >= 0;
    cpu_set_t set = machine->affinity;
    if (apart) {
        CPU_ZERO(&set);
        CPU_SET((size_t)machine->runner_cpu, &set);
    }
    (void)sched_setaffinity(0, sizeof set, &set);
    return apart ? machine->job_cpu : -1;
}

struct bench_busy bench_machine_busy(void)
{
    struct bench_busy busy = { 0, 0 };
    char *line = bench_line_value("/proc/stat", "cpu ");
    if (line == NULL)
        return busy;
    /* user nice system idle iowait irq softirq steal */
    unsigned long long ticks[8] = { 0 };
    sscanf(line, "%llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1], &ticks[2], &ticks[3], &ticks[4],
           &ticks[5], &ticks[6], &ticks[7]);
    free(line);
    double tick_seconds = 1.0 / (double)sysconf(_SC_CLK_TCK);
    busy.busy_seconds = (double)(ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]) * tick_seconds;
    busy.stolen_seconds = (double)ticks[7] * tick_seconds;
    return busy;
}

double bench_machine_pressure(void)
{
    char *line = bench_line_value("/proc/pressure/cpu", "some avg10=");
    double percent = -1;
    if (line != NULL)
        percent = strtod(line, NULL);
    free(line);
    return percent;
}

static void machine_sleep(double seconds)
{
    struct timespec time = { .tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9) };
    (void)nanosleep(&time, NULL);
}

/* Share of the machine's CPU time used by others during a short look, in percent. */
static double machine_look(unsigned cpus)
{
    struct bench_busy before = bench_machine_busy();
    machine_sleep(MACHINE_LOOK_SECONDS);
    struct bench_busy after = bench_machine_busy();
    double used = after.busy_seconds - before.busy_seconds + after.stolen_seconds - before.stolen_seconds;
    double one_tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    return used <= one_tick ? 0 : 100 * used / (MACHINE_LOOK_SECONDS * cpus);
}

bool bench_machine_wait_quiet(const struct bench_machine *machine, unsigned threads, double limit_percent,
                              double wait_seconds)
{
    for (double waited = 0;; waited += 0.5) {
        double disturbed = threads == 1 ? bench_machine_pressure() : machine_look(machine->cpus);
        if (disturbed <= limit_percent)
            return true;
        if (waited >= wait_seconds)
            return false;
        machine_sleep(0.5);
    }
}
