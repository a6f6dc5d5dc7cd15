# SPDX-License-Identifier: MIT
#
# What: libscrubjay.so, libscrubjay.a and how they are installed.
# Why this way: what a packager needs is here and nowhere else: soname, version script, pkg-config, CMake package.

# The standard names are compiled twice: the shared library must load without a C++ runtime and refers to it weakly; out
# of a static runtime only a strong reference pulls what operator new needs to throw (see src/platform/cxx.h).
add_library(scrubjay_names OBJECT ${SJ_NAMES_SOURCES} ${SJ_SHARED_SOURCES})
target_link_libraries(scrubjay_names PRIVATE sj_library_flags sj_own_memory)
add_library(scrubjay_names_archive OBJECT ${SJ_NAMES_SOURCES})
target_link_libraries(scrubjay_names_archive PRIVATE sj_library_flags sj_own_memory)
target_compile_definitions(scrubjay_names_archive PRIVATE SJ_CXX_RUNTIME_LINKED)

# The copy functions: the same objects in both, but that printf's are in the shared library only.
add_library(scrubjay_copies OBJECT ${SJ_COPY_SOURCES})
target_link_libraries(scrubjay_copies PRIVATE sj_library_flags sj_copy_flags)
add_library(scrubjay_shared_copies OBJECT ${SJ_SHARED_COPY_SOURCES})
target_link_libraries(scrubjay_shared_copies PRIVATE sj_library_flags sj_copy_flags)

add_library(scrubjay_shared SHARED $<TARGET_OBJECTS:scrubjay_core> $<TARGET_OBJECTS:scrubjay_names>
    $<TARGET_OBJECTS:scrubjay_copies> $<TARGET_OBJECTS:scrubjay_shared_copies>)
set_target_properties(scrubjay_shared PROPERTIES
    OUTPUT_NAME scrubjay
    EXPORT_NAME scrubjay
    LINKER_LANGUAGE C
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${PROJECT_SOURCE_DIR}/src/scrubjay.map)
target_include_directories(scrubjay_shared INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_options(scrubjay_shared PRIVATE
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/src/scrubjay.map
    -Wl,-z,defs -Wl,-z,now -Wl,-z,relro -Wl,-z,noexecstack
    -Wl,-z,nodelete     # frees may come after dlclose
    -Wl,--as-needed -Wl,--build-id)
target_link_libraries(scrubjay_shared PRIVATE sj_library_flags Threads::Threads ${CMAKE_DL_LIBS})

add_library(scrubjay_static STATIC $<TARGET_OBJECTS:scrubjay_core> $<TARGET_OBJECTS:scrubjay_names_archive>
    $<TARGET_OBJECTS:scrubjay_copies>)
set_target_properties(scrubjay_static PROPERTIES
    OUTPUT_NAME scrubjay
    EXPORT_NAME scrubjay_static
    LINKER_LANGUAGE C)
target_include_directories(scrubjay_static INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

# ---- Installation: respects --prefix and DESTDIR --------------------------------------------------------------------
install(TARGETS scrubjay_shared scrubjay_static EXPORT ScrubjayTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
file(GLOB SJ_PUBLIC_HEADERS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/*.h)
install(FILES ${SJ_PUBLIC_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

install(EXPORT ScrubjayTargets NAMESPACE Scrubjay:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Scrubjay)
configure_package_config_file(cmake/ScrubjayConfig.cmake.in ${PROJECT_BINARY_DIR}/ScrubjayConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Scrubjay)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ScrubjayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ScrubjayConfig.cmake ${PROJECT_BINARY_DIR}/ScrubjayConfigVersion.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Scrubjay)

# The pkg-config file finds its prefix from where it lies, so that a moved or DESTDIR tree works too.
file(RELATIVE_PATH SJ_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" SJ_PREFIX_FROM_PC "${SJ_PREFIX_FROM_PC}")
configure_file(cmake/scrubjay.pc.in ${PROJECT_BINARY_DIR}/scrubjay.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/scrubjay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

foreach(section IN ITEMS 1 3 5 7)
    file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/man/*.${section})
    if(pages)
        install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
    endif()
endforeach()
# gdb loads it with the library: the path under auto-load is the library's, the name that of the file behind its links.
install(FILES gdb/scrubjay-gdb.py
    DESTINATION ${CMAKE_INSTALL_DATADIR}/gdb/auto-load/\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}
    RENAME $<TARGET_FILE_NAME:scrubjay_shared>-gdb.py)
install(FILES completions/scrubjay.bash RENAME scrubjay
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES completions/scrubjay.zsh RENAME _scrubjay
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES completions/scrubjay.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
