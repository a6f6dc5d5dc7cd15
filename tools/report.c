/* SPDX-License-Identifier: MIT
 *
 * What: `scrubjay report FILE`: reads reports from a file of report=json or from a core file, and names functions and lines.
 *
 * Why this way: names are looked up here, on whatever machine has the files, never in the process that reported. A core file is
 * searched for the mark of policy/document.h, so neither the program nor its symbols are needed to read the report itself.
 *
 * Invariants: files are not trusted: strings, and names that come from programs, are printed without control characters.
 *
 * Concurrency: one thread.
 */
#include "bench/json.h"
#include "bench/text.h"
#include "command.h"
#include "policy/document.h"
#include "symbols.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_BYTES = 1024, NO_REPORT = 1 };
#define YEAR_10000 253402300800.0 /* in seconds since 1970 */

/* The bytes of a string as they were: \u00XX is one byte, which JSON's reader has made two of. */
static void plain(const char *text, char *buffer, size_t bytes)
{
    size_t used = 0;
    for (; *text != '\0' && used < bytes - 1; text++) {
        unsigned char byte = (unsigned char)*text;
        if ((byte == 0xc2 || byte == 0xc3) && text[1] != '\0')
            byte = (unsigned char)((byte & 3) << 6 | (*++text & 0x3f));
        buffer[used++] = (char)byte;
    }
    buffer[used] = '\0';
}

/* A text for the terminal: of a member, or what is given if there is none. Returns the buffer. */
static char *shown(const struct json_t *object, const char *name, const char *missing, char *buffer, size_t bytes)
{
    plain(bench_json_text(object, name, missing), buffer, bytes);
    return bench_tame(buffer);
}

static void print_member(const struct json_t *report, const char *name, const char *label)
{
    char text[TEXT_BYTES];
    if (shown(report, name, "", text, sizeof text)[0] != '\0')
        sj__print_labelled(label, text);
}

static void print_process(const struct json_t *report)
{
    char name[128], when[64] = "", text[256];
    const double seconds = bench_json_number(report, "time", 0);
    const time_t time = seconds > 0 && seconds < YEAR_10000 ? (time_t)seconds : 0;
    struct tm calendar;
    if (time != 0 && gmtime_r(&time, &calendar) != NULL)
        (void)strftime(when, sizeof when, ", %Y-%m-%d %H:%M:%S UTC", &calendar);
    snprintf(text, sizeof text, "%s, process %.0f, thread %.0f%s", shown(report, "program", "?", name, sizeof name),
             bench_json_number(report, "process", 0), bench_json_number(report, "thread", 0), when);
    sj__print_labelled("program", text);
}

static void print_names(const struct sj_symbol *symbol)
{
    char text[TEXT_BYTES];
    if (symbol->function != NULL) {
        snprintf(text, sizeof text, "%s", symbol->function);
        printf(" %s", bench_tame(text));
    }
    if (symbol->file != NULL) {
        snprintf(text, sizeof text, "%s", symbol->file);
        printf(" at %s:%d", bench_tame(text), symbol->line);
    }
}

static void print_frame(const struct json_t *frame, size_t number)
{
    char module[TEXT_BYTES], address[64], offset_text[64];
    struct sj_symbol symbol;
    plain(bench_json_text(frame, "module", ""), module, sizeof module);
    const uint64_t offset = strtoull(shown(frame, "offset", "0x0", offset_text, sizeof offset_text), NULL, 16);
    printf("  #%-2zu %s", number, shown(frame, "address", "?", address, sizeof address));
    if (module[0] == '\0') {
        puts(" in no file");
        return;
    }
    /* The call itself lies before where it returns to. */
    const enum sj_symbols_answer answer =
        sj__symbols_find(module, bench_json_text(frame, "build_id", ""), offset - (offset > 0), &symbol);
    print_names(&symbol);
    printf(" (%s+%s)%s\n", bench_tame(module), offset_text,
           answer == SJ_SYMBOLS_OTHER_BUILD ? ": the file is another build now"
           : answer == SJ_SYMBOLS_NO_FILE   ? ": there is no such file here"
                                            : "");
}

static size_t print_frames(const struct json_t *object)
{
    const size_t count = bench_json_count(object, "frames");
    for (size_t i = 0; i < count; i++)
        print_frame(bench_json_item(object, "frames", i), i);
    return count;
}

