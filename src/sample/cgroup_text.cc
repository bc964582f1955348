#include "sample/cgroup_text.h"

#include <algorithm>

#include "sample/fields.h"

namespace eroica {
namespace {

constexpr size_t kMostFolders = 32;
constexpr size_t kMostMounts = 256;

bool names_controller(std::string_view list, std::string_view controller) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    if (list.substr(0, comma) == controller) return true;
    list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
  }
  return false;
}

/// "\040" and the like, as mountinfo writes blanks.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::optional<uint32_t> code =
        text[i] == '\\' && i + 3 < text.size() ? whole_number<uint32_t>(text.substr(i + 1, 3), 8) : std::nullopt;
    if (code && *code < 256) {
      plain += static_cast<char>(*code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::vector<CgroupMount> parse_cgroup_mounts(std::string_view mountinfo) {
  std::vector<CgroupMount> mounts;
  while (!mountinfo.empty() && mounts.size() < kMostMounts) {
    std::string_view line = take_line(mountinfo);
    const size_t separator = line.find(" - ");
    if (separator == std::string_view::npos) continue;
    std::string_view rest = line.substr(separator + 3);
    const std::string_view type = take_field(rest);
    if (type != "cgroup" && type != "cgroup2") continue;
    take_field(rest);  // source
    const std::string_view options = take_field(rest);
    for (int i = 0; i < 3; ++i) take_field(line);
    CgroupMount mount;
    mount.root = unescaped(take_field(line));
    mount.point = unescaped(take_field(line));
    if (type == "cgroup") mount.controllers = options;
    if (!mount.point.empty() && (type == "cgroup2" || !mount.controllers.empty())) mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::vector<CgroupMembership> parse_cgroup_membership(std::string_view text) {
  std::vector<CgroupMembership> groups;
  while (!text.empty() && groups.size() < kMostMounts) {
    const std::string_view line = take_line(text);
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    groups.push_back({std::string(line.substr(first + 1, second - first - 1)), std::string(line.substr(second + 1))});
  }
  return groups;
}

std::string longest_cgroup(std::string_view text) {
  std::string longest;
  for (CgroupMembership& group : parse_cgroup_membership(text)) {
    if (group.path.size() > longest.size()) longest = std::move(group.path);
  }
  return longest;
}

CgroupFolders cgroup_folders(const std::vector<CgroupMount>& mounts, const std::vector<CgroupMembership>& of,
                             std::string_view controller) {
  const auto in_version_1 = [&](const auto& one) { return names_controller(one.controllers, controller); };
  const auto in_version_2 = [](const auto& one) { return one.controllers.empty(); };
  CgroupFolders found;
  auto mount = std::ranges::find_if(mounts, in_version_1);
  auto group = std::ranges::find_if(of, in_version_1);
  if (mount == mounts.end() || group == of.end()) {
    mount = std::ranges::find_if(mounts, in_version_2);
    group = std::ranges::find_if(of, in_version_2);
    found.version_2 = true;
  }
  if (mount == mounts.end() || group == of.end()) return found;
  std::string path = group->path;
  if (path.find("/..") != std::string::npos) return found;  // outside of what is seen here
  if (mount->root != "/") {
    // The mount shows a part of the hierarchy, as in containers.
    path = path.starts_with(mount->root) ? path.substr(mount->root.size()) : std::string();
  }
  while (!path.empty() && path.back() == '/') path.pop_back();
  while (found.folders.size() < kMostFolders) {
    found.folders.push_back(mount->point + path);
    if (path.empty()) break;
    const size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
  return found;
}

std::optional<uint64_t> parse_throttled_ns(std::string_view cpu_stat) {
  if (const std::optional<uint64_t> us = number_after(cpu_stat, "throttled_usec")) return *us * 1000;
  return number_after(cpu_stat, "throttled_time");
}

std::optional<uint64_t> parse_refaults(std::string_view memory_stat) {
  const std::optional<uint64_t> file = number_after(memory_stat, "workingset_refault_file");
  return file ? file : number_after(memory_stat, "workingset_refault");  // before Linux 5.9
}

std::optional<uint64_t> parse_limit_hits(std::string_view memory_events) {
  const std::optional<uint64_t> most = number_after(memory_events, "max");
  if (!most) return std::nullopt;
  return *most + number_after(memory_events, "high").value_or(0);
}

}  // namespace eroica
