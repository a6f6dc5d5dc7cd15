/* SPDX-License-Identifier: MIT
 *
 * What: the matrix of a session for a terminal, as JSON and as HTML.
 *
 * Why this way: the terminal's table is Markdown too, so that the document shows what was printed.
 *
 * Invariants: all three show every verdict.
 *
 * Concurrency: one thread.
 */
#include "bench/text.h"
#include "gauntlet/session.h"
#include "page/markup.h"
#include "page/style.h"

#include <stdio.h>
#include <string.h>

enum { NAME_COLUMNS = 44, CELL_COLUMNS = 11 };

static const struct {
    const char *word;
    const char *meaning;
    const char *tone; /* a class of the page's style */
} words[GAUNTLET_VERDICTS] = {
    [GAUNTLET_AT_ACT] = { "at the act", "stopped at the act, or the program was told", "act" },
    [GAUNTLET_HARMLESS] = { "harmless", "went on, and nothing was changed", "none" },
    [GAUNTLET_LATER] = { "later", "stopped later", "late" },
    [GAUNTLET_NOT_CAUGHT] = { "NOT CAUGHT", "went on, with harm done", "harm" },
    [GAUNTLET_FALSE_ALARM] = { "FALSE ALARM", "the twin without the misuse was stopped", "alarm" },
    [GAUNTLET_UNABLE] = { "-", "the situation could not be made", "unable" },
};

const char *gauntlet_word(enum gauntlet_verdict verdict)
{
    return words[verdict].word;
}

static void print_row(const struct gauntlet_session *session, size_t attack)
{
    char name[128];
    (void)snprintf(name, sizeof name, "%s: %s", session->attacks[attack]->kind, session->attacks[attack]->name);
    printf("| %-*s |", NAME_COLUMNS, name);
    for (size_t arm = 0; arm < session->arms->count; arm++)
        printf(" %-*s |", CELL_COLUMNS, gauntlet_word(session->verdicts[attack][arm]));
    putchar('\n');
}

void gauntlet_print(const struct gauntlet_session *session)
{
    printf("| %-*s |", NAME_COLUMNS, "attack");
    for (size_t arm = 0; arm < session->arms->count; arm++)
        printf(" %-*s |", CELL_COLUMNS, session->arms->items[arm].name);
    fputs("\n|---|", stdout);
    for (size_t arm = 0; arm < session->arms->count; arm++)
        fputs("---|", stdout);
    putchar('\n');
    for (size_t attack = 0; attack < session->count; attack++)
        print_row(session, attack);
    for (enum gauntlet_verdict verdict = 0; verdict < GAUNTLET_VERDICTS; verdict++) {
        printf("| %-*s |", NAME_COLUMNS, words[verdict].meaning);
        for (size_t arm = 0; arm < session->arms->count; arm++)
            printf(" %-*zu |", CELL_COLUMNS, gauntlet_total(session, arm, verdict));
        putchar('\n');
    }
}

bool gauntlet_write_json(const struct gauntlet_session *session, const char *path)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    fprintf(out, "{\"version\":1,\"runs\":%u,\"attacks\":[", session->runs);
    for (size_t attack = 0; attack < session->count; attack++) {
        fputs(attack > 0 ? ",\n{\"kind\":" : "\n{\"kind\":", out);
        bench_json_string(out, session->attacks[attack]->kind);
        fputs(",\"name\":", out);
        bench_json_string(out, session->attacks[attack]->name);
        fputs(",\"text\":", out);
        bench_json_string(out, session->attacks[attack]->text);
        fputs(",\"verdicts\":{", out);
        for (size_t arm = 0; arm < session->arms->count; arm++) {
            fputs(arm > 0 ? "," : "", out);
            bench_json_string(out, session->arms->items[arm].name);
            fputc(':', out);
            bench_json_string(out, words[session->verdicts[attack][arm]].meaning);
        }
        fputs("}}", out);
    }
    fputs("\n]}\n", out);
    return fclose(out) == 0;
}

static void write_totals(FILE *out, const struct gauntlet_session *session)
{
    for (enum gauntlet_verdict verdict = 0; verdict < GAUNTLET_VERDICTS; verdict++) {
        fprintf(out, "<tr><th scope=\"row\">%s</th>", words[verdict].meaning);
        for (size_t arm = 0; arm < session->arms->count; arm++)
            fprintf(out, "<td class=\"%s\">%zu</td>", words[verdict].tone, gauntlet_total(session, arm, verdict));
        fputs("</tr>\n", out);
    }
}

static void write_attack(FILE *out, const struct gauntlet_session *session, size_t attack)
{
    const struct attack *what = session->attacks[attack];
    fputs("<tr><th scope=\"row\" title=\"", out);
    page_escape(out, what->text);
    fputs("\">", out);
    page_print(out, "%s: %s", what->kind, what->name);
    fputs("</th>", out);
    for (size_t arm = 0; arm < session->arms->count; arm++) {
        const enum gauntlet_verdict verdict = session->verdicts[attack][arm];
        fprintf(out, "<td class=\"%s\" title=\"%s\">%s</td>", words[verdict].tone, words[verdict].meaning,
                words[verdict].word);
    }
    fputs("</tr>\n", out);
}

static void write_heads(FILE *out, const struct gauntlet_session *session, const char *first)
{
    fprintf(out, "<table>\n<tr><th scope=\"col\">%s</th>", first);
    for (size_t arm = 0; arm < session->arms->count; arm++) {
        fputs("<th scope=\"col\">", out);
        page_escape(out, session->arms->items[arm].name);
        fputs("</th>", out);
    }
    fputs("</tr>\n", out);
}

bool gauntlet_write_html(const struct gauntlet_session *session, const char *path)
{
    /* A word says it, the colour only again. */
    static const char style[] = "main{max-width:none}td,th{padding:.1rem .5rem;text-align:left;white-space:nowrap}"
                                ".act{background:#2a8f4f55}.none{background:#2a8f4f22}.late{background:#c9a20055}"
                                ".harm{background:#c4392f66}.alarm{background:#8a4fc466}\n";
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
            "<meta name=\"viewport\" content=\"width=device-width\"/><title>Scrubjay gauntlet</title>\n"
            "<style>\n%s%s</style></head>\n<body><main><h1>Attacks on the heap, and what became of them</h1>\n"
            "<p>%zu attacks, each in a process of its own, each run %u times: the worst counts.</p>\n",
            page_style, style, session->count, session->runs);
    write_heads(out, session, "in all");
    write_totals(out, session);
    fputs("</table>\n<h2>Each attack</h2>\n", out);
    write_heads(out, session, "attack");
    for (size_t attack = 0; attack < session->count; attack++)
        write_attack(out, session, attack);
    fputs("</table></main></body></html>\n", out);
    return fclose(out) == 0;
}
