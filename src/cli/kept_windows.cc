#include "cli/kept_windows.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "agent/window_ring.h"
#include "base/words.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".eroica-part-";

uint64_t bytes_of(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    const bool is_file = fs::is_regular_file(entry->symlink_status(ignored));
    const uintmax_t size = is_file ? entry->file_size(ignored) : 0;
    if (!ignored) bytes += size;
  }
  return bytes;
}

std::vector<KeptWindow> kept_in(const fs::path& folder) {
  std::vector<KeptWindow> kept;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kUnfinished)) {  // of a process that died
      fs::remove_all(entry.path(), error);
      continue;
    }
    struct stat found {};
    if (!is_kept_name(name) || lstat(entry.path().c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) continue;
    kept.push_back({name, bytes_of(entry.path()), int64_t{found.st_mtime} * 1'000'000'000});
  }
  return kept;
}

Error failed(const fs::path& to, const std::string& why) {
  return {Error::Kind::kWrite, fmt::format("{}: the window cannot be kept: {}", to.string(), why)};
}

}  // namespace

Result<std::string> KeptWindows::keep(const std::string& bundle, const std::string& window, int64_t now_unix_ns) {
  const fs::path to = fs::path(folder_) / kept_name(window, now_unix_ns);
  std::error_code error;
  fs::create_directories(folder_, error);
  if (error) return failed(to, error.message());
  const uint64_t bytes = bytes_of(bundle);
  const fs::space_info space = fs::space(folder_, error);
  const uint64_t free_bytes = error ? UINT64_MAX / 2 : space.available;
  const std::vector<KeptWindow> kept = kept_in(folder_);
  // Nothing makes way for a window that is not kept in the end.
  const bool fits = policy_.most_windows > 0 && static_cast<double>(bytes) <= policy_.most_gb * 1e9;
  const std::vector<std::string> leaving = windows_to_remove(kept, fits ? bytes : 0, free_bytes, policy_, now_unix_ns);
  double after = static_cast<double>(free_bytes) - static_cast<double>(bytes);
  for (const KeptWindow& one : kept) {
    if (std::ranges::find(leaving, one.name) != leaving.end()) after += static_cast<double>(one.bytes);
  }
  for (const std::string& name : leaving) fs::remove_all(fs::path(folder_) / name, error);
  if (!fits) {
    return failed(to, fmt::format("it has {}, more than the policy's [keep] allows",
                                  amount_text(static_cast<double>(bytes) * 1e-6, "MB")));
  }
  if (after < policy_.leave_free_gb * 1e9) {
    return failed(to, fmt::format("it has {}, and {} are free where the policy leaves {} (leave_free_gb in [keep])",
                                  amount_text(static_cast<double>(bytes) * 1e-6, "MB"),
                                  amount_text(static_cast<double>(free_bytes) * 1e-9, "GB"),
                                  amount_text(policy_.leave_free_gb, "GB")));
  }
  fs::rename(bundle, to, error);
  if (!error) return to.string();
  // On another file system.
  const fs::path part = fs::path(folder_) / (std::string(kUnfinished) + to.filename().string());
  fs::copy(bundle, part, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
  if (!error) fs::rename(part, to, error);
  if (error) {
    const std::string why = error.message();
    fs::remove_all(part, error);
    return failed(to, why);
  }
  fs::remove_all(bundle, error);
  return to.string();
}

}  // namespace eroica
