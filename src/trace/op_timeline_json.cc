#include <fmt/core.h>
#include <simdjson.h>

#include <charconv>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/op_timeline_builder.h"

namespace eroica {
namespace {

using simdjson::ondemand::object;

constexpr size_t kMostThreads = size_t{1} << 17;

/// The number after `word` in a text such as "PP rank 3, TP rank 0, dp-comm" or "DP rank [0]".
std::optional<int32_t> number_after(std::string_view text, std::string_view word) {
  size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  at = text.find_first_not_of(" [", at + word.size());
  if (at == std::string_view::npos) return std::nullopt;
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

/// An event before the names of its process and thread are known: they may come last.
struct Pending {
  TimelineRow row;
  uint32_t name = 0;
  int64_t pid = 0;
  int64_t tid = 0;
  uint64_t place = 0;
};

struct Document {
  std::vector<Pending> events;
  StringTable names;
  std::map<int64_t, std::string> processes;
  std::map<std::pair<int64_t, int64_t>, std::string> threads;
};

void take(simdjson::ondemand::object& from, const char* key, int32_t& into) {
  int64_t value = 0;
  if (from[key].get(value) == simdjson::SUCCESS && value >= INT32_MIN && value <= INT32_MAX) {
    into = static_cast<int32_t>(value);
  }
}

void read_name(object& event, std::string_view what, Document& document) {
  int64_t pid = 0;
  int64_t tid = 0;
  std::string_view name;
  object args;
  if (event["pid"].get(pid) != simdjson::SUCCESS || event["args"].get(args) != simdjson::SUCCESS ||
      args["name"].get(name) != simdjson::SUCCESS) {
    return;
  }
  const std::string text(name.substr(0, 256));
  if (what == "process_name" && document.processes.size() < kMostThreads) document.processes[pid] = text;
  if (what == "thread_name" && event["tid"].get(tid) == simdjson::SUCCESS && document.threads.size() < kMostThreads) {
    document.threads[{pid, tid}] = text;
  }
}

/// nullptr, or why the event cannot be used.
const char* read_event(object& event, Pending& pending) {
  double start_us = 0;
  double duration_us = 0;
  if (event["pid"].get(pending.pid) != simdjson::SUCCESS || event["tid"].get(pending.tid) != simdjson::SUCCESS) {
    return "pid or tid is not a number";
  }
  if (event["ts"].get(start_us) != simdjson::SUCCESS || event["dur"].get(duration_us) != simdjson::SUCCESS) {
    return "ts or dur is not a number";
  }
  const std::optional<int64_t> start_ns = to_ns(start_us, 1e3);
  const std::optional<int64_t> duration_ns = to_ns(duration_us, 1e3);
  if (!start_ns || !duration_ns) return "ts or dur is out of range";
  pending.row.start_ns = *start_ns;
  pending.row.duration_ns = *duration_ns;
  object args;
  if (event["args"].get(args) != simdjson::SUCCESS) return "no args";
  take(args, "step", pending.row.step);
  take(args, "seq_id", pending.row.sequence);
  take(args, "model_chunk", pending.row.chunk);
  take(args, "mb_id", pending.row.micro_batch);
  return nullptr;
}

void resolve(Document& document, OpTimelineBuilder& builder) {
  for (Pending& event : document.events) {
    const auto thread = document.threads.find({event.pid, event.tid});
    const std::string_view thread_name = thread == document.threads.end() ? std::string_view() : thread->second;
    const std::optional<int32_t> stage = number_after(thread_name, "PP rank");
    if (!stage) {
      builder.add_bad(event.place, "its thread's name does not tell the pipeline stage (\"PP rank 3, …\")");
      continue;
    }
    const auto process = document.processes.find(event.pid);
    const std::optional<int32_t> dp =
        process == document.processes.end() ? std::nullopt : number_after(process->second, "DP rank");
    event.row.dp = dp.value_or(event.pid >= 0 && event.pid <= INT32_MAX ? static_cast<int32_t>(event.pid) : -1);
    event.row.stage = *stage;
    // Ranks are not numbered here; tensor-parallel ones are told apart all the same.
    const int32_t tensor_rank = number_after(thread_name, "TP rank").value_or(0);
    event.row.rank = tensor_rank > 0 ? tensor_rank : -1;
    event.row.name = document.names.text(event.name);
    builder.add(event.row, event.place);
  }
}

Result<simdjson::padded_string> read_all(ByteSource& input, std::string_view head, const std::string& name,
                                         size_t most_bytes) {
  std::string text(head);
  while (true) {
    const size_t before = text.size();
    if (before > most_bytes) {
      return Error{Error::Kind::kUnsupported,
                   fmt::format("{}: a JSON timeline may have {} MiB; use the CSV form", name, most_bytes >> 20)};
    }
    text.resize(before + (size_t{1} << 20));
    const Result<size_t> got = input.read({text.data() + before, text.size() - before});
    if (!got.ok()) return got.error();
    text.resize(before + *got);
    if (*got == 0) break;
  }
  return simdjson::padded_string(text);
}

/// Does the document lack its last bracket? Then simdjson would have none of it.
bool is_cut(std::string_view text) {
  const size_t first = text.find_first_of("[{");
  const size_t last = text.find_last_not_of(" \t\r\n");
  return first != std::string_view::npos && last != std::string_view::npos &&
         text[last] != (text[first] == '[' ? ']' : '}');
}

/// The document up to its last brace, with its list of events closed. What was cut inside an event ends the reading
/// there.
simdjson::padded_string closed_after_last_event(std::string_view text) {
  const size_t brace = text.rfind('}');
  std::string closed(text.substr(0, brace == std::string_view::npos ? text.size() : brace + 1));
  closed += text[text.find_first_of("[{")] == '[' ? "]" : "]}";
  return simdjson::padded_string(closed);
}

}  // namespace

Result<OpTimeline> read_op_timeline_json(ByteSource& input, std::string_view head, const std::string& name,
                                         const OpTimelineLimits& limits) {
  const Result<simdjson::padded_string> text = read_all(input, head, name, limits.json_bytes);
  if (!text.ok()) return text.error();

  OpTimelineBuilder builder(limits);
  builder.timeline().text_bytes = text->size();
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document json;
  simdjson::ondemand::array array;
  const bool cut = is_cut(*text);
  const simdjson::padded_string closed = cut ? closed_after_last_event(*text) : simdjson::padded_string();
  if (cut) builder.timeline().defects.add(Defect::kTruncated);
  auto error = parser.iterate(cut ? closed : *text).get(json);
  if (error == simdjson::SUCCESS) {
    simdjson::ondemand::json_type type{};
    error = json.type().get(type);
    if (error == simdjson::SUCCESS) {
      error = type == simdjson::ondemand::json_type::array ? json.get_array().get(array)
                                                           : json["traceEvents"].get_array().get(array);
    }
  }
  if (error != simdjson::SUCCESS) {
    return Error{Error::Kind::kNotATrace,
                 fmt::format("{}: not a JSON timeline: {}", name, simdjson::error_message(error))};
  }

  Document document;
  uint64_t place = 0;
  for (auto element : array) {
    ++place;
    object event;
    if (const auto why = element.get_object().get(event); why != simdjson::SUCCESS) {
      if (why != simdjson::INCORRECT_TYPE) {
        if (!cut) builder.timeline().defects.add(Defect::kTruncated);
        break;
      }
      builder.add_bad(place, "not an object");
      continue;
    }
    std::string_view kind;
    std::string_view event_name;
    if (event["ph"].get(kind) != simdjson::SUCCESS || event["name"].get(event_name) != simdjson::SUCCESS) {
      builder.add_bad(place, "no ph or name");
      continue;
    }
    if (kind == "M") {
      read_name(event, event_name, document);
    } else if (kind == "X") {
      Pending pending{.row = {}, .name = document.names.intern(event_name.substr(0, 256)), .place = place};
      if (const char* why = read_event(event, pending); why != nullptr) {
        builder.add_bad(place, why);
      } else if (document.events.size() >= limits.operations) {
        builder.timeline().defects.add(Defect::kTrackOverflow);
      } else {
        document.events.push_back(pending);
      }
    }
  }
  resolve(document, builder);
  return builder.finish();
}

}  // namespace eroica
