# shellcheck shell=bash disable=SC2317
# SPDX-License-Identifier: MIT
#
# What: lua5.4: tables, strings, closures, coroutines, both kinds of collector.
# Why this way: all of Lua's memory goes through realloc.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need lua5.4:lua5.4

cat >"$SJ_WORK/job.lua" <<'LUA'
for _, mode in ipairs { "incremental", "generational" } do
    collectgarbage(mode)
    local t, parts = {}, {}
    for i = 1, 200000 do
        t[i % 5000] = { id = i, name = "n" .. i, { i, i + 1 } }
        if i % 10 == 0 then parts[#parts + 1] = ("%d:%s"):format(i, ("x"):rep(i % 40)) end
    end
    local text = table.concat(parts, ",")
    print(mode, #text, select(2, text:gsub("x+", "")), text:sub(5000, 5100))
    local co = coroutine.wrap(function() for i = 1, 50000 do coroutine.yield({ i }) end return { 0 } end)
    local sum = 0
    for _ = 1, 50000 do sum = sum + co()[1] end
    print(sum)
    local keys = {}
    for i = 1, 50000 do keys["k" .. i * 7919 % 50000] = i end
    local list = {}
    for k in pairs(keys) do list[#list + 1] = k end
    table.sort(list)
    print(#list, list[1], list[#list])
end
LUA

lua_job() { under "$1" lua5.4 "$SJ_WORK/job.lua"; }

same lua lua_job
finish
