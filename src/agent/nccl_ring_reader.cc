#include "agent/nccl_ring_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/nccl_ring.h"
#include "agent/own_file.h"
#include "agent/this_thread.h"

namespace eroica {
namespace {

constexpr int kNice = 5;

std::string_view pid_of(std::string_view plugin) { return plugin.substr(0, plugin.find('-')); }

/// Whose plugin it is. Processes of several containers may have one number: then the rank that its environment named.
std::optional<int32_t> rank_of(std::string_view plugin, int64_t named, const std::vector<NcclRank>& ranks) {
  std::vector<int32_t> fitting;
  for (const NcclRank& rank : ranks) {
    if (rank.pid == pid_of(plugin)) fitting.push_back(rank.rank);
  }
  if (fitting.size() == 1) return fitting.front();
  const auto found = std::ranges::find(fitting, named);
  return found == fitting.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::vector<std::string> nccl_plugins_of(const std::string& sockets, const std::vector<NcclRank>& ranks) {
  std::vector<std::string> plugins = nccl_plugins_in(sockets);
  std::erase_if(plugins, [&](const std::string& plugin) {
    return std::ranges::none_of(ranks, [&](const NcclRank& rank) { return rank.pid == pid_of(plugin); });
  });
  return plugins;
}

NcclRingReader::NcclRingReader(std::string sockets, std::string folder, std::vector<NcclRank> ranks,
                               int64_t begin_unix_ns)
    : sockets_(std::move(sockets)),
      folder_(std::move(folder)),
      ranks_(std::move(ranks)),
      begin_unix_ns_(begin_unix_ns),
      thread_([this] { run(); }) {}

void NcclRingReader::read(const std::string& plugin) {
  const std::optional<NcclWindow> window = read_nccl_ring(nccl_ring_in(sockets_, plugin));
  if (!window) return;
  const std::optional<int32_t> rank = rank_of(plugin, window->rank, ranks_);
  const bool is_this = std::ranges::any_of(
      window->records, [&](const nccl::Record& record) { return record.start_unix_ns >= begin_unix_ns_; });
  if (!rank || !is_this || outcome_.files.contains(*rank)) return;
  const std::string name = fmt::format("nccl-rank{}.json", *rank);
  if (const Status written = write_own_file(fmt::format("{}/{}", folder_, name), nccl_trace_json(*window, *rank));
      !written) {
    outcome_.notes.push_back(fmt::format("{} cannot be written: {}", name, written.error().message));
    return;
  }
  outcome_.files.emplace(*rank, name);
  if (const uint64_t lost = window->lost + window->damaged; lost > 0) {
    outcome_.notes.push_back(fmt::format("of rank {}, {} events of NCCL were lost", *rank, lost));
  }
}

void NcclRingReader::run() {
  give_way(kNice);
  for (const std::string& plugin : nccl_plugins_of(sockets_, ranks_)) {
    if (!thread_.wait(0)) break;
    read(plugin);
  }
}

NcclRingReader::Outcome NcclRingReader::finish() {
  thread_.end();
  if (!thread_.failure().empty())
    outcome_.notes.push_back("NCCL's events were not read to their end: " + thread_.failure());
  return std::move(outcome_);
}

}  // namespace eroica
