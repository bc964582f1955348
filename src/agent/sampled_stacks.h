#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace eroica {

/// A trace of the Python functions of the main thread, in Kineto's form, from what `py-spy record --format chrometrace
/// --function --threads` wrote (successive samples of one stack are one there). `pid`: of the sampled process.
/// `began_unix_ns`: when py-spy began, from which its times count. nullopt: no such document, or no main thread in it.
std::optional<std::string> sampled_stacks_json(std::string_view chrome_trace, int64_t pid, int64_t began_unix_ns);

}  // namespace eroica
