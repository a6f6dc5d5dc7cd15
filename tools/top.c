/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay top`: the counters of a running process and how they change, redrawn.
 *
 * Why this way: curses redraws what has changed only, so that it can be watched over a slow line. Each picture is one request;
 * a process that makes no call is shown as it last was, and said to be pending.
 *
 * Invariants: the screen is given back before anything is said; exit statuses as of `scrubjay stat`.
 *
 * Concurrency: one thread.
 */
#include "command.h"
#include "control.h"
#include "counters.h"
#include "policy/bill.h"

#include <curses.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FIRST_ROW = 3,
    NAME_COLUMN = 2,
    AMOUNT_COLUMN = 30,
    RATE_COLUMN = 46,
    BILL_COLUMN = 64,
    AMOUNT_WIDTH = 14,
    NAME_WIDTH = 19,
    BILL_WIDTH = 14 + AMOUNT_WIDTH + 5,
    ANSWER_MS = 200
};

struct picture {
    struct sj_seen seen;
    uint64_t filled_ms;
    bool is_there;
};

static void print_usage(FILE *out)
{
    fputs("usage: scrubjay top [--every SECONDS] PID\n"
          "\n"
          "Shows what the allocator of process PID holds and how it changes, redrawn each second, or as --every says. "
          "q ends.\n"
          "Needs and exit statuses as of `scrubjay stat`.\n",
          out);
}

/* Resident bytes of the process, as /proc has them; 0 if it is gone. */
static uint64_t resident_bytes(pid_t process)
{
    char path[64], line[256];
    unsigned long long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmRSS: %llu", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return (uint64_t)kib * 1024;
}

static void draw_head(const struct sj_remote *remote, bool is_fresh)
{
    char amount[SJ_AMOUNT_BYTES];
    const struct sj_control *control = &remote->control;
    mvprintw(0, 0, "scrubjay top  process %d  %s", (int)remote->target.process, remote->target.program);
    mvprintw(1, 0, "level %u", control->level.value);
    if (control->level.value != control->first_level)
        printw(" (started at %u)", control->first_level);
    printw("  resident %s  ", sj__counter_text(SJ_UNIT_BYTES, resident_bytes(remote->target.process), amount));
    if (is_fresh)
        printw("counters are fresh");
    else
        printw("pending: counters are %.0f s old", (double)sj__control_age_ms(remote) / 1000);
}

/* What a counter has gained since the last picture, a second; "" for what does not only grow. */
static const char *rate_text(const struct sj_counter *counter, const struct picture *before, const struct picture *now,
                             char buffer[SJ_AMOUNT_BYTES])
{
    const uint64_t old = sj__counter_read(counter, &before->seen.stats),
                   value = sj__counter_read(counter, &now->seen.stats);
    buffer[0] = '\0';
    if (before->is_there && now->filled_ms > before->filled_ms && value > old)
        sj__counter_text(counter->unit, (value - old) * 1000 / (now->filled_ms - before->filled_ms), buffer);
    return buffer;
}

/* Beside the counters, where there is room: the lines that have anything, and their share. Returns the row behind them, or 0. */
static int draw_bill(const struct sj_bill *bill)
{
    char amount[SJ_AMOUNT_BYTES];
    int row = FIRST_ROW;
    if (COLS < BILL_COLUMN + BILL_WIDTH || bill->committed_bytes == 0)
        return 0;
    attron(A_BOLD);
    mvprintw(row++, BILL_COLUMN, "%-14s%*s", "bill", AMOUNT_WIDTH,
             sj__counter_text(SJ_UNIT_BYTES, bill->committed_bytes, amount));
    attroff(A_BOLD);
    for (unsigned line = 0; line < SJ_BILL_LINES && row < LINES; line++) {
        if (bill->line[line] == 0)
            continue;
        mvprintw(row++, BILL_COLUMN, "%-14s%*s %3.0f%%", sj__bill_names[line], AMOUNT_WIDTH,
                 sj__counter_text(SJ_UNIT_BYTES, bill->line[line], amount),
                 100 * (double)bill->line[line] / (double)bill->committed_bytes);
    }
    if (bill->in_flight_bytes != 0 && row < LINES)
        mvprintw(row++, BILL_COLUMN, "%-14s%*lld", "in flight", AMOUNT_WIDTH, (long long)bill->in_flight_bytes);
    return row;
}

/* What arenas and labels have, those that have most first. */
static void draw_accounts(const struct sj_seen *seen, int row)
{
    char amount[SJ_AMOUNT_BYTES];
    if (row == 0 || seen->accounts_count == 0 || row + 1 >= LINES)
        return;
    attron(A_BOLD);
    mvprintw(++row, BILL_COLUMN, "arena/label");
    attroff(A_BOLD);
    for (size_t i = 0; i < seen->accounts_count && ++row < LINES; i++) {
        const struct sj_account_stats *account = &seen->accounts[i];
        mvprintw(row, BILL_COLUMN, "%.9s/%.9s", account->arena, account->label);
        mvprintw(row, BILL_COLUMN + NAME_WIDTH, "%*s", AMOUNT_WIDTH - NAME_WIDTH + 14,
                 sj__counter_text(SJ_UNIT_BYTES, account->live_bytes, amount));
    }
}

static void draw_counters(const struct picture *before, const struct picture *now)
{
    char amount[SJ_AMOUNT_BYTES], rate[SJ_AMOUNT_BYTES];
    const char *topic = "";
    int row = FIRST_ROW;
    mvprintw(row++, AMOUNT_COLUMN, "%*s  %*s", AMOUNT_WIDTH, "now", AMOUNT_WIDTH, "gained a second");
    for (size_t i = 0; i < sj__counters_count && row < LINES; i++) {
        const struct sj_counter *counter = &sj__counters[i];
        const uint64_t value = sj__counter_read(counter, &now->seen.stats);
        if (value == 0)
            continue;
        if (strcmp(topic, counter->topic) != 0) {
            attron(A_BOLD);
            mvprintw(row++, 0, "%s", counter->topic);
            attroff(A_BOLD);
        }
        topic = counter->topic;
        if (row >= LINES)
            break;
        mvprintw(row, NAME_COLUMN, "%s", counter->label);
        mvprintw(row, AMOUNT_COLUMN, "%*s", AMOUNT_WIDTH, sj__counter_text(counter->unit, value, amount));
        mvprintw(row++, RATE_COLUMN, "%*s", AMOUNT_WIDTH, rate_text(counter, before, now, rate));
    }
}

/* Draws until the user or the process ends; 0 or errno: ECONNREFUSED, it does not answer. */
static int watch(struct sj_remote *remote, unsigned every_ms)
{
    struct picture before = { .is_there = false }, now = { .is_there = false };
    int error;
    do {
        struct picture next = { .is_there = false };
        error = sj__control_ask(remote, SJ_COMMAND_COUNTERS, 0, ANSWER_MS);
        const bool is_fresh = error == 0 && remote->control.answer.error == 0;
        if (error == 0 && remote->control.answer.error == EPERM)
            error = ECONNREFUSED;
        if (error != 0 && error != ETIMEDOUT && error != EBUSY)
            break;
        next.is_there = sj__control_counters(remote, &next.seen);
        next.filled_ms = remote->control.filled_ms;
        if (next.is_there && next.filled_ms != now.filled_ms) {
            before = now;
            now = next;
        }
        erase();
        draw_head(remote, is_fresh);
        if (now.is_there) {
            draw_counters(&before, &now);
            draw_accounts(&now.seen, draw_bill(&now.seen.bill));
        }
        refresh();
        timeout((int)every_ms);
        error = 0;
    } while (getch() != 'q');
    return error;
}

static int run(pid_t process, unsigned every_ms)
{
    struct sj_remote remote;
    char reason[SJ_CONTROL_REASON_BYTES];
    const int status = sj__control_open(process, &remote, reason, sizeof reason);
    if (status != 0) {
        sj__message("%s", reason);
        return status;
    }
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        sj__message("it draws on a terminal and is ended from there; `scrubjay stat` prints the same anywhere");
        return SJ_EXIT_CANNOT_TELL;
    }
    if (newterm(NULL, stdout, stdin) == NULL) {
        sj__message("the terminal (TERM=%s) can't be drawn on; `scrubjay stat` prints the same", getenv("TERM"));
        return SJ_EXIT_CANNOT_TELL;
    }
    cbreak();
    noecho();
    curs_set(0);
    const int error = watch(&remote, every_ms);
    endwin();
    if (error != 0)
        sj__message("process %d: %s", (int)process,
                    error == ESRCH          ? "it has ended"
                    : error == ECONNREFUSED ? "it was started with live=off: it does not answer"
                                            : strerror(error));
    return error == 0 ? SJ_EXIT_GOOD : SJ_EXIT_CANNOT_TELL;
}

int sj__command_top(int argc, char **argv)
{
    static const struct option options[] = { { "every", required_argument, NULL, 'e' },
                                             { "help", no_argument, NULL, 'h' },
                                             { NULL, 0, NULL, 0 } };
    unsigned every_ms = 1000;
    for (int option; (option = getopt_long(argc, argv, "e:h", options, NULL)) != -1;) {
        switch (option) {
        case 'e':
            if (!sj__message_read_seconds("--every", optarg, &every_ms))
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
    return run(process, every_ms < 50 ? 50 : every_ms);
}
