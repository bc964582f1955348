#include "agent/sampled_stacks.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "agent/json_member.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostFrames = 1'000'000;
constexpr size_t kMostDepth = 512;
constexpr int64_t kMostUs = int64_t{1} << 40;

/// Frames of the main thread, told apart from others by how its outermost one is called: "thread (PID): MainThread".
class MainThread {
 public:
  explicit MainThread(int64_t pid) : pid_(pid), own_name_(fmt::format("thread ({}): ", pid)) {}

  void add(const nlohmann::json& event) {
    const std::string phase = text(event, "ph");
    const std::string name = text(event, "name");
    const int64_t thread = integer(event, "tid", -1);
    const int64_t time_us = integer(event, "ts", -1);
    if (time_us < 0 || time_us > kMostUs) return;
    if (thread_ < 0 &&
        (name.starts_with(own_name_) || (name.starts_with("thread (") && name.ends_with("MainThread")))) {
      thread_ = thread;
    }
    if (thread != thread_) return;
    last_us_ = std::max(last_us_, time_us);
    if (phase == "B") begin(event, name, time_us);
    if (phase == "E" && !open_.empty()) end(time_us);
  }

  std::optional<std::string> finish(int64_t began_unix_ns) {
    while (!open_.empty()) end(last_us_);
    if (events_.empty()) return std::nullopt;
    const Json document = {
        {"schemaVersion", 1}, {"baseTimeNanoseconds", began_unix_ns}, {"traceEvents", std::move(events_)}};
    return document.dump(-1, ' ', false, Json::error_handler_t::replace);
  }

 private:
  struct Open {
    size_t event;  // in events_; that of the thread itself is none
    bool is_frame;
    int64_t start_us;
  };

  void begin(const nlohmann::json& event, const std::string& name, int64_t time_us) {
    const nlohmann::json* args = member(event, "args");
    const std::string file = args != nullptr ? text(*args, "filename") : "";
    const bool is_frame = !file.empty() && events_.size() < kMostFrames && open_.size() < kMostDepth;
    if (is_frame) {
      Json frame = {{"ph", "X"},
                    {"cat", "python_function"},
                    {"name", fmt::format("{}({}): {}", file, integer(*args, "line", 0), name)},
                    {"pid", pid_},
                    {"tid", pid_},
                    {"ts", time_us},
                    {"dur", 0},
                    {"args", {{"Python id", events_.size() + 1}}}};
      events_.push_back(std::move(frame));
    }
    open_.push_back({events_.size() - 1, is_frame, time_us});
  }

  void end(int64_t time_us) {
    const Open& last = open_.back();
    if (last.is_frame) events_[last.event]["dur"] = std::max<int64_t>(time_us - last.start_us, 0);
    open_.pop_back();
  }

  int64_t pid_;
  std::string own_name_;
  int64_t thread_ = -1;
  int64_t last_us_ = 0;
  std::vector<Open> open_;
  Json::array_t events_;
};

}  // namespace

std::optional<std::string> sampled_stacks_json(std::string_view chrome_trace, int64_t pid, int64_t began_unix_ns) {
  MainThread frames(pid);
  // Event by event, so that the document is never held as a whole.
  const auto take = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    if (depth != 1 || event != nlohmann::json::parse_event_t::object_end) return true;
    frames.add(parsed);
    return false;
  };
  if (nlohmann::json::parse(chrome_trace, take, false).is_discarded()) return std::nullopt;
  return frames.finish(began_unix_ns);
}

}  // namespace eroica
