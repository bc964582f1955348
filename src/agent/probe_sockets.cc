#include "agent/probe_sockets.h"

#include <dirent.h>

#include <memory>

#include "agent/rank_table.h"

namespace eroica {
namespace {

constexpr size_t kMostProbes = 10'000;

}  // namespace

std::vector<std::string> probes_in(const std::string& sockets) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(sockets.c_str()), closedir);
  if (!folder) return names;
  while (const dirent* entry = readdir(folder.get())) {
    std::string name = socket_owner(std::string("/") + entry->d_name, "probe-");
    if (!name.empty()) names.push_back(std::move(name));
    if (names.size() == kMostProbes) break;
  }
  return names;
}

}  // namespace eroica
