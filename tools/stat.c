/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay stat`: what the allocator of a running process holds, as text or JSON.
 *
 * Why this way: the process fills its counters when it is asked, on its next slow path. One that makes no call can't; then
 * what it filled last is shown, with its age, and the exit status says so.
 *
 * Invariants: exit status 0 fresh counters, 1 not on, 2 the process can't be reached, 3 pending.
 *
 * Concurrency: one thread.
 */
#include "bench/text.h"
#include "command.h"
#include "control.h"
#include "counters.h"
#include "policy/bill.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

static void print_usage(FILE *out)
{
    fputs(
        "usage: scrubjay stat [--json] [--wait SECONDS] PID\n"
        "\n"
        "Shows what the allocator of process PID holds. It fills its counters on its next slow path, which is waited "
        "for\n"
        "5 seconds, or as --wait says. It needs the permission to trace the process. A program that lets nobody trace "
        "it\n"
        "can write the same at its end: option stats.\n"
        "Exit status: 0 shown, 1 Scrubjay is not on there, 2 the process can't be reached, 3 pending: it has taken no\n"
        "slow path since; what it filled last is shown.\n",
        out);
}

/* The lines that have anything, and what they add up to. */
static void print_bill(const struct sj_bill *bill)
{
    char amount[SJ_AMOUNT_BYTES];
    printf("%-9s ", "bill");
    for (unsigned line = 0; line < SJ_BILL_LINES; line++)
        if (bill->line[line] > 0)
            printf("%s %s, ", sj__bill_names[line], sj__counter_text(SJ_UNIT_BYTES, bill->line[line], amount));
    if (bill->in_flight_bytes != 0)
        printf("in flight %lld bytes, ", (long long)bill->in_flight_bytes);
    printf("in all %s", sj__counter_text(SJ_UNIT_BYTES, bill->committed_bytes, amount));
    printf(", at most %s\n%-9s", sj__counter_text(SJ_UNIT_BYTES, bill->peak_bytes, amount), "reserve");
    const char *comma = "";
    for (unsigned line = 0; line < SJ_RESERVE_LINES; line++) {
        if (bill->reserve[line] == 0)
            continue;
        printf("%s %s %s", comma, sj__reserve_names[line],
               sj__counter_text(SJ_UNIT_BYTES, bill->reserve[line], amount));
        comma = ",";
    }
    putchar('\n');
}

static void print_account(const struct sj_account_stats *account)
{
    char amount[SJ_AMOUNT_BYTES];
    printf("%-9s %s/%s: live %s", "account", account->arena, account->label,
           sj__counter_text(SJ_UNIT_BYTES, account->live_bytes, amount));
    printf(" in %llu blocks", (unsigned long long)account->live_blocks);
    printf(", at most %s", sj__counter_text(SJ_UNIT_BYTES, account->peak_bytes, amount));
    printf(", ever %s\n", sj__counter_text(SJ_UNIT_BYTES, account->allocated_bytes, amount));
}

static void print_text(const struct sj_remote *remote, const struct sj_seen *seen)
{
    char amount[SJ_AMOUNT_BYTES];
    const struct sj_control *control = &remote->control;
    printf("process %d  %s\n", (int)remote->target.process, remote->target.program);
    printf("%-9s %u", "level", control->level.value);
    if (control->level.value != control->first_level)
        printf(", started at %u", control->first_level);
    if (control->waiting.value != 0)
        fputs(", some threads have not come by since", stdout);
    if (control->unsealed.value != 0)
        fputs(", its table of functions is writable", stdout);
    printf("; counters %.1f s old", (double)sj__control_age_ms(remote) / 1000);
    const char *topic = "";
    for (size_t i = 0; i < sj__counters_count; i++) {
        const struct sj_counter *counter = &sj__counters[i];
        const bool is_new = strcmp(topic, counter->topic) != 0;
        topic = counter->topic;
        if (is_new)
            printf("\n%-9s ", topic);
        printf("%s%s %s", is_new ? "" : ", ", counter->label,
               sj__counter_text(counter->unit, sj__counter_read(counter, &seen->stats), amount));
    }
    putchar('\n');
    print_bill(&seen->bill);
    for (size_t i = 0; i < seen->accounts_count; i++)
        print_account(&seen->accounts[i]);
}

static void print_lines_json(const char *name, const char *const *names, const uint64_t *lines, unsigned count)
{
    printf(",\"%s\":{", name);
    for (unsigned line = 0; line < count; line++)
        printf("%s\"%s\":%llu", line > 0 ? "," : "", names[line], (unsigned long long)lines[line]);
    putchar('}');
}

static void print_accounts_json(const struct sj_seen *seen)
{
    fputs(",\"accounts\":[", stdout);
    for (size_t i = 0; i < seen->accounts_count; i++) {
        const struct sj_account_stats *account = &seen->accounts[i];
        fputs(i > 0 ? ",{\"arena\":" : "{\"arena\":", stdout);
        bench_json_string(stdout, account->arena);
        fputs(",\"label\":", stdout);
        bench_json_string(stdout, account->label);
        printf(",\"live_bytes\":%llu,\"live_blocks\":%llu,\"peak_bytes\":%llu,\"allocated_bytes\":%llu}",
               (unsigned long long)account->live_bytes, (unsigned long long)account->live_blocks,
               (unsigned long long)account->peak_bytes, (unsigned long long)account->allocated_bytes);
    }
    putchar(']');
}

static void print_json(const struct sj_remote *remote, const struct sj_seen *seen)
{
    const struct sj_bill *bill = &seen->bill;
    const struct sj_control *control = &remote->control;
    printf("{\"pid\":%d,\"release\":", (int)remote->target.process);
    bench_json_string(stdout, remote->target.status.release);
    fputs(",\"build_id\":", stdout);
    bench_json_string(stdout, remote->target.status.build_id);
    printf(",\"level\":%u,\"first_level\":%u,\"age_ms\":%llu", control->level.value, control->first_level,
           (unsigned long long)sj__control_age_ms(remote));
    for (size_t i = 0; i < sj__counters_count; i++)
        printf(",\"%s\":%llu", sj__counters[i].name,
               (unsigned long long)sj__counter_read(&sj__counters[i], &seen->stats));
    print_lines_json("bill", sj__bill_names, bill->line, SJ_BILL_LINES);
    print_lines_json("reserve", sj__reserve_names, bill->reserve, SJ_RESERVE_LINES);
    print_accounts_json(seen);
    printf(",\"committed_bytes\":%llu,\"in_flight_bytes\":%lld,\"peak_bytes\":%llu}\n",
           (unsigned long long)bill->committed_bytes, (long long)bill->in_flight_bytes,
           (unsigned long long)bill->peak_bytes);
}

static int show(struct sj_remote *remote, bool json, unsigned wait_ms)
{
    struct sj_seen seen;
    const int process = (int)remote->target.process;
    const int error = sj__control_ask(remote, SJ_COMMAND_COUNTERS, 0, wait_ms);
    if (error != 0 && error != ETIMEDOUT && error != EBUSY) {
        sj__message("process %d can't be asked: %s", process, strerror(error));
        return SJ_EXIT_CANNOT_TELL;
    }
    if (error == 0 && remote->control.answer.error == EPERM)
        sj__message("process %d was started with live=off: it does not answer", process);
    else if (error == EBUSY)
        sj__message("pending: process %d has another request to answer first, and has taken no slow path since",
                    process);
    else if (error != 0)
        sj__message("pending: process %d has taken no slow path since it was asked", process);
    const bool is_fresh = error == 0 && remote->control.answer.error == 0;
    if (!sj__control_counters(remote, &seen)) {
        if (is_fresh)
            sj__message("process %d counts as another version of the library does", process);
        return is_fresh || error == 0 ? SJ_EXIT_CANNOT_TELL : SJ_EXIT_PENDING;
    }
    (json ? print_json : print_text)(remote, &seen);
    return is_fresh ? SJ_EXIT_GOOD : SJ_EXIT_PENDING;
}

int sj__command_stat(int argc, char **argv)
{
    static const struct option options[] = { { "json", no_argument, NULL, 'j' },
                                             { "wait", required_argument, NULL, 'w' },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    struct sj_remote remote;
    char reason[SJ_CONTROL_REASON_BYTES];
    unsigned wait_ms = SJ_WAIT_MS;
    bool json = false;
    for (int option; (option = getopt_long(argc, argv, "jw:h", options, NULL)) != -1;) {
        switch (option) {
        case 'j': json = true; break;
        case 'w':
            if (!sj__message_read_seconds("--wait", optarg, &wait_ms))
                return SJ_EXIT_USAGE;
            break;
        case 'h': print_usage(stdout); return SJ_EXIT_GOOD;
        default: print_usage(stderr); return SJ_EXIT_USAGE;
        }
    }
    const pid_t process = optind + 1 == argc ? sj__target_parse(argv[optind]) : 0;
    if (process == 0) {
        sj__message("one PID is wanted");
        print_usage(stderr);
        return SJ_EXIT_USAGE;
    }
    const int status = sj__control_open(process, &remote, reason, sizeof reason);
    if (status != 0) {
        sj__message("%s", reason);
        return status;
    }
    return show(&remote, json, wait_ms);
}
