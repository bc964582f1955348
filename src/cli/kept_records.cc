#include "cli/kept_records.h"

#include <sys/stat.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "agent/window_ring.h"
#include "cli/output.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".steps";
constexpr uint64_t kPlentyBytes = UINT64_MAX / 2;

std::vector<KeptWindow> kept_in(const fs::path& folder) {
  std::vector<KeptWindow> kept;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    struct stat found {};
    if (!is_kept_records(name) || lstat(entry->path().c_str(), &found) != 0 || !S_ISREG(found.st_mode)) continue;
    kept.push_back({name, static_cast<uint64_t>(found.st_size), int64_t{found.st_mtime} * 1'000'000'000});
  }
  return kept;
}

}  // namespace

bool is_kept_records(std::string_view name) {
  return name.ends_with(kEnding) && is_kept_name(name.substr(0, name.size() - kEnding.size()), "records-");
}

Result<std::string> keep_records(const std::string& folder, const std::string& bytes, const KeepPolicy& policy,
                                 int64_t now_unix_ns) {
  std::error_code error;
  fs::create_directories(folder, error);  // what fails shows when it is written to
  for (const std::string& name : windows_to_remove(kept_in(folder), bytes.size(), kPlentyBytes, policy, now_unix_ns)) {
    fs::remove(fs::path(folder) / name, error);
  }
  fs::path path;
  int count = 0;
  do {  // another job's may have ended within the same second
    path = fs::path(folder) / (kept_name("records-" + std::to_string(++count), now_unix_ns) + std::string(kEnding));
  } while (fs::exists(path, error));
  if (const Status written = write_file(path.string(), bytes); !written) return written.error();
  return path.string();
}

}  // namespace eroica
