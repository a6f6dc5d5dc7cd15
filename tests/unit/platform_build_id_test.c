/* SPDX-License-Identifier: MIT
 *
 * What: tests of platform/build_id.h: the build id of an object that is mapped, and headers that say what is not so.
 *
 * Why this way: the object is made in memory, with pages beside and inside it that can't be read: to follow it there would end
 * the test.
 */
#include "platform/build_id.h"

#include "unit/unit.h"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 8, BASE = 1, NOTES = 3, ID_BYTES = 2 };

struct note {
    ElfW(Nhdr) header;
    char name[4];
    unsigned char id[ID_BYTES + 2];
};

static char *memory; /* PAGES pages, of which the first can't be read; the object begins at page BASE */
static ElfW(Ehdr) * header;
static ElfW(Phdr) * segment;
static struct note *note;
static char buffer[64];

/* An object with one segment of notes, on page NOTES, and one note in it. */
static void make_object(void)
{
    memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory, PAGE, PROT_NONE) != 0)
        abort();
    header = (void *)(memory + BASE * PAGE);
    segment = (void *)(header + 1);
    note = (void *)(memory + NOTES * PAGE);
    memcpy(header->e_ident, ELFMAG, SELFMAG);
    header->e_phoff = sizeof *header;
    header->e_phnum = 2;
    segment[0] = (ElfW(Phdr)){ .p_type = PT_LOAD };
    segment[1] = (ElfW(Phdr)){ .p_type = PT_NOTE, .p_vaddr = (NOTES - BASE) * PAGE, .p_filesz = sizeof *note };
    *note = (struct note){ { 4, ID_BYTES, NT_GNU_BUILD_ID }, "GNU", { 0xa1, 0x0b } };
}

static const char *found(void)
{
    struct sj_text text;
    sj__format_start(&text, buffer, sizeof buffer);
    sj__build_id_format_of(&text, header);
    buffer[text.length] = '\0';
    munmap(memory, PAGES * PAGE);
    return buffer;
}

static void build_id__is_found_in_the_notes(void)
{
    make_object();
    CHECK(strcmp(found(), "a10b") == 0);
}

static void build_id__is_none_when_the_segments_lie_outside_the_header(void)
{
    make_object();
    header->e_phoff = (size_t)0 - sizeof *segment; /* with one segment the sum is 0 */
    header->e_phnum = 1;
    CHECK(strcmp(found(), "") == 0);
    make_object();
    header->e_phnum = PAGE / sizeof *segment;
    CHECK(strcmp(found(), "") == 0);
}

static void build_id__is_none_when_a_page_of_the_notes_cannot_be_read(void)
{
    make_object();
    note->header.n_type = 0;
    note->header.n_descsz = PAGE; /* the next note lies on the next page */
    segment[1].p_filesz = 3 * PAGE;
    REQUIRE(mprotect(memory + (NOTES + 1) * PAGE, PAGE, PROT_NONE) == 0);
    CHECK(strcmp(found(), "") == 0);
    make_object();
    segment[1].p_filesz = SIZE_MAX;
    CHECK(strcmp(found(), "") == 0);
}

int main(int argc, char **argv)
{
    unit_begin(argc, argv);
    RUN(build_id__is_found_in_the_notes);
    RUN(build_id__is_none_when_the_segments_lie_outside_the_header);
    RUN(build_id__is_none_when_a_page_of_the_notes_cannot_be_read);
    return unit_end();
}
