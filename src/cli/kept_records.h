#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "steps/policy.h"

namespace eroica {

/// Whether it is the name of a file that keep_records() wrote: "20261130T142230Z-records-1.steps".
bool is_kept_records(std::string_view name);

/// Writes step records (record_log.h) into a folder, which is made where it is missing, as a file of their own: those
/// of an earlier watcher, or of another job, stay. Of such files the oldest go, by the same bounds as windows. Gives
/// the path. Error kWrite.
Result<std::string> keep_records(const std::string& folder, const std::string& bytes, const KeepPolicy& policy,
                                 int64_t now_unix_ns);

}  // namespace eroica
