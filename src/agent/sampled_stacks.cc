#include "agent/sampled_stacks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "agent/json_member.h"

namespace eroica {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostFrames = 1'000'000;
constexpr size_t kMostDepth = 512;
constexpr int64_t kMostUs = int64_t{1} << 40;

/// Frames of the main thread, told apart from others by how its outermost one is called: "thread (PID): MainThread".
class MainThread {
 public:
  explicit MainThread(int64_t pid) : pid_(pid), own_name_(fmt::format("thread ({}): ", pid)) {}

  void add(const Json& event) {
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

  /// What is still open ends with the last sample.
  void finish() {
    while (!open_.empty()) end(last_us_);
  }
  [[nodiscard]] bool empty() const { return frames_.empty(); }
  [[nodiscard]] uint64_t left_out() const { return left_out_; }
  [[nodiscard]] int64_t last_us() const { return last_us_; }

  [[nodiscard]] std::string json(int64_t began_unix_ns) const {
    std::string out = fmt::format(R"({{"schemaVersion":1,"baseTimeNanoseconds":{},"traceEvents":[)", began_unix_ns);
    size_t id = 0;
    for (const Frame& frame : frames_) {
      fmt::format_to(
          std::back_inserter(out),
          R"({}{{"ph":"X","cat":"python_function","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{"Python id":{}}}}})",
          id == 0 ? "" : ",", *frame.name, pid_, pid_, frame.start_us, frame.duration_us, id + 1);
      ++id;
    }
    return out + "]}";
  }

 private:
  struct Frame {
    const std::string* name;  // in names_
    int64_t start_us;
    int64_t duration_us;
  };
  struct Open {
    size_t frame;  // in frames_; that of the thread itself is none
    bool is_frame;
  };

  void begin(const Json& event, const std::string& name, int64_t time_us) {
    const Json* args = member(event, "args");
    const std::string file = args != nullptr ? text(*args, "filename") : "";
    const bool is_frame = !file.empty() && frames_.size() < kMostFrames && open_.size() < kMostDepth;
    if (!file.empty() && !is_frame) ++left_out_;
    if (is_frame) {
      const std::string full = fmt::format("{}({}): {}", file, integer(*args, "line", 0), name);
      frames_.push_back({written(full), time_us, 0});
    }
    open_.push_back({frames_.size() - 1, is_frame});
  }

  void end(int64_t time_us) {
    const Open last = open_.back();
    open_.pop_back();
    if (!last.is_frame) return;
    Frame& frame = frames_[last.frame];
    frame.duration_us = std::max<int64_t>(time_us - frame.start_us, 0);
  }

  /// As JSON; names are few.
  const std::string* written(const std::string& name) {
    std::string& text = names_[name];
    if (text.empty()) text = Json(name).dump(-1, ' ', false, Json::error_handler_t::replace);
    return &text;
  }

  int64_t pid_;
  std::string own_name_;
  int64_t thread_ = -1;
  int64_t last_us_ = 0;
  uint64_t left_out_ = 0;
  std::vector<Open> open_;
  std::map<std::string, std::string> names_;
  std::vector<Frame> frames_;
};

}  // namespace

std::optional<SampledStacks> sampled_stacks(std::string_view chrome_trace, int64_t pid, int64_t began_unix_ns) {
  MainThread frames(pid);
  // Event by event, so that the document is never held as a whole.
  const auto take = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth != 1 || event != Json::parse_event_t::object_end) return true;
    frames.add(parsed);
    return false;
  };
  const bool cut = Json::parse(chrome_trace, take, false).is_discarded();
  frames.finish();
  if (frames.empty()) return std::nullopt;
  return SampledStacks{frames.json(began_unix_ns), cut, frames.left_out(), began_unix_ns + frames.last_us() * 1000};
}

}  // namespace eroica
