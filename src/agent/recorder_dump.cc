#include "agent/recorder_dump.h"

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>

#include "agent/json_member.h"

namespace eroica {
namespace {

using Json = nlohmann::json;

/// Numbers are written as texts too.
int64_t integer(const Json& object, const char* key) {
  const Json* value = member(object, key);
  if (value == nullptr) return -1;
  if (value->is_number_integer()) return value->get<int64_t>();
  if (!value->is_string()) return -1;
  const auto& text = value->get_ref<const std::string&>();
  int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? number : -1;
}

std::string operation_of(const Json& entry) {
  const std::string name = text(entry, "profiling_name");
  const size_t colon = name.find(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

void read_entry(const Json& entry, std::map<std::string, RecorderGroup>& groups) {
  const auto id = entry.find("pg_id");
  if (id == entry.end()) return;
  const auto found = groups.find(id->is_string() ? id->get<std::string>() : id->dump());
  if (found == groups.end()) return;
  RecorderGroup& group = found->second;
  if (const auto names = entry.find("process_group"); names != entry.end() && names->is_array() && names->size() >= 2) {
    if ((*names)[0].is_string()) group.name = (*names)[0].get<std::string>();
    if ((*names)[1].is_string()) group.desc = (*names)[1].get<std::string>();
  }
  if (flag(entry, "is_p2p")) return;
  if (integer(entry, "collective_seq_id") != group.enqueued) return;
  group.operation = operation_of(entry);
  if (const auto sizes = entry.find("input_sizes"); sizes != entry.end()) group.sizes = sizes->dump();
}

}  // namespace

std::vector<RecorderGroup> parse_recorder(std::string_view json) {
  const Json document = Json::parse(json, nullptr, false);
  if (!document.is_object()) return {};
  std::map<std::string, RecorderGroup> groups;
  const auto status = document.find("pg_status");
  if (status == document.end() || !status->is_object()) return {};
  const auto config = document.find("pg_config");
  for (const auto& [id, sequence] : status->items()) {
    if (!sequence.is_object()) continue;
    RecorderGroup& group = groups[id];
    group.enqueued = integer(sequence, "last_enqueued_collective");
    group.completed = integer(sequence, "last_completed_collective");
    if (config == document.end() || !config->is_object()) continue;
    const auto named = config->find(id);
    if (named == config->end() || !named->is_object()) continue;
    group.name = text(*named, "name");
    group.desc = text(*named, "desc");
  }
  const auto entries = document.find("entries");
  if (entries != document.end() && entries->is_array()) {
    for (const Json& entry : *entries) {
      if (entry.is_object()) read_entry(entry, groups);
    }
  }
  std::vector<RecorderGroup> result;
  for (auto& [id, group] : groups) {
    if (!group.name.empty()) result.push_back(std::move(group));
  }
  return result;
}

}  // namespace eroica
