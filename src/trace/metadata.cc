#include "trace/metadata.h"

#include <simdjson.h>

#include <limits>

#include "trace/json_text.h"

namespace eroica {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

bool read_int32(element value, int32_t& out) {
  int64_t number = 0;
  if (value.is_string()) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS || parse_integer(text, number) != NumberStatus::kOk) return false;
  } else if (value.get(number) != simdjson::SUCCESS) {
    return false;
  }
  if (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max()) return false;
  out = static_cast<int32_t>(number);
  return true;
}

bool read_text(element value, std::string& out) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    out = text;
    return true;
  }
  int64_t number = 0;  // group names are numbers in some versions
  if (value.get(number) != simdjson::SUCCESS) return false;
  out = std::to_string(number);
  return true;
}

/// A list of ranks, perhaps as the text of one; all or nothing.
bool read_ranks(element value, std::vector<int32_t>& out) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) {
    simdjson::dom::parser parser;
    element list;
    return parser.parse(text.data(), text.size()).get(list) == simdjson::SUCCESS && !list.is_string() &&
           read_ranks(list, out);
  }
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) return false;
  std::vector<int32_t> ranks;
  for (const element item : list) {
    int32_t rank = -1;
    if (!read_int32(item, rank)) return false;
    ranks.push_back(rank);
  }
  out = std::move(ranks);
  return true;
}

bool read_group(element value, ProcessGroup& group) {
  object fields;
  if (value.get(fields) != simdjson::SUCCESS) return false;
  bool good = true;
  for (const auto field : fields) {
    if (field.key == "pg_name") good &= read_text(field.value, group.name);
    if (field.key == "pg_desc") good &= read_text(field.value, group.desc);
    if (field.key == "pg_size") good &= read_int32(field.value, group.size);
    if (field.key == "ranks") good &= read_ranks(field.value, group.ranks);
  }
  return good;
}

bool read_distributed(element value, TraceMetadata& metadata) {
  object fields;
  if (value.get(fields) != simdjson::SUCCESS) return false;
  bool good = true;
  for (const auto field : fields) {
    if (field.key == "rank") good &= read_int32(field.value, metadata.rank);
    if (field.key == "world_size") good &= read_int32(field.value, metadata.world_size);
    if (field.key == "backend") good &= read_text(field.value, metadata.backend);
    if (field.key != "pg_config") continue;
    simdjson::dom::array groups;
    if (field.value.get(groups) != simdjson::SUCCESS) {
      good = false;
      continue;
    }
    metadata.groups.clear();
    for (const element item : groups) {
      ProcessGroup group;
      good &= read_group(item, group);
      metadata.groups.push_back(std::move(group));
    }
  }
  return good;
}

bool read_devices(element value, std::vector<std::string>& devices) {
  simdjson::dom::array list;
  if (value.get(list) != simdjson::SUCCESS) return false;
  devices.clear();
  bool good = true;
  for (const element item : list) {
    std::string_view name;
    good &= item["name"].get(name) == simdjson::SUCCESS;
    devices.emplace_back(name);
  }
  return good;
}

}  // namespace

bool is_known_metadata(std::string_view key) {
  return key == "distributedInfo" || key == "deviceProperties" || key == "baseTimeNanoseconds" || key == "host_name" ||
         key == "traceName";
}

bool read_metadata(std::string_view key, const std::string& json, Trace& trace) {
  if (key == "baseTimeNanoseconds") {
    return parse_integer(trim(json), trace.base_unix_ns) == NumberStatus::kOk;
  }
  simdjson::dom::parser parser;
  element value;
  if (parser.parse(json).get(value) != simdjson::SUCCESS) return false;
  if (key == "distributedInfo") return read_distributed(value, trace.metadata);
  if (key == "deviceProperties") return read_devices(value, trace.metadata.devices);
  if (key == "host_name") return read_text(value, trace.metadata.host_name);
  if (key == "traceName") return read_text(value, trace.metadata.trace_name);
  return true;
}

}  // namespace eroica
