/* SPDX-License-Identifier: MIT
 *
 * What: the build id the linker wrote into an object; see build_id.h.
 *
 * Why this way: see build_id.h. The symbol is weak, so that a linker without it costs the build id and nothing else. Of other
 * objects each page is asked for before it is read.
 *
 * Invariants: notes are 4-byte aligned records of name size, description size, type, name, description.
 *
 * Concurrency: reads constants.
 */
#include "platform/build_id.h"

#include "platform/unwind.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

enum {
    PAGE_BYTES = 4096,         /* the smallest there are; the kernel is asked for each */
    HEADER_BYTES = PAGE_BYTES, /* of a foreign object: what of its header is looked at */
    NOTES_BYTES = 65536        /* and of its notes at most */
};

extern const unsigned char __ehdr_start[] __attribute__((weak, visibility("hidden")));

static size_t note_padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

/* Adds the build id if the notes in [note, note + bytes) have one. */
static bool format_from_notes(struct sj_text *text, const unsigned char *note, size_t bytes)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *header = (const void *)note;
        const size_t name_bytes = note_padded(header->n_namesz);
        const size_t whole_bytes = sizeof *header + name_bytes + note_padded(header->n_descsz);
        if (whole_bytes > bytes)
            return false;
        const unsigned char *name = note + sizeof *header;
        const bool is_gnu = header->n_namesz == 4 && name[0] == 'G' && name[1] == 'N' && name[2] == 'U';
        if (is_gnu && header->n_type == NT_GNU_BUILD_ID) {
            for (size_t i = 0; i < header->n_descsz; i++) {
                const unsigned byte = name[name_bytes + i];
                sj__format_char(text, "0123456789abcdef"[byte >> 4]);
                sj__format_char(text, "0123456789abcdef"[byte & 15]);
            }
            return true;
        }
        note += whole_bytes;
        bytes -= whole_bytes;
    }
    return false;
}

static bool are_readable(uintptr_t notes, size_t bytes)
{
    if (bytes == 0 || bytes > NOTES_BYTES || notes > UINTPTR_MAX - NOTES_BYTES || notes % _Alignof(ElfW(Nhdr)) != 0)
        return false;
    for (uintptr_t at = notes; at < notes + bytes; at = (at | (PAGE_BYTES - 1)) + 1)
        if (!sj__unwind_is_readable(at))
            return false;
    return true;
}

/* Of a program's header that is readable. */
static void format_from_header(struct sj_text *text, const unsigned char *base)
{
    const ElfW(Ehdr) *header = (const void *)base;
    const ElfW(Phdr) *segments = (const void *)(base + header->e_phoff);
    uintptr_t first = UINTPTR_MAX; /* the address the file's first byte was linked at */
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr - segments[i].p_offset < first)
            first = segments[i].p_vaddr - segments[i].p_offset;
    }
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const unsigned char *notes = base + (segments[i].p_vaddr - first);
        if (segments[i].p_type == PT_NOTE && are_readable((uintptr_t)notes, segments[i].p_filesz) &&
            format_from_notes(text, notes, segments[i].p_filesz))
            return;
    }
}

void sj__build_id_format(struct sj_text *text)
{
    if (__ehdr_start != NULL)
        format_from_header(text, __ehdr_start);
}

void sj__build_id_format_of(struct sj_text *text, const void *base)
{
    const int saved_errno = errno;
    const ElfW(Ehdr) *header = base;
    if (sj__unwind_is_readable((uintptr_t)base) && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
        header->e_phoff <= HEADER_BYTES && header->e_phoff % _Alignof(ElfW(Phdr)) == 0 &&
        header->e_phoff + (size_t)header->e_phnum * sizeof(ElfW(Phdr)) <= HEADER_BYTES)
        format_from_header(text, base);
    errno = saved_errno;
}
