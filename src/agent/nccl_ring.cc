#include "agent/nccl_ring.h"

#include <dirent.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "agent/own_file.h"
#include "agent/rank_table.h"

namespace eroica {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMostPlugins = 10'000;
// Lines of the trace.
constexpr int kCalls = 0;
constexpr int kChannels = 1'000;
constexpr int kProxies = 2'000;

template <typename Value>
Value value_at(const std::string& bytes, size_t offset) {
  Value value;
  std::memcpy(static_cast<void*>(&value), bytes.data() + offset, sizeof value);
  return value;
}

template <size_t Room>
std::string_view text_in(const std::array<char, Room>& text) {
  return {text.data(), strnlen(text.data(), Room)};
}

bool is_kind(nccl::Kind kind) { return kind >= nccl::Kind::kCollective && kind <= nccl::Kind::kProxyOperation; }

bool sends(const nccl::Record& record) { return (record.flags & nccl::kSends) != 0; }

int line_of(const nccl::Record& record) {
  switch (record.kind) {
    case nccl::Kind::kChannel:
      return kChannels + record.channel;
    case nccl::Kind::kProxyOperation:
      return kProxies + 2 * record.channel + (sends(record) ? 1 : 0);
    default:
      return kCalls;
  }
}

std::string line_name(const nccl::Record& record) {
  switch (record.kind) {
    case nccl::Kind::kChannel:
      return fmt::format("NCCL channel {}", record.channel);
    case nccl::Kind::kProxyOperation:
      return fmt::format("NCCL proxy, channel {}, {}", record.channel, sends(record) ? "sends" : "receives");
    default:
      return "NCCL calls";
  }
}

std::string_view category(nccl::Kind kind) {
  switch (kind) {
    case nccl::Kind::kCollective:
      return "nccl_collective";
    case nccl::Kind::kPointToPoint:
      return "nccl_point_to_point";
    case nccl::Kind::kChannel:
      return "nccl_channel";
    case nccl::Kind::kProxyOperation:
      return "nccl_proxy";
  }
  return "";
}

Json arguments(const nccl::Record& record, const std::map<uint64_t, std::string>& names) {
  Json all = {{"communicator", fmt::format("{:#x}", record.communicator)}};
  const auto name = names.find(record.communicator);
  if (name != names.end() && !name->second.empty()) all["group"] = name->second;
  if (record.sequence != nccl::kNoSequence) all["sequence"] = record.sequence;
  const auto add_text = [&](const char* key, std::string_view text) {
    if (!text.empty()) all[key] = text;
  };
  switch (record.kind) {
    case nccl::Kind::kCollective:
    case nccl::Kind::kPointToPoint:
      all["count"] = record.count;
      add_text("datatype", text_in(record.datatype));
      add_text("algorithm", text_in(record.algorithm));
      add_text("protocol", text_in(record.protocol));
      all["channels"] = record.channels;
      break;
    case nccl::Kind::kChannel:
      if ((record.flags & nccl::kHostTime) != 0) all["clock"] = "host";
      break;
    case nccl::Kind::kProxyOperation:
      all["bytes_at_most"] = record.count;
      if ((record.flags & nccl::kStrangerOp) != 0) all["of"] = "another process";
      break;
  }
  if (record.peer >= 0) all["peer"] = record.peer;
  return all;
}

}  // namespace

std::vector<std::string> nccl_plugins_in(const std::string& sockets) {
  std::vector<std::string> owners;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(sockets.c_str()), closedir);
  if (!folder) return owners;
  while (const dirent* entry = readdir(folder.get())) {
    std::string owner = socket_owner(std::string("/") + entry->d_name, nccl::kSocketFront);
    if (!owner.empty()) owners.push_back(std::move(owner));
    if (owners.size() == kMostPlugins) break;
  }
  std::ranges::sort(owners);
  return owners;
}