/* Who allocated or freed the block, of one that was sampled. */
static void print_trace(const struct json_t *report, const char *name)
{
    const struct json_t *trace = bench_json_member(report, name);
    if (trace == NULL)
        return;
    printf("  block %s by thread %.0f, %.0f ms before, from:\n", name, bench_json_number(trace, "thread", 0),
           bench_json_number(trace, "ms_ago", 0));
    (void)print_frames(trace);
}

static void print_report(const struct json_t *report)
{
    char line[TEXT_BYTES];
    puts(shown(report, "line", "scrubjay: a report without its line", line, sizeof line));
    print_member(report, "note", "note");
    print_process(report);
    print_member(report, "version", "scrubjay");
    print_member(report, "build_id", "build id");
    print_member(report, "options", "options");
    print_member(report, "cause", "cause");
    print_member(report, "remedy", "what to do");
    const size_t frames = print_frames(report);
    print_trace(report, "allocated");
    print_trace(report, "freed");
    if (frames > 0 && !sj__symbols_can())
        puts("  This command was built without libdw (Debian: libdw-dev) and knows no names.");
}

/* Prints all reports in a stream of lines; returns their number. */
static size_t print_reports(FILE *in, const char *path)
{
    struct bench_json_file file;
    struct json_t *report;
    size_t count = 0;
    bench_json_take(&file, path, in);
    while ((report = bench_json_next(&file)) != NULL) {
        if (bench_json_number(report, "scrubjay_report", 0) == SJ_DOCUMENT_VERSION) {
            if (count++ > 0)
                putchar('\n');
            print_report(report);
        }
        bench_json_free(report);
    }
    bench_json_close(&file);
    return count;
}

/* Prints the report in the memory that a core file holds; returns their number. */
static size_t print_from_memory(const char *memory, size_t bytes, const char *path)
{
    const struct sj_document *document;
    const size_t head = offsetof(struct sj_document, text);
    size_t count = 0;
    for (size_t at = 0; at + sizeof *document <= bytes; at += SJ_DOCUMENT_MAGIC_BYTES) {
        const char *found = memmem(memory + at, bytes - at, SJ_DOCUMENT_MAGIC, SJ_DOCUMENT_MAGIC_BYTES);
        if (found == NULL || (size_t)(found - memory) + sizeof *document > bytes)
            break;
        struct sj_document copy;
        at = (size_t)(found - memory);
        memcpy(&copy, found, sizeof copy);
        if (copy.version != SJ_DOCUMENT_VERSION || copy.bytes < 2 || copy.bytes > sizeof copy.text ||
            copy.text[0] != '{' || copy.text[copy.bytes - 1] != '\n')
            continue;
        FILE *in = fmemopen(copy.text, copy.bytes, "r");
        if (in != NULL)
            count += print_reports(in, path);
        at += head;
    }
    return count;
}

/* Prints what a file holds; returns an exit status. */
static int print_file(const char *path)
{
    struct stat status;
    size_t count = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0) {
        sj__message("%s: %s", path, strerror(errno));
        return SJ_EXIT_USAGE;
    }
    const size_t bytes = (size_t)status.st_size;
    char *memory = bytes > SELFMAG ? mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (memory != MAP_FAILED && memcmp(memory, ELFMAG, SELFMAG) == 0) {
        count = print_from_memory(memory, bytes, path);
        close(fd);
    } else {
        FILE *in = fdopen(fd, "r");
        if (in != NULL)
            count = print_reports(in, path);
    }
    if (memory != MAP_FAILED)
        munmap(memory, bytes);
    if (count > 0)
        return SJ_EXIT_GOOD;
    sj__message("%s: holds no report", path);
    return NO_REPORT;
}

int sj__command_report(int argc, char **argv)
{
    static const struct option options[] = { { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 } };
    const int option = getopt_long(argc, argv, "h", options, NULL);
    if (option != -1 || optind == argc) {
        fputs("usage: scrubjay report FILE...\n\n"
              "Reads reports from files that report=json:PATH wrote, or from core files, and names the\n"
              "functions and lines of their frames. systemd keeps cores to itself: `coredumpctl dump -o core PID`.\n"
              "Exit status: 0 printed, 1 a file holds no report, 2 it cannot be read.\n",
              option == 'h' ? stdout : stderr);
        return option == 'h' ? SJ_EXIT_GOOD : SJ_EXIT_USAGE;
    }
    int status = SJ_EXIT_GOOD;
    for (int i = optind; i < argc; i++) {
        const int answer = print_file(argv[i]);
        status = answer > status ? answer : status;
    }
    return status;
}
