#include "sample/process_text.h"

#include <bit>

#include "sample/fields.h"

namespace eroica {

std::optional<SchedStat> parse_schedstat(std::string_view text) {
  const std::optional<uint64_t> run = take_number(text);
  const std::optional<uint64_t> wait = take_number(text);
  if (!run || !wait) return std::nullopt;
  return SchedStat{*run, *wait};
}

std::optional<TaskStat> parse_task_stat(std::string_view text) {
  const size_t name_begin = text.find('(');
  const size_t name_end = text.rfind(')');  // the name may hold anything
  if (name_begin == std::string_view::npos || name_end == std::string_view::npos || name_end < name_begin) {
    return std::nullopt;
  }
  TaskStat stat;
  stat.name = text.substr(name_begin + 1, name_end - name_begin - 1);
  text.remove_prefix(name_end + 1);
  const std::string_view state = take_field(text);
  if (state.size() != 1) return std::nullopt;
  stat.state = state.front();
  const std::optional<int32_t> parent = whole_number<int32_t>(take_field(text));
  if (!parent) return std::nullopt;
  stat.parent = *parent;
  for (int field = 5; field <= 24; ++field) {
    const std::string_view value = take_field(text);
    uint64_t* const wanted = field == 12   ? &stat.major_faults
                             : field == 14 ? &stat.user_ticks
                             : field == 15 ? &stat.system_ticks
                             : field == 20 ? &stat.threads
                             : field == 22 ? &stat.start_ticks
                             : field == 24 ? &stat.resident_pages
                                           : nullptr;
    if (wanted == nullptr) continue;
    const std::optional<uint64_t> number = whole_number(value);
    if (!number) return std::nullopt;
    *wanted = *number;
  }
  for (int field = 25; field < 39; ++field) take_field(text);
  stat.cpu = whole_number<int32_t>(take_field(text)).value_or(-1);
  return stat;
}

std::optional<ProcessIo> parse_process_io(std::string_view text) {
  const std::optional<uint64_t> read = number_after(text, "read_bytes");
  const std::optional<uint64_t> written = number_after(text, "write_bytes");
  if (!read || !written) return std::nullopt;
  return ProcessIo{*read, *written};
}

std::optional<uint64_t> parse_allowed_cpus(std::string_view status) {
  while (!status.empty()) {
    std::string_view line = take_line(status);
    constexpr std::string_view kName = "Cpus_allowed:";
    if (!line.starts_with(kName)) continue;
    line.remove_prefix(kName.size());
    std::string_view mask = take_field(line);
    uint64_t count = 0;
    while (!mask.empty()) {  // words of 32 bits, with commas between them
      const size_t comma = mask.find(',');
      const std::optional<uint32_t> word = whole_number<uint32_t>(mask.substr(0, comma), 16);
      if (!word) return std::nullopt;
      count += static_cast<uint64_t>(std::popcount(*word));
      mask.remove_prefix(comma == std::string_view::npos ? mask.size() : comma + 1);
    }
    return count > 0 ? std::optional(count) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace eroica