std::string nccl_socket_in(const std::string& sockets, const std::string& owner) {
  return fmt::format("{}/{}{}", sockets, nccl::kSocketFront, owner);
}

std::string nccl_ring_in(const std::string& sockets, const std::string& owner) {
  return fmt::format("{}/{}{}", sockets, nccl::kRingFront, owner);
}

std::string encode_nccl_request(int64_t start_unix_ns, int64_t end_unix_ns) {
  const nccl::Request request{.start_unix_ns = start_unix_ns, .end_unix_ns = end_unix_ns};
  return {reinterpret_cast<const char*>(&request), sizeof request};
}

std::optional<NcclWindow> read_nccl_ring(const std::string& path) {
  const std::string front = read_own_file(path, 0, nccl::kRecordsAt);
  if (front.size() < nccl::kRecordsAt) return std::nullopt;
  const auto header = value_at<nccl::Header>(front, 0);
  if (header.magic != nccl::kMagic) return std::nullopt;
  NcclWindow window;
  window.rank = header.rank;
  window.epoch = header.epoch;
  const uint64_t count = std::min<uint64_t>(header.taken, nccl::kMostRecords);
  window.lost = header.lost + (header.taken - count);
  for (uint32_t i = 0; i < nccl::kMostCommunicators; ++i) {
    const auto one = value_at<nccl::Communicator>(front, nccl::kCommunicatorsAt + i * sizeof(nccl::Communicator));
    if (one.hash != 0) window.communicators.push_back(one);
  }
  const std::string records = read_own_file(path, nccl::kRecordsAt, static_cast<int64_t>(count * sizeof(nccl::Record)));
  for (size_t at = 0; at + sizeof(nccl::Record) <= records.size(); at += sizeof(nccl::Record)) {
    const auto record = value_at<nccl::Record>(records, at);
    const bool holds = record.check == check_of(record) && record.epoch == static_cast<uint32_t>(header.epoch) &&
                       is_kind(record.kind) && record.duration_ns >= 0 && record.start_unix_ns >= 0;
    if (holds) {
      window.records.push_back(record);
    } else {
      ++window.damaged;
    }
  }
  return window;
}

std::string nccl_trace_json(const NcclWindow& window, int32_t rank) {
  std::map<uint64_t, std::string> names;
  for (const nccl::Communicator& one : window.communicators) names[one.hash] = text_in(one.name);
  std::vector<nccl::Record> records = window.records;
  std::ranges::stable_sort(records, {}, &nccl::Record::start_unix_ns);
  const int64_t base_ns = records.empty() ? 0 : records.front().start_unix_ns / 1'000'000'000 * 1'000'000'000;
  std::string out = fmt::format(
      "{{\"schemaVersion\": 1, \"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": {}, "
      "\"traceEvents\": [",
      base_ns);
  bool first = true;
  const auto add = [&](const Json& event) {
    out += first ? "\n" : ",\n";
    out += event.dump(-1, ' ', false, Json::error_handler_t::replace);
    first = false;
  };
  const std::string process = fmt::format("rank {}", rank);
  std::map<int, std::string> lines;
  for (const nccl::Record& record : records) lines.emplace(line_of(record), line_name(record));
  for (const auto& [line, name] : lines) {
    add({{"ph", "M"}, {"name", "thread_name"}, {"pid", process}, {"tid", line}, {"args", {{"name", name}}}});
  }
  for (const nccl::Record& record : records) {
    const std::string_view function = text_in(record.function);
    add({{"ph", "X"},
         {"cat", category(record.kind)},
         {"name", function.empty() ? "unknown" : function},
         {"pid", process},
         {"tid", line_of(record)},
         {"ts", static_cast<double>(record.start_unix_ns - base_ns) * 1e-3},
         {"dur", static_cast<double>(record.duration_ns) * 1e-3},
         {"args", arguments(record, names)}});
  }
  return out + "\n]}\n";
}

}  // namespace eroica
