/* SPDX-License-Identifier: MIT
 *
 * What: attacks by copy functions that are told to copy more than a block has.
 *
 * Why this way: as writes.c, but the misuse is one call that knows where it will end before it begins.
 *
 * Invariants: see attack.h.
 *
 * Concurrency: see attack.h.
 */
#include "gauntlet/attack.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum { SOURCE_BYTES = 512, CROWD = 64, VICTIM = 30, BYTES = 40, SECRET_BYTE = 0xC3 };

enum function { MEMCPY, MEMMOVE, MEMSET, STRCPY, STPCPY, STRCAT, STRNCPY, STRNCAT, SPRINTF, SNPRINTF, WMEMCPY };

static _Alignas(16) char source[SOURCE_BYTES];

static void copy(enum function function, char *to, size_t bytes)
{
    const char *text = source + SOURCE_BYTES - bytes;
    switch (function) {
    case MEMCPY: memcpy(to, source, bytes); break;
    case MEMMOVE: memmove(to, source, bytes); break;
    case MEMSET: memset(to, 'A', bytes); break;
    case STRCPY: strcpy(to, text); break;
    case STPCPY: (void)stpcpy(to, text); break;
    case STRNCAT:
        to[0] = '\0';
        strncat(to, text, bytes);
        break;
    case WMEMCPY: wmemcpy((wchar_t *)(void *)to, (const wchar_t *)(const void *)source, bytes / sizeof(wchar_t)); break;
    case STRCAT:
        to[0] = '\0';
        strcat(to, text);
        break;
    case STRNCPY: strncpy(to, text, bytes); break;
    case SPRINTF: (void)sprintf(to, "%s", text); break;
    case SNPRINTF: (void)snprintf(to, SOURCE_BYTES, "%s", text); break;
    }
}

static enum attack_result overflow(bool misuse, size_t function)
{
    static struct attack_crowd crowd;
    char *first = attack_new(BYTES);
    const size_t bytes = malloc_usable_size(first);
    memset(source, 'A', SOURCE_BYTES - 1);
    attack_crowd_make(&crowd, CROWD, bytes);
    attack_arm();
    copy((enum function)function, attack_hide(crowd.blocks[VICTIM]), misuse ? bytes + 64 : bytes);
    attack_past();
    const bool whole = attack_crowd_is_whole(&crowd, VICTIM);
    attack_crowd_free(&crowd, CROWD);
    return whole ? ATTACK_HARMLESS : ATTACK_HARM;
}

static enum attack_result into_freed(bool misuse, size_t size)
{
    char *keep = attack_new(size), *block = attack_new(size), *fresh[16];
    free(block);
    for (int i = 0; i < 16; i++) {
        fresh[i] = attack_new(size);
        memset(fresh[i], 7, size);
    }
    attack_arm();
    if (misuse)
        memset(attack_hide(block), 'A', size);
    attack_past();
    bool harm = false;
    for (int i = 0; i < 16; i++)
        harm = harm || fresh[i][size / 2] != 7;
    (void)keep;
    return harm ? ATTACK_HARM : ATTACK_HARMLESS;
}

/* As a heartbeat is answered: more bytes are sent back than came. */
static enum attack_result overread(bool misuse, size_t size)
{
    static char answer[1024];
    char *secrets[CROWD];
    for (int i = 0; i < CROWD; i++) {
        secrets[i] = attack_new(size);
        memset(secrets[i], i == VICTIM ? 1 : SECRET_BYTE, size);
    }
    const size_t usable = malloc_usable_size(secrets[VICTIM]);
    attack_arm();
    memcpy(answer, attack_hide(secrets[VICTIM]), usable + (misuse ? 200 : 0));
    attack_past();
    for (size_t i = 0; i < sizeof answer; i++)
        if ((unsigned char)answer[i] == SECRET_BYTE)
            return ATTACK_HARM;
    return ATTACK_HARMLESS;
}

const struct attack attack_copies[] = {
    { "copy", "memcpy", "memcpy 64 bytes more than the block has", overflow, MEMCPY },
    { "copy", "memmove", "memmove 64 bytes more", overflow, MEMMOVE },
    { "copy", "memset", "memset 64 bytes more", overflow, MEMSET },
    { "copy", "strcpy", "strcpy of a string too long", overflow, STRCPY },
    { "copy", "stpcpy", "stpcpy of a string too long", overflow, STPCPY },
    { "copy", "strcat", "strcat of a string too long", overflow, STRCAT },
    { "copy", "strncpy", "strncpy with a bound too large", overflow, STRNCPY },
    { "copy", "strncat", "strncat with a bound too large", overflow, STRNCAT },
    { "copy", "sprintf", "sprintf of a text too long", overflow, SPRINTF },
    { "copy", "snprintf", "snprintf with a bound too large", overflow, SNPRINTF },
    { "copy", "wmemcpy", "wmemcpy 64 bytes more", overflow, WMEMCPY },
    { "copy", "memset of a freed block", "memset a block freed 16 allocations ago", into_freed, 48 },
    { "copy", "reading too much", "memcpy out of a block, 200 bytes more than it has", overread, 64 },
    { NULL, NULL, NULL, NULL, 0 },
};
