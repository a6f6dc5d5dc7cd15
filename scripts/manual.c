/* SPDX-License-Identifier: MIT
 *
 * What: prints the manual pages scrubjay-options(7) and scrubjay-reports(7) from the tables of options and reports.
 *
 * Why this way: a hand-kept page drifts from the code; this one is compiled from the same rows as the parser and
 * `scrubjay explain`. Run by scripts/manual.
 */
#include "ladder.h"
#include "report/catalogue.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* One paragraph, with what troff would take for a request or an escape made plain. */
static void print_text(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '`')
            fputs("\\(ga", stdout);
        else if (strncmp(text, ". ", 2) == 0)
            fputs(".\n", stdout), text++; /* sentences begin on a line of their own */
        else
            putchar(*text);
    }
    putchar('\n');
}

static void print_title(const char *page, const char *name, const char *summary)
{
    puts("'\\\" t");
    printf(
        ".\\\" SPDX-License-Identifier: MIT\n"
        ".\\\" Made by scripts/manual; change src/policy/options.def, src/report/catalogue.def or scripts/manual.c.\n"
        ".TH %s 7 \"\" \"Scrubjay " SJ_VERSION_TEXT "\"\n"
        ".SH NAME\n"
        "%s \\- %s\n",
        page, name, summary);
}

static void print_levels(void)
{
    puts(".SH LEVELS\n"
         "A level sets every option in this table; single options change it from there.\n"
         ".PP\n"
         ".TS\n"
         "tab(|);");
    for (unsigned column = 0; column <= SJ_LEVEL_MAX + 1; column++)
        fputs("lb ", stdout);
    puts("lb");
    for (unsigned column = 0; column <= SJ_LEVEL_MAX + 1; column++)
        fputs("l ", stdout);
    puts("l.");
    fputs("option", stdout);
    for (unsigned level = 0; level <= SJ_LEVEL_MAX; level++)
        printf("|%u%s", level, level == SJ_LEVEL_DEFAULT ? " (default)" : "");
    puts("|defends against");
    for (size_t i = 0; i < sj__options_count; i++) {
        if (!sj__option_is_in_levels(&sj__options_table[i]))
            continue;
        fputs(sj__options_table[i].name, stdout);
        for (unsigned level = 0; level <= SJ_LEVEL_MAX; level++) {
            char value[32];
            sj__option_at_level(i, level, value, sizeof value);
            printf("|%s", value);
        }
        printf("|%.*s\n", (int)strcspn(sj__option_texts[i].threat, ":"), sj__option_texts[i].threat);
    }
    puts(".TE");
}

static void print_options(void)
{
    puts(".SH OPTIONS");
    for (size_t i = 0; i < sj__options_count; i++) {
        const struct sj_option_text *text = &sj__option_texts[i];
        printf(".TP\n.BI %s= \"%s\"\n", sj__options_table[i].name, sj__options_table[i].values);
        printf("%c%s.\n", toupper((unsigned char)text->summary[0]), text->summary + 1);
        if (text->detail[0] != '\0') {
            puts(".br");
            print_text(text->detail);
        }
        if (text->threat[0] != '\0') {
            fputs(".br\nAgainst: ", stdout);
            print_text(text->threat);
        }
        fputs(".br\nCost: ", stdout);
        print_text(text->cost);
    }
}

static void print_options_page(void)
{
    print_title("SCRUBJAY-OPTIONS", "scrubjay-options", "options of the Scrubjay memory allocator");
    puts(
        ".SH SYNOPSIS\n"
        "\\fBSCRUBJAY_OPTIONS=\\fP\"\\fIkey\\fP\\fB=\\fP\\fIvalue\\fP\\fB,\\fP...\"\n"
        ".br\n"
        "\\fBSCRUBJAY_DISABLE=1\\fP\n"
        ".br\n"
        "\\fI/etc/scrubjay.conf\\fP\n"
        ".SH DESCRIPTION\n"
        "Options are items \\fIkey\\fP\\fB=\\fP\\fIvalue\\fP, separated by commas or colons.\n"
        "Empty items and blanks around an item do no harm.\n"
        "Where the values are off and on, 0 and 1, false and true, no and yes mean the same.\n"
        "An unknown key or a bad value is named in one warning on the standard error and not used; the program runs.\n"
        ".PP\n"
        "Options come from these sources; a later one overrides an earlier one:\n"
        ".IP 1. 4\nthe default level;\n"
        ".IP 2.\na text linked into the program: \\fBconst char *scrubjay_default_options = \"level=1\";\\fP\n"
        "(a program that is not linked with the library but runs with it preloaded must export it: link with\n"
        "\\fB\\-rdynamic\\fP);\n"
        ".IP 3.\n\\fI/etc/scrubjay.conf\\fP: its lines before any section, then the sections of this program;\n"
        ".IP 4.\nthe environment variable \\fBSCRUBJAY_OPTIONS\\fP.\n"
        ".PP\n"
        "Within one of these, the level is applied first and then the single options from left to right, wherever the\n"
        "level stands.\n"
        "A level in a later source undoes the single options of an earlier one.\n"
        ".SS The file\n"
        "\\fI/etc/scrubjay.conf\\fP has one or more items a line.\n"
        "A # at the start of a line or after a blank begins a comment.\n"
        "A line \\fB[\\fP\\fIname\\fP\\fB]\\fP begins a section for programs whose executable has this base name, as\n"
        "\\fI/proc/self/exe\\fP tells it; a program cannot choose it by changing argv[0].\n"
        ".PP\n"
        "\\fBfloor=\\fP\\fIN\\fP, in the file only, is a level under which nothing goes: after all sources have been\n"
        "read, every option that is weaker than at level N is raised to its value there, with a warning.\n"
        "With a floor, SCRUBJAY_DISABLE and a fixed seed are refused.\n"
        "A floor in a section replaces the one for everybody.\n"
        ".PP\n"
        "A file of more than 64 KiB is not used at all, since half of it might lack its floor; one that is there and\n"
        "not used is named in a warning.\n"
        "The file may be a symbolic link, but not for set-user-id programs.\n"
        ".PP\n"
        ".nf\n"
        "# everybody gets at least level 1\n"
        "floor=1\n"
        "level=2\n"
        "[redis-server]\n"
        "scrub=free\n"
        ".fi\n"
        ".SS Set-user-id programs\n"
        "In set-user-id and set-group-id programs, and those with capabilities, the environment is not read at all,\n"
        "the file only if it belongs to root and nobody else can write it, and a fixed seed is refused.\n"
        "A file that is a symbolic link is not used there: the folders it leads through are not looked at, and "
        "whoever\n"
        "can write one of them could choose which file is read, and have its lines shown in warnings.\n"
        ".SS Switching it off\n"
        "With \\fBSCRUBJAY_DISABLE=1\\fP in the environment every call goes to the next allocator in search order, as "
        "if\n"
        "the library were not there, unless the program is set-user-id or the file has a floor.\n"
        "In a program that has the library linked in (libscrubjay.a) there is no next one, and it means level 0.\n"
        ".PP\n"
        "Under valgrind's memcheck, massif, dhat, helgrind and drd, and in programs that carry AddressSanitizer, "
        "ThreadSanitizer\n"
        "or LeakSanitizer, calls go to the tool's own malloc in the same way, and a warning says so.\n"
        "No options are read then.");
    print_levels();
    print_options();
    puts(".SH SEE ALSO\n"
         ".BR scrubjay (1),\n"
         ".BR scrubjay-reports (7)");
}

