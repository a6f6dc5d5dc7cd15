/* SPDX-License-Identifier: MIT
 *
 * What: the build id the linker wrote into this object; see build_id.h.
 *
 * Why this way: see build_id.h. The symbol is weak, so that a linker without it costs the build id and nothing else.
 *
 * Invariants: notes are 4-byte aligned records of name size, description size, type, name, description.
 *
 * Concurrency: reads constants.
 */
#include "platform/build_id.h"

#include <elf.h>
#include <link.h>

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

void sj__build_id_format(struct sj_text *text)
{
    const unsigned char *base = __ehdr_start;
    if (base == NULL)
        return;
    const ElfW(Ehdr) *header = (const void *)base;
    const ElfW(Phdr) *segments = (const void *)(base + header->e_phoff);
    uintptr_t first = UINTPTR_MAX; /* the address the file's first byte was linked at */
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr - segments[i].p_offset < first)
            first = segments[i].p_vaddr - segments[i].p_offset;
    }
    for (unsigned i = 0; i < header->e_phnum; i++) {
        if (segments[i].p_type == PT_NOTE &&
            format_from_notes(text, base + (segments[i].p_vaddr - first), segments[i].p_filesz))
            return;
    }
}
