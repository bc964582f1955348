#include "agent/job_note.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "agent/json_member.h"
#include "agent/process_state.h"

namespace eroica {
namespace {

constexpr const char* kSchema = "eroica.job/1";

std::string own_pid_namespace(const std::string& proc) {
  std::error_code error;
  return std::filesystem::read_symlink(proc + "/self/ns/pid", error).string();
}

}  // namespace

bool is_job_id(std::string_view text) {
  const auto fits = [](char c) { return c > ' ' && c < 127 && c != '"' && c != '\'' && c != '/' && c != '\\'; };
  return !text.empty() && text.front() != '.' && text.size() <= kMostJobBytes && std::ranges::all_of(text, fits);
}

std::string encode_note(const JobNote& note) {
  const nlohmann::ordered_json json = {{"schema", kSchema},
                                       {"job", note.job},
                                       {"profiling", note.profiling},
                                       {"maker",
                                        {{"pid", note.maker.pid},
                                         {"start_ticks", note.maker.start_ticks},
                                         {"pid_namespace", note.maker.pid_namespace}}}};
  return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::optional<JobNote> decode_note(std::string_view bytes) {
  if (bytes.size() > kMostNoteBytes) return std::nullopt;
  const nlohmann::json json = nlohmann::json::parse(bytes, nullptr, false);
  if (!json.is_object() || text(json, "schema") != kSchema) return std::nullopt;
  JobNote note;
  note.job = text(json, "job");
  if (!is_job_id(note.job)) return std::nullopt;
  note.profiling = flag(json, "profiling");
  if (const nlohmann::json* maker = member(json, "maker"); maker != nullptr && maker->is_object()) {
    const int64_t pid = integer(*maker, "pid", -1);
    if (pid > 0 && pid <= std::numeric_limits<pid_t>::max()) note.maker.pid = static_cast<pid_t>(pid);
    note.maker.start_ticks = static_cast<uint64_t>(std::max<int64_t>(0, integer(*maker, "start_ticks", 0)));
    note.maker.pid_namespace = text(*maker, "pid_namespace");
  }
  return note;
}

ProcessMark mark_of(pid_t pid, const std::string& proc) {
  return {pid, read_process_state(pid, proc).start_ticks, own_pid_namespace(proc)};
}

Liveness liveness(const ProcessMark& mark, const std::string& proc) {
  if (mark.pid <= 0 || mark.pid_namespace != own_pid_namespace(proc)) return Liveness::kUnknown;
  const ProcessState state = read_process_state(mark.pid, proc);
  return !state.dead() && state.start_ticks == mark.start_ticks ? Liveness::kAlive : Liveness::kDead;
}

}  // namespace eroica
