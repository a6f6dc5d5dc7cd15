# SPDX-License-Identifier: MIT
"""Writes one C++ file: classes over the standard containers, templates over classes, lambdas over templates."""

from bench_numbers import Numbers

CLASSES = 2
HEADERS = ["algorithm", "functional", "map", "memory", "numeric", "set", "string", "tuple", "unordered_map", "vector"]


def shared():
    return """
template <int N, typename T> struct tower {
    tower<N - 1, std::pair<T, int>> below;
    T value{};
    int sum() const { return N + below.sum(); }
};
template <typename T> struct tower<0, T> {
    T value{};
    int sum() const { return 1; }
};
template <typename... Parts> int weight(const Parts &...parts) { return (0 + ... + static_cast<int>(sizeof parts)); }
"""


def one_class(numbers, index):
    containers = [
        f"std::vector<std::pair<int, item_{index}>>",
        f"std::map<std::string, item_{index}>",
        f"std::unordered_map<int, std::shared_ptr<item_{index}>>",
        f"std::set<std::tuple<int, long, char>>",
    ]
    members = "\n".join(f"    {kind} part_{i};" for i, kind in enumerate(containers))
    return f"""
struct item_{index} {{
    int a[{1 + numbers.below(9)}];
    std::string name;
    bool operator<(const item_{index} &other) const {{ return name < other.name; }}
}};
class holder_{index} {{
{members}
public:
    int run(int n)
    {{
        for (int i = 0; i < n; i++) {{
            part_0.emplace_back(i, item_{index}{{}});
            part_1[std::to_string(i * {1 + numbers.below(100)})].a[0] = i;
            part_2[i] = std::make_shared<item_{index}>();
            part_3.insert({{i, i * 2L, static_cast<char>(i)}});
        }}
        std::sort(part_0.begin(), part_0.end(), [](const auto &x, const auto &y) {{ return x.first > y.first; }});
        auto add = [&](int sum, const auto &pair) {{ return sum + pair.first + {numbers.below(1000)}; }};
        std::function<int(int)> twice = [&](int x) {{ return x * 2 + static_cast<int>(part_3.size()); }};
        tower<{6 + numbers.below(6)}, item_{index} *> high;
        return twice(std::accumulate(part_0.begin(), part_0.end(), high.sum(), add)) + weight(part_0, part_1, high);
    }}
}};
int run_{index}(int n) {{ return holder_{index}{{}}.run(n); }}
"""


def main():
    numbers = Numbers(13)
    for header in HEADERS:
        print(f"#include <{header}>")
    print(shared())
    for index in range(CLASSES):
        print(one_class(numbers, index))


main()
