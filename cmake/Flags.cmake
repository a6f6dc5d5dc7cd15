# SPDX-License-Identifier: MIT
#
# What: the flags, as interface targets: sj_warnings (everything of ours), sj_library_flags (the library),
# sj_program_flags (the command, the tests, the benches).
# Why this way: each flag of the library that is not plain is here once, with its reason; doc/adr/0002 has the long form.

add_library(sj_warnings INTERFACE)
target_compile_options(sj_warnings INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wcast-qual -Wconversion -Wundef -Wvla
    $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes>
    $<$<BOOL:${SCRUBJAY_WERROR}>:-Werror>)

add_library(sj_library_flags INTERFACE)
target_link_libraries(sj_library_flags INTERFACE sj_warnings)
target_include_directories(sj_library_flags INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(sj_library_flags INTERFACE
    _GNU_SOURCE
    SJ_VERSION_TEXT="${PROJECT_VERSION}"
    $<$<CONFIG:Debug>:SJ_DEBUG=1>
    $<$<NOT:$<STREQUAL:${SCRUBJAY_FIXED_LEVEL},>>:SJ_FIXED_LEVEL=${SCRUBJAY_FIXED_LEVEL}>)
target_compile_options(sj_library_flags INTERFACE
    -fvisibility=hidden             # only src/scrubjay.map decides what leaves
    -fno-semantic-interposition     # our own calls to ourselves are never redirected
    -ftls-model=initial-exec        # no __tls_get_addr, which may call malloc
    -fno-plt                        # everything is bound at load; a call through the table needs no stub
    -fno-strict-aliasing            # the same bytes are handed out under many types
    -fno-stack-protector            # hot paths hold no arrays; cold floors switch it on again below
    # The compiler must not believe it knows these: it would turn malloc + memset into calloc inside calloc itself.
    -fno-builtin-malloc -fno-builtin-calloc -fno-builtin-realloc -fno-builtin-free
    -fno-builtin-aligned_alloc -fno-builtin-posix_memalign -fno-builtin-memalign
    # The fortified inlines of <string.h> would stand in the way of wrapping those functions.
    -U_FORTIFY_SOURCE
    $<$<CONFIG:Debug>:-fno-omit-frame-pointer>)

# Shadow-stack marks. A library without them switches the shadow stack off for the whole process; `return` adds no
# instruction, while `full` would add one to each entry for a feature that Linux does not offer to programs.
check_c_compiler_flag(-fcf-protection=return SJ_HAS_CF_PROTECTION)
if(SJ_HAS_CF_PROTECTION AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(sj_library_flags INTERFACE -fcf-protection=return)
    # Said to the linker too, since the start-up files of some systems lack the mark (their code is fit for it).
    target_link_options(sj_library_flags INTERFACE -Wl,-z,shstk)
endif()
check_c_compiler_flag(-mbranch-protection=standard SJ_HAS_BRANCH_PROTECTION)
if(SJ_HAS_BRANCH_PROTECTION AND CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    target_compile_options(sj_library_flags INTERFACE -mbranch-protection=standard)
endif()

# Our own code never calls the copy functions we export: see src/base/own_memory.h. Not under a sanitizer.
add_library(sj_own_memory INTERFACE)
if(NOT SCRUBJAY_PREFIXED)
    target_compile_options(sj_own_memory INTERFACE -include ${PROJECT_SOURCE_DIR}/src/base/own_memory.h)
endif()
# A copy function must not be made into a call of itself, nor take its own name for the compiler's.
add_library(sj_copy_flags INTERFACE)
check_c_compiler_flag(-fno-tree-loop-distribute-patterns SJ_HAS_NO_LOOP_PATTERNS)
set(SJ_COPY_FLAGS -fno-builtin)
if(SJ_HAS_NO_LOOP_PATTERNS)
    list(APPEND SJ_COPY_FLAGS -fno-tree-loop-distribute-patterns)
endif()
target_compile_options(sj_copy_flags INTERFACE ${SJ_COPY_FLAGS})
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/base/plain.c PROPERTIES COMPILE_OPTIONS "${SJ_COPY_FLAGS}")

# Programs of ours: the command, and what the tests and benches build.
add_library(sj_program_flags INTERFACE)
target_link_libraries(sj_program_flags INTERFACE sj_warnings Threads::Threads)
target_include_directories(sj_program_flags INTERFACE ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(sj_program_flags INTERFACE _GNU_SOURCE)
# gcc passes sizes to operator delete by default, clang not before 19.
target_compile_options(sj_program_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsized-deallocation>)

if(SCRUBJAY_SANITIZE)
    add_compile_options(-fsanitize=${SCRUBJAY_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${SCRUBJAY_SANITIZE})
endif()
if(SCRUBJAY_COVERAGE)
    add_compile_options(--coverage -fprofile-update=atomic)
    add_link_options(--coverage)
endif()

# Floors that parse text or print it keep arrays on the stack and are never hot: they get the protector.
file(GLOB SJ_COLD_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/policy/*.c ${PROJECT_SOURCE_DIR}/src/report/*.c)
if(SJ_COLD_SOURCES)
    set_source_files_properties(${SJ_COLD_SOURCES} PROPERTIES COMPILE_OPTIONS -fstack-protector-strong)
endif()
# Exceptions thrown by a new-handler, or by operator new itself, pass through these functions.
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/front/operators.c ${PROJECT_SOURCE_DIR}/src/front/cxx_runtime.c
    PROPERTIES COMPILE_OPTIONS -fexceptions)
