#include <fmt/format.h>

#include <algorithm>

#include "sample/cgroup_text.h"
#include "sample/fields.h"
#include "sample/sample_source.h"

namespace eroica {
namespace {

/// The groups that several ranks may share; each is read once.
struct Group {
  CgroupFolders cpu;
  CgroupFolders memory;
  std::vector<std::string> entities;
  std::vector<std::optional<uint64_t>> throttled_ns;  // of each folder, at the last reading
  uint64_t stopped_ns = 0;
};

class Cgroups : public SampleSource {
 public:
  Cgroups(const SystemFiles& files, const SampledJob& job) : files_(files) {
    const std::vector<CgroupMount> mounts = parse_cgroup_mounts(files.read("/proc/self/mountinfo"));
    for (const SampledRank& rank : job.ranks) {
      const auto of = parse_cgroup_membership(files.read(fmt::format("/proc/{}/cgroup", rank.pid)));
      CgroupFolders cpu = cgroup_folders(mounts, of, "cpu");
      CgroupFolders memory = cgroup_folders(mounts, of, "memory");
      auto group = std::ranges::find_if(groups_, [&](const Group& g) { return g.cpu == cpu && g.memory == memory; });
      if (group == groups_.end()) {
        groups_.push_back({std::move(cpu), std::move(memory), {}, {}, 0});
        group = std::prev(groups_.end());
        group->throttled_ns.resize(group->cpu.folders.size());
      }
      group->entities.push_back(fmt::format("rank {}", rank.rank));
    }
  }

  void sample(SampleLog& log) override {
    for (Group& group : groups_) {
      sample_cpu(group, log);
      sample_memory(group, log);
    }
  }

 private:
  /// A quota of any group around it stops it: the longest of them tells.
  void sample_cpu(Group& group, SampleLog& log) {
    uint64_t most = 0;
    bool told = false;
    for (size_t i = 0; i < group.cpu.folders.size(); ++i) {
      if (!files_.read(group.cpu.folders[i] + "/cpu.stat", text_)) continue;
      told = true;
      const std::optional<uint64_t> now = parse_throttled_ns(text_);
      std::optional<uint64_t>& before = group.throttled_ns[i];
      if (now && before && *now > *before) most = std::max(most, *now - *before);
      before = now;
    }
    if (!told) return;
    group.stopped_ns += most;
    for (const std::string& entity : group.entities) {
      log.growth(entity, "cpu.throttled", "fraction", group.stopped_ns, 1e-9);
    }
  }

  void sample_memory(const Group& group, SampleLog& log) {
    if (group.memory.folders.empty()) return;
    const std::string& folder = group.memory.folders.front();
    const bool stat = files_.read(folder + "/memory.stat", text_);
    const std::optional<uint64_t> refaults = stat ? parse_refaults(text_) : std::nullopt;
    std::optional<uint64_t> hits;
    if (group.memory.version_2) {
      if (files_.read(folder + "/memory.events", text_)) hits = parse_limit_hits(text_);
    } else if (files_.read(folder + "/memory.failcnt", text_)) {
      std::string_view rest = text_;
      hits = take_number(rest);
    }
    for (const std::string& entity : group.entities) {
      if (refaults) log.growth(entity, "memory.refaults", "per_s", *refaults);
      if (hits) log.growth(entity, "memory.limit_hits", "per_s", *hits);
    }
  }

  const SystemFiles& files_;
  std::vector<Group> groups_;
  std::string text_;
};

}  // namespace

std::unique_ptr<SampleSource> cgroup_source(const SystemFiles& files, const SampledJob& job) {
  return std::make_unique<Cgroups>(files, job);
}

}  // namespace eroica
