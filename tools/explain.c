/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay explain`: the options, the levels and the reports in words.
 *
 * Why this way: it prints the tables the library is compiled from, so it can't say anything else than what is done.
 *
 * Invariants: lines are at most 80 columns, so that the answer can be read in any terminal and pasted anywhere.
 *
 * Concurrency: one thread.
 */
#include "command.h"
#include "ladder.h"
#include "report/catalogue.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_BYTES = 32 };

static void print_levels(void)
{
    printf("%-10s", "option");
    for (unsigned level = 0; level <= SJ_LEVEL_MAX; level++)
        printf(" %u%-9s", level, level == SJ_LEVEL_DEFAULT ? " default" : "");
    puts(" defends against");
    for (size_t i = 0; i < sj__options_count; i++) {
        if (!sj__option_is_in_levels(&sj__options_table[i]))
            continue;
        const char *threat = sj__option_texts[i].threat;
        printf("%-10s", sj__options_table[i].name);
        for (unsigned level = 0; level <= SJ_LEVEL_MAX; level++) {
            char value[VALUE_BYTES];
            sj__option_at_level(i, level, value, sizeof value);
            printf(" %-10s", value);
        }
        printf(" %.*s\n", (int)strcspn(threat, ":"), threat);
    }
    puts("\nAt every level: no allocator data in or next to the program's memory, every pointer\n"
         "given back is checked, a double free is found at the second free.");
}

static void print_option(size_t index)
{
    const struct sj_option *option = &sj__options_table[index];
    const struct sj_option_text *text = &sj__option_texts[index];
    char levels[128] = "";
    printf("%s=%s\n", option->name, option->values);
    sj__print_labelled("what", text->summary);
    if (text->threat[0] != '\0')
        sj__print_labelled("threat", text->threat);
    sj__print_labelled("cost", text->cost);
    bool is_of_levels =
        option->kind == SJ_OPTION_CHOICE || (option->kind == SJ_OPTION_COUNT && sj__option_is_in_levels(option));
    for (unsigned level = 0; level <= SJ_LEVEL_MAX && is_of_levels; level++) {
        char value[VALUE_BYTES];
        sj__option_at_level(index, level, value, sizeof value);
        const size_t used = strlen(levels);
        snprintf(levels + used, sizeof levels - used, "%slevel %u %s", level > 0 ? ", " : "", level, value);
    }
    if (levels[0] != '\0')
        sj__print_labelled("default", levels);
    if (!is_of_levels && option->kind != SJ_OPTION_SEED) {
        char value[VALUE_BYTES];
        sj__option_at_level(index, SJ_LEVEL_DEFAULT, value, sizeof value);
        sj__print_labelled("default", value);
    }
    if (text->detail[0] != '\0')
        sj__print_labelled("", text->detail);
}

static void print_report(const struct sj_report_entry *entry)
{
    printf("SJ-%03u %s\n", entry->number, entry->title);
    sj__print_labelled("cause", entry->cause);
    sj__print_labelled("what to do", entry->remedy);
    sj__print_labelled("example", entry->example);
}

static void print_options(void)
{
    for (size_t i = 0; i < sj__options_count; i++) {
        print_option(i);
        putchar('\n');
    }
    puts("Options are set as SCRUBJAY_OPTIONS=\"key=value,key=value\", by `scrubjay run -o`, in\n"
         "/etc/scrubjay.conf, or by a scrubjay_default_options linked into the program. The\n"
         "manual page scrubjay-options(7) says which of them wins.");
}

static void print_reports(void)
{
    for (size_t i = 0; i < sj__report_catalogue_count; i++) {
        print_report(&sj__report_catalogue[i]);
        putchar('\n');
    }
}

static void print_overview(void)
{
    puts("Options (`scrubjay explain NAME` says more, `scrubjay explain levels` shows the levels,\n"
         "`scrubjay explain release` how long to hold free memory, `scrubjay explain bill`\n"
         "the lines of the memory bill):\n");
    for (size_t i = 0; i < sj__options_count; i++)
        printf("  %-21s %s\n", sj__options_table[i].name, sj__option_texts[i].summary);
    puts("\nReports (`scrubjay explain SJ-004` says more):\n");
    for (size_t i = 0; i < sj__report_catalogue_count; i++)
        printf("  SJ-%03u                %s\n", sj__report_catalogue[i].number, sj__report_catalogue[i].title);
}

static void print_release(void)
{
    puts("How long should free memory be held? Ask your own program: run it, or a copy of\n"
         "its load, once with\n\n"
         "  SCRUBJAY_OPTIONS=release_ms=-1,stats=on PROGRAM      (stats=json: as JSON)\n\n"
         "so that nothing goes back by age and every gap between a free and the next use\n"
         "is seen. At exit it says, in lines that begin with \"scrubjay: stats\":\n");
    sj__print_labelled("kept_blocks",
                       "freed large blocks (over 32 KiB) kept whole: hits were reused, cold_hits after their "
                       "pages had gone back; misses had to be made; evictions had to go by a limit");
    sj__print_labelled("held",
                       "MiB x s that blocks and runs of free pages were held: what holding costs; faults_avoided: "
                       "pages reused while held: what it gains, at most; faults_caused: pages reused after they had "
                       "gone back; calls_avoided, calls_caused: system calls");
    sj__print_labelled("gaps", "gaps_of_blocks: how many blocks were reused after how long; gap_bytes_of_blocks and "
                               "gap_bytes_of_runs: how many bytes");
    sj__print_labelled("other",
                       "other_release_ms: what 0, 128, 1024, 4096 and 32768 ms would have made of these gaps: N_faults "
                       "pages would have been reused too late, N_mib_s would have been held until their reuse");
    puts("\nA fault costs half a microsecond to a microsecond. Going from A to B ms saves\n"
         "(A_faults - B_faults) x 0.7 us, and costs B_mib_s - A_mib_s of memory x time.\n"
         "Take the shortest interval after which the faults fall no further. Memory that\n"
         "is never reused is in none of these gaps: it is held for release_ms, once.");
}

static void print_bill(void)
{
    puts("Where is the memory? `scrubjay stat PID`, stats=on (at exit), malloc_info and\n"
         "sj_bill_read have the bill. Its lines are parts of what is committed, which may\n"
         "hold pages, and add up to it while no thread is inside the allocator:\n");
#define SJ_BILL_LINE(NAME, name, meaning) printf("  %-12s  %s\n", #name, meaning);
#define SJ_RESERVE_LINE(NAME, name, meaning)
#include "policy/bill.def"
#undef SJ_BILL_LINE
#undef SJ_RESERVE_LINE
    puts("\nWhat the calls of other threads have in hand is \"in flight\". Beside it there is\n"
         "address space that holds no pages, the reserve:\n");
#define SJ_BILL_LINE(NAME, name, meaning)
#define SJ_RESERVE_LINE(NAME, name, meaning) printf("  %-12s  %s\n", #name, meaning);
#include "policy/bill.def"
#undef SJ_BILL_LINE
#undef SJ_RESERVE_LINE
}

/* The report meant by "SJ-004", "sj-4" or "4", or NULL. */
static const struct sj_report_entry *find_report(const char *word)
{
    char *end;
    if (strncmp(word, "SJ-", 3) == 0 || strncmp(word, "sj-", 3) == 0)
        word += 3;
    const unsigned long number = strtoul(word, &end, 10);
    for (size_t i = 0; end != word && *end == '\0' && i < sj__report_catalogue_count; i++) {
        if (sj__report_catalogue[i].number == number)
            return &sj__report_catalogue[i];
    }
    return NULL;
}

static int refuse(const char *word)
{
    static const char *const topics[] = { "options", "levels", "reports", "release", "bill" };
    const char *meant = NULL;
    for (size_t i = 0; i < sizeof topics / sizeof topics[0] && meant == NULL; i++)
        meant = sj__message_resembles(word, topics[i]) ? topics[i] : NULL;
    for (size_t i = 0; i < sj__options_count && meant == NULL; i++)
        meant = sj__message_resembles(word, sj__options_table[i].name) ? sj__options_table[i].name : NULL;
    sj__message("no option, report or topic is called %s", word);
    if (meant != NULL)
        fprintf(stderr, "Did you mean `scrubjay explain %s`?\n", meant);
    else
        fputs("`scrubjay explain` lists what there is.\n", stderr);
    return SJ_EXIT_USAGE;
}

static int explain_word(const char *word)
{
    const size_t length = strcspn(word, "="); /* "scrub=free" asks about scrub */
    const struct sj_option *option = sj__options_find(word, length);
    const struct sj_report_entry *entry = find_report(word);
    if (option != NULL)
        print_option((size_t)(option - sj__options_table));
    else if (entry != NULL)
        print_report(entry);
    else if (strcmp(word, "levels") == 0)
        print_levels();
    else if (strcmp(word, "options") == 0)
        print_options();
    else if (strcmp(word, "reports") == 0)
        print_reports();
    else if (strcmp(word, "release") == 0)
        print_release();
    else if (strcmp(word, "bill") == 0)
        print_bill();
    else
        return refuse(word);
    return SJ_EXIT_GOOD;
}

int sj__command_explain(int argc, char **argv)
{
    static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 } };
    int status = SJ_EXIT_GOOD;
    const int option = getopt_long(argc, argv, "h", options, NULL);
    if (option != -1) {
        fputs("usage: scrubjay explain [OPTION | SJ-NNN | options | levels | reports | release | bill]...\n",
              option == 'h' ? stdout : stderr);
        return option == 'h' ? SJ_EXIT_GOOD : SJ_EXIT_USAGE;
    }
    if (optind == argc)
        print_overview();
    for (int i = optind; i < argc; i++) {
        const int answer = explain_word(argv[i]);
        status = answer != SJ_EXIT_GOOD ? answer : status;
        if (i + 1 < argc)
            putchar('\n');
    }
    return status;
}
