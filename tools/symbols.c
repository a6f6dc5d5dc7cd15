/* SPDX-License-Identifier: MIT
 *
 * What: see symbols.h.
 *
 * Why this way: each file is loaded once, into one session of libdwfl that lasts as long as the command.
 */
#include "symbols.h"

#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUILD_ID_BYTES = 64 };

static Dwfl *session;

bool sj__symbols_can(void)
{
    return true;
}

static bool start(void)
{
    static char *debug_folders;
    static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf,
                                              .find_debuginfo = dwfl_standard_find_debuginfo,
                                              .section_address = dwfl_offline_section_address,
                                              .debuginfo_path = &debug_folders };
    if (session == NULL)
        session = dwfl_begin(&callbacks);
    return session != NULL;
}

struct search {
    const char *module;
    Dwfl_Module *found;
};

static int compare_module(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr start_address, void *argument)
{
    struct search *search = argument;
    (void)data;
    (void)start_address;
    if (strcmp(name, search->module) != 0)
        return DWARF_CB_OK;
    search->found = module;
    return DWARF_CB_ABORT;
}

/* The file as a module of the session, or NULL. */
static Dwfl_Module *find_module(const char *path)
{
    struct search search = { .module = path };
    (void)dwfl_getmodules(session, compare_module, &search, 0);
    if (search.found != NULL)
        return search.found;
    dwfl_report_begin_add(session);
    Dwfl_Module *module = dwfl_report_offline(session, path, path, -1);
    (void)dwfl_report_end(session, NULL, NULL);
    return module;
}

static bool is_build(Dwfl_Module *module, const char *build_id)
{
    const unsigned char *bits;
    GElf_Addr address;
    char text[2 * BUILD_ID_BYTES + 1] = "";
    const int bytes = dwfl_module_build_id(module, &bits, &address);
    for (int i = 0; i < bytes && i < BUILD_ID_BYTES; i++)
        (void)snprintf(text + 2 * (size_t)i, 3, "%02x", bits[i]);
    return build_id[0] == '\0' || strcmp(text, build_id) == 0;
}

/* clang writes no table of what unit an address is of: then the units are asked one by one. */
static void find_line(Dwfl_Module *module, Dwarf_Addr address, struct sj_symbol *symbol)
{
    Dwfl_Line *line = dwfl_module_getsrc(module, address);
    if (line != NULL) {
        symbol->file = dwfl_lineinfo(line, NULL, &symbol->line, NULL, NULL, NULL);
        return;
    }
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = NULL;
    do
        unit = dwfl_module_nextcu(module, unit, &bias);
    while (unit != NULL && dwarf_haspc(unit, address - bias) <= 0);
    Dwarf_Line *of_unit = unit != NULL ? dwarf_getsrc_die(unit, address - bias) : NULL;
    if (of_unit != NULL && dwarf_lineno(of_unit, &symbol->line) == 0)
        symbol->file = dwarf_linesrc(of_unit, NULL, NULL);
}

/* A report or profile names any path it likes: opening a pipe would wait, opening a device may do anything. */
static bool is_plain_file(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, R_OK) == 0;
}

enum sj_symbols_answer sj__symbols_find(const char *module_path, const char *build_id, uint64_t offset,
                                        struct sj_symbol *symbol)
{
    *symbol = (struct sj_symbol){ 0 };
    if (!start() || !is_plain_file(module_path))
        return SJ_SYMBOLS_NO_FILE;
    Dwfl_Module *module = find_module(module_path);
    Dwarf_Addr base;
    if (module == NULL || dwfl_module_info(module, NULL, &base, NULL, NULL, NULL, NULL, NULL) == NULL)
        return SJ_SYMBOLS_UNKNOWN;
    if (!is_build(module, build_id))
        return SJ_SYMBOLS_OTHER_BUILD;
    symbol->function = dwfl_module_addrname(module, base + offset);
    find_line(module, base + offset, symbol);
    return symbol->function != NULL || symbol->file != NULL ? SJ_SYMBOLS_FOUND : SJ_SYMBOLS_UNKNOWN;
}
