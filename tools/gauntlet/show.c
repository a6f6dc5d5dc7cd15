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

#include <stdio.h>
#include <string.h>

enum { NAME_COLUMNS = 44, CELL_COLUMNS = 11 };

static const struct {
    const char *word;
    const char *meaning;
    const char *colour;
} words[GAUNTLET_VERDICTS] = {
    [GAUNTLET_AT_ACT] = { "at the act", "stopped at the act, or the program was told", "#b7e1b0" },
    [GAUNTLET_HARMLESS] = { "harmless", "went on, and nothing was changed", "#dff0d8" },
    [GAUNTLET_LATER] = { "later", "stopped later", "#fff3c4" },
    [GAUNTLET_NOT_CAUGHT] = { "NOT CAUGHT", "went on, with harm done", "#f4b6b0" },
    [GAUNTLET_FALSE_ALARM] = { "FALSE ALARM", "the twin without the misuse was stopped", "#d9b8f0" },
    [GAUNTLET_UNABLE] = { "-", "the situation could not be made", "#eeeeee" },
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

static void write_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        default: fputc(*text, out);
        }
    }
}

bool gauntlet_write_html(const struct gauntlet_session *session, const char *path)
{
    FILE *out = fopen(path, "w");
    if (out == NULL)
        return false;
    fputs("<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Scrubjay gauntlet</title><style>"
          "body{font-family:sans-serif}table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:2px 6px}"
          "</style></head><body><h1>Attacks and what became of them</h1><table><tr><th>attack</th>",
          out);
    for (size_t arm = 0; arm < session->arms->count; arm++) {
        fputs("<th>", out);
        write_escaped(out, session->arms->items[arm].name);
        fputs("</th>", out);
    }
    for (size_t attack = 0; attack < session->count; attack++) {
        fputs("</tr>\n<tr><td title=\"", out);
        write_escaped(out, session->attacks[attack]->text);
        fputs("\">", out);
        write_escaped(out, session->attacks[attack]->kind);
        fputs(": ", out);
        write_escaped(out, session->attacks[attack]->name);
        fputs("</td>", out);
        for (size_t arm = 0; arm < session->arms->count; arm++) {
            const enum gauntlet_verdict verdict = session->verdicts[attack][arm];
            fprintf(out, "<td style=\"background:%s\" title=\"%s\">%s</td>", words[verdict].colour,
                    words[verdict].meaning, words[verdict].word);
        }
    }
    fputs("</tr></table></body></html>\n", out);
    return fclose(out) == 0;
}
