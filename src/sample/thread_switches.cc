#include "sample/thread_switches.h"

#include <linux/perf_event.h>

#include <cstring>

namespace eroica {
namespace {

/// What follows each record (PERF_SAMPLE_TID, _TIME and _CPU).
struct Trailer {
  uint32_t pid = 0;
  uint32_t tid = 0;
  uint64_t at_ns = 0;
  uint32_t cpu = 0;
  uint32_t reserved = 0;
};
struct Other {
  uint32_t pid = 0;
  uint32_t tid = 0;
};
struct Lost {
  uint64_t id = 0;
  uint64_t count = 0;
};

template <typename Struct>
bool read_at(std::string_view record, size_t offset, Struct& into) {
  if (offset > record.size() || record.size() - offset < sizeof into) return false;
  std::memcpy(&into, record.data() + offset, sizeof into);
  return true;
}

}  // namespace

uint64_t decode_switches(std::string_view records, std::vector<Switch>& into) {
  uint64_t lost = 0;
  perf_event_header header{};
  while (!records.empty()) {
    if (!read_at(records, 0, header) || header.size < sizeof header || header.size > records.size()) return lost + 1;
    const std::string_view record = records.substr(0, header.size);
    records.remove_prefix(header.size);
    if (header.type == PERF_RECORD_LOST) {
      Lost told;
      lost += read_at(record, sizeof header, told) ? told.count : 1;
      continue;
    }
    const bool is_wide = header.type == PERF_RECORD_SWITCH_CPU_WIDE;
    if (header.type != PERF_RECORD_SWITCH && !is_wide) continue;
    Trailer trailer;
    Other other{~0U, ~0U};
    const bool whole = (!is_wide || read_at(record, sizeof header, other)) &&
                       read_at(record, sizeof header + (is_wide ? sizeof other : 0), trailer);
    if (!whole) {
      ++lost;
      continue;
    }
    const bool is_off = (header.misc & PERF_RECORD_MISC_SWITCH_OUT) != 0;
    const bool is_preempted = (header.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0;
    into.push_back({.at_ns = static_cast<int64_t>(trailer.at_ns),
                    .kind = !is_off        ? Switch::Kind::kOn
                            : is_preempted ? Switch::Kind::kPreempted
                                           : Switch::Kind::kOff,
                    .tid = static_cast<pid_t>(trailer.tid),
                    .other_pid = static_cast<pid_t>(other.pid)});
  }
  return lost;
}

}  // namespace eroica
