-- SPDX-License-Identifier: MIT
-- Trees, strings, tables and closures; prints sums that depend on nothing but this file.

local seed = 12345
local function random(limit)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return seed // 65536 % limit
end

local function tree(depth)
    if depth == 0 then
        return { leaf = true }
    end
    return { left = tree(depth - 1), right = tree(depth - 1) }
end

local function count(node)
    return node.leaf and 1 or 1 + count(node.left) + count(node.right)
end

local function trees()
    local kept = tree(13)
    local total = 0
    for _ = 1, 30 do
        total = total + count(tree(11))
    end
    return total + count(kept)
end

local function words()
    local counts = {}
    for _ = 1, 60000 do
        local letters = {}
        for i = 1, 3 + random(6) do
            letters[i] = string.char(97 + random(5))
        end
        local word = table.concat(letters)
        counts[word] = (counts[word] or 0) + 1
    end
    local list = {}
    for word, number in pairs(counts) do
        list[#list + 1] = word .. "=" .. number
    end
    table.sort(list)
    local text = table.concat(list, ";")
    local upper = text:gsub("%a+", string.upper)
    return #list, #upper
end

local function closures()
    local queue = {}
    local sum = 0
    for i = 1, 100000 do
        local extra = { i, tostring(i) }
        queue[#queue + 1] = function() return extra[1] + #extra[2] end
        if #queue > 500 then
            for _, call in ipairs(queue) do
                sum = sum + call()
            end
            queue = {}
        end
    end
    return sum
end

-- Writes a nested value as text and reads it back.
local function encode(value)
    if type(value) == "table" then
        local parts = {}
        for i, item in ipairs(value) do
            parts[i] = encode(item)
        end
        return "[" .. table.concat(parts, ",") .. "]"
    end
    return tostring(value)
end

local function decode(text, at)
    if text:sub(at, at) ~= "[" then
        local number, stop = text:match("^(%d+)()", at)
        return tonumber(number), stop
    end
    local list = {}
    at = at + 1
    while text:sub(at, at) ~= "]" do
        list[#list + 1], at = decode(text, at)
        if text:sub(at, at) == "," then
            at = at + 1
        end
    end
    return list, at + 1
end

local function nested(depth)
    if depth == 0 then
        return random(100000)
    end
    local list = {}
    for i = 1, 6 do
        list[i] = nested(depth - 1)
    end
    return list
end

print("trees", trees())
print("words", words())
print("closures", closures())
local text = encode(nested(6))
print("nested", #text, text == encode((decode(text, 1))))
