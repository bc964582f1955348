#include "agent/probe_message.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "agent/json_member.h"

namespace eroica {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kMagic = "ERP1";
constexpr uint64_t kSumOfNothing = 0x4552'4f49'4341;
constexpr uint64_t kWithoutSign = ~uint64_t{0} >> 1;
constexpr int64_t kMostStep = int64_t{1} << 62;
constexpr size_t kMostMembers = size_t{1} << 20;
constexpr int64_t kMostRank = 9'999'999;

int32_t small(const Json& object, const char* key) {
  const int64_t value = integer(object, key, -1);
  return value >= 0 && value <= kMostRank ? static_cast<int32_t>(value) : -1;
}

/// A name that is a string or a number, as one of ours comes back.
std::string name(const Json& object, const char* key) {
  const Json* value = member(object, key);
  if (value == nullptr) return "";
  return value->is_string() ? value->get<std::string>() : value->is_number_integer() ? value->dump() : "";
}

HelloMessage hello(const Json& json) {
  HelloMessage hello;
  hello.pid = integer(json, "pid", -1);
  hello.rank = small(json, "rank");
  hello.world_size = small(json, "world_size");
  hello.local_rank = small(json, "local_rank");
  hello.launcher = flag(json, "launcher");
  hello.host = text(json, "host");
  hello.program = text(json, "program");
  hello.python = text(json, "python");
  hello.torch = text(json, "torch");
  hello.cuda = text(json, "cuda");
  hello.hip = text(json, "hip");
  if (const Json* gpu = member(json, "gpu"); gpu != nullptr && gpu->is_boolean()) hello.gpu = gpu->get<bool>();
  hello.restart_count = integer(json, "restart_count", -1);
  if (const Json* can = member(json, "capabilities"); can != nullptr && can->is_object()) {
    hello.step_hook = flag(*can, "step_hook");
    hello.flight_recorder = flag(*can, "flight_recorder");
    hello.kineto_daemon = flag(*can, "kineto_daemon");
    hello.profile = flag(*can, "profile");
    hello.stack_signal = small(*can, "stack_signal");
    hello.stack_file = text(*can, "stack_file");
    if (!hello.stack_file.starts_with("stacks-") || hello.stack_file.find('/') != std::string::npos) {
      hello.stack_file.clear();
    }
  }
  if (const Json* env = member(json, "env"); env != nullptr && env->is_object()) {
    for (const auto& [key, value] : env->items()) {
      if (value.is_string()) hello.env.emplace(key, value.get<std::string>());
    }
  }
  return hello;
}

/// Appends a Python range; false when it is none, or too long.
bool append_run(const Json& run, std::vector<int32_t>& ranks) {
  if (!run.is_array() || run.size() != 3) return false;
  for (const Json& bound : run) {
    if (!bound.is_number_integer()) return false;
  }
  const auto start = run[0].get<int64_t>();
  const auto stop = run[1].get<int64_t>();
  const auto stride = run[2].get<int64_t>();
  const auto outside = [](int64_t rank) { return rank < -1 || rank > kMostRank + 1; };
  if (stride == 0 || outside(start) || outside(stop) || stride < -kMostRank || stride > kMostRank) return false;
  for (int64_t rank = start; stride > 0 ? rank < stop : rank > stop; rank += stride) {
    if (rank < 0 || ranks.size() == kMostMembers) return false;
    ranks.push_back(static_cast<int32_t>(rank));
  }
  return true;
}

std::optional<ProbeMessage> groups(const Json& json) {
  GroupsMessage message;
  message.rank = small(json, "rank");
  message.set = integer(json, "set", 0);
  message.part = integer(json, "part", 0);
  message.parts = integer(json, "parts", 1);
  const Json* list = member(json, "groups");
  if (message.rank < 0 || list == nullptr || !list->is_array()) return std::nullopt;
  size_t members = 0;
  for (const Json& entry : *list) {
    if (!entry.is_object()) return std::nullopt;
    ProcessGroup group{text(entry, "name"), text(entry, "desc"), {}};
    if (const Json* runs = member(entry, "ranks"); runs != nullptr && runs->is_array()) {
      for (const Json& run : *runs) {
        if (!append_run(run, group.ranks)) return std::nullopt;
      }
    }
    members += group.ranks.size();
    if (members > kMostMembers) return std::nullopt;
    message.groups.push_back(std::move(group));
  }
  return message;
}

EdgeMessage edge(const Json& json) {
  EdgeMessage message{
      small(json, "rank"), name(json, "window"), text(json, "edge") == "end", flag(json, "job_profiles"), {}};
  const auto natural = [](const Json& object, const char* key, int64_t least) {
    return std::max(integer(object, key, least), least);
  };
  message.read.unix_ns = natural(json, "unix_ns", 0);
  message.read.step = natural(json, "step", 0);
  message.read.step_unix_ns = natural(json, "step_unix_ns", 0);
  const Json* groups = member(json, "groups");
  if (groups == nullptr || !groups->is_array()) return message;
  for (const Json& group : *groups) {
    if (!group.is_object()) continue;
    GroupCount count{text(group, "name"), natural(group, "last_enqueued", -1), natural(group, "last_completed", -1)};
    if (!count.group.empty()) message.read.groups.push_back(std::move(count));
  }
  return message;
}

ByeMessage bye(const Json& json) {
  ByeMessage message{small(json, "rank"), integer(json, "steps", 0),        text(json, "exception"),
                     text(json, "file"),  std::max(0, small(json, "line")), std::nullopt};
  const int64_t status = integer(json, "status", -1);
  if (status >= 0 && status <= 255) message.status = static_cast<int>(status);
  return message;
}

std::optional<ProbeMessage> decode_json(uint8_t type, std::string_view payload) {
  const Json json = Json::parse(payload, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  switch (type) {
    case 2:
      return hello(json);
    case 3:
      return groups(json);
    case 4:
      return edge(json);
    case 5:
      return ReplyMessage{name(json, "request"), flag(json, "ok"), flag(json, "late"), text(json, "error"),
                          text(json, "path")};
    case 6:
      return bye(json);
    case 7:
      return OffMessage{small(json, "rank"), text(json, "reason")};
    default:
      return std::nullopt;
  }
}

std::string dumped(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }

}  // namespace

std::optional<StepMessage> decode_step(std::string_view bytes) {
  if (bytes.size() != kStepBytes) return std::nullopt;
  std::array<uint64_t, kStepBytes / sizeof(uint64_t)> words{};
  std::memcpy(words.data(), bytes.data(), kStepBytes);
  const uint64_t sum = std::accumulate(words.begin(), words.end() - 1, kSumOfNothing);
  if ((sum & kWithoutSign) != words.back()) return std::nullopt;
  StepMessage step;
  step.record.step = static_cast<int64_t>(words[0]);
  step.record.unix_ns = static_cast<int64_t>(words[1]);
  step.record.monotonic_ns = static_cast<int64_t>(words[2]);
  step.record.data_wait_ns = static_cast<int64_t>(words[3]);
  step.probe_cost_ns = static_cast<uint32_t>(words[4]);
  step.record.fetches = static_cast<uint32_t>(words[4] >> 32);
  const auto rank = static_cast<uint32_t>(words[5]);
  step.record.rank = static_cast<int32_t>(rank);
  step.optimizer_index = static_cast<uint32_t>(words[5] >> 32);
  step.dropped = words[6];
  if (rank > kMostRank || step.record.step < 1 || step.record.step > kMostStep) return std::nullopt;
  return step;
}

std::optional<ProbeMessage> decode_probe(std::string_view datagram) {
  if (datagram.size() <= kMagic.size() || !datagram.starts_with(kMagic)) return std::nullopt;
  if (datagram.size() > kMostProbeBytes) return std::nullopt;
  const auto type = static_cast<uint8_t>(datagram[kMagic.size()]);
  const std::string_view payload = datagram.substr(kMagic.size() + 1);
  return type == 1 ? decode_step(payload) : decode_json(type, payload);
}

std::string encode_hello() { return R"({"do":"hello"})"; }
std::string encode_groups() { return R"({"do":"groups"})"; }

std::string encode_window(std::string_view window, int64_t start_unix_ns, int64_t end_unix_ns) {
  return dumped({{"do", "window"}, {"window", window}, {"start_unix_ns", start_unix_ns}, {"end_unix_ns", end_unix_ns}});
}

std::string encode_flight_recorder(std::string_view request, std::string_view path) {
  return dumped({{"do", "flight_recorder"}, {"request", request}, {"path", path}});
}

std::string encode_profile(std::string_view request, std::string_view path, int64_t start_unix_ns, int64_t end_unix_ns,
                           bool with_stack, bool record_shapes) {
  return dumped({{"do", "profile"},
                 {"request", request},
                 {"path", path},
                 {"start_unix_ns", start_unix_ns},
                 {"end_unix_ns", end_unix_ns},
                 {"with_stack", with_stack},
                 {"record_shapes", record_shapes}});
}

}  // namespace eroica