static void print_reports_page(void)
{
    print_title("SCRUBJAY-REPORTS", "scrubjay-reports", "what a report of the Scrubjay memory allocator means");
    puts(".SH DESCRIPTION\n"
         "A misuse of the heap ends the process: one line on the standard error, then the details, then\n"
         ".BR abort (3).\n"
         "The line can be searched for:\n"
         ".PP\n"
         ".nf\n"
         "scrubjay: SJ-006 size mismatch ptr=0x7f10c2a3e0 size=48 given=24 function=...\n"
         ".fi\n"
         ".TP\n.B ptr\nthe pointer the program passed\n"
         ".TP\n.B size\nthe size of the block's slot in bytes, where known\n"
         ".TP\n.B given, expected\nthe size or alignment the program stated, and what it should have been\n"
         ".TP\n.B block, offset\nwhere the block begins, and how far the pointer lies behind that\n"
         ".TP\n.B function\nthe function that was called\n"
         ".TP\n.B caller\nwhere it was called from; the details name the file and the distance from its start, as\n"
         ".BR addr2line (1)\ntakes it\n"
         ".PP\n"
         "Nothing is written if the file descriptor 2 is no longer the file it was when the program started: a daemon\n"
         "may have closed it and opened a database there.\n"
         "Of several threads that find something at the same time one reports.\n"
         ".PP\n"
         "The last lines are the frames of the stack from the caller on, as\n"
         ".B caller\nis given.\n"
         ".SH THE DOCUMENT\n"
         "With \\fBreport=json:\\fP\\fIPATH\\fP (see\n"
         ".BR scrubjay-options (7))\n"
         "the report is also written as one JSON object on a line of its own.\n"
         "A process that ends with a report has it in memory besides, where it gets into a core file;\n"
         "\\fBscrubjay report\\fP \\fIFILE\\fP reads either.\n"
         "Members without a value are left out, and more may be added.\n"
         "Addresses and offsets are strings \\(dq0x...\\(dq; a byte that is not ASCII stands as \\eu00XX.\n"
         ".TP\n.B scrubjay_report\nthe version of this form: 1\n"
         ".TP\n.B action\naborted, or refused with onerror=report\n"
         ".TP\n.B id, number, title, line\nwhich report; the line as it is written to the standard error\n"
         ".TP\n.B pointer, block, offset_bytes, size_bytes, given_bytes, expected_bytes, function, caller, note\nas "
         "above\n"
         ".TP\n.B program, process, thread, time\nname, numbers, and seconds since 1970\n"
         ".TP\n.B version, build_id, options\nof the library, and the options in force\n"
         ".TP\n.B cause, remedy\nas below\n"
         ".TP\n.B frames\nthe stack, the innermost first, up to 64: each has the\n"
         ".B address\nthat a call returns to, and, where it is in a file, its\n"
         ".BR module ,\nthe\n.B offset\nfrom where the file is mapped first, and the file's\n.B build_id\n"
         ".TP\n.B allocated, freed\nof a sampled block: the\n.B thread\nthat did it, how many milliseconds before\n"
         ".RB ( ms_ago ),\nand its\n.B frames\n"
         ".SH REPORTS");
    for (size_t i = 0; i < sj__report_catalogue_count; i++) {
        const struct sj_report_entry *entry = &sj__report_catalogue[i];
        printf(".TP\n.B SJ-%03u %s\n", entry->number, entry->title);
        print_text(entry->cause);
        puts(".br");
        print_text(entry->remedy);
        fputs(".br\nExample: ", stdout);
        print_text(entry->example);
    }
    puts(".SH SEE ALSO\n"
         ".BR scrubjay (1),\n"
         ".BR scrubjay-options (7)");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "options") == 0)
        print_options_page();
    else if (argc == 2 && strcmp(argv[1], "reports") == 0)
        print_reports_page();
    else
        return 2;
    return 0;
}
