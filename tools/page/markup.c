/* SPDX-License-Identifier: MIT
 *
 * What: see markup.h.
 *
 * Why this way: see markup.h.
 */
#include "page/markup.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "bench/text.h"
#include "lab/paired.h"

/* Length of the UTF-8 sequence at `at`; 0 if there is none that XML and HTML allow: no controls, no U+FFFE and U+FFFF. */
static size_t markup_sequence(const unsigned char *at)
{
    if (*at < 0x80)
        return (*at >= 0x20 && *at != 0x7f) || *at == '\n' || *at == '\t' ? 1 : 0;
    size_t length = bench_utf8_length(at);
    bool control = length == 2 && at[0] == 0xc2 && at[1] < 0xa0;
    bool none = length == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe;
    return control || none ? 0 : length;
}

void page_escape(FILE *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at != '\0';) {
        size_t length = markup_sequence(at);
        switch (*at) {
        case '&': fputs("&amp;", out); break;
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\'': fputs("&#39;", out); break;
        default:
            if (length == 0)
                fputs("\xef\xbf\xbd", out);
            else
                fwrite(at, 1, length, out);
        }
        at += length > 0 ? length : 1;
    }
}

void page_print(FILE *out, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0)
        abort();
    page_escape(out, text);
    free(text);
}

char *page_clip(const char *text, size_t most)
{
    size_t characters = 0;
    size_t cut = 0; /* before the last character that still fits beside an ellipsis */
    for (size_t i = 0; text[i] != '\0'; i++) {
        if (((unsigned char)text[i] & 0xc0) == 0x80)
            continue;
        characters++;
        if (characters == most)
            cut = i;
        else if (characters > most)
            return bench_format("%.*s\u2026", (int)cut, text);
    }
    return bench_format("%s", text);
}

/* A minus sign in place of the hyphen; frees its argument. */
static char *markup_minus(char *text)
{
    char *result = bench_format("%s", "");
    char *rest = text;
    for (char *piece = strsep(&rest, "-"); piece != NULL; piece = strsep(&rest, "-")) {
        char *longer = bench_format("%s%s%s", result, piece, rest != NULL ? "\u2212" : "");
        free(result);
        result = longer;
    }
    free(text);
    return result;
}

/* In percent; -0.04 is 0. */
static double markup_percent(double log_ratio)
{
    double percent = 100 * lab_effect(log_ratio);
    return fabs(percent) < 0.05 ? 0 : percent;
}

char *page_effect(double log_ratio)
{
    return markup_minus(bench_format("%+.1f\u00a0%%", markup_percent(log_ratio)));
}

char *page_effect_interval(double log_ratio, struct lab_interval logs)
{
    double middle = markup_percent(log_ratio);
    if (!isfinite(logs.low) || !isfinite(logs.high))
        return markup_minus(bench_format("%+.1f\u00a0%% [?, ?]", middle));
    return markup_minus(
        bench_format("%+.1f\u00a0%% [%+.1f, %+.1f]", middle, markup_percent(logs.low), markup_percent(logs.high)));
}
