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
constexpr uint64_t kPlentyBytes = UINT64_MAX / 2;

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
  const uint64_t free_bytes = error ? kPlentyBytes : space.available;
  const std::vector<KeptWindow> kept = kept_in(folder_);
  std::vector<std::string> leaving = windows_to_remove(kept, bytes, free_bytes, policy_, now_unix_ns);
  double after = static_cast<double>(free_bytes) - static_cast<double>(bytes);
  for (const KeptWindow& one : kept) {
    if (std::ranges::find(leaving, one.name) != leaving.end()) after += static_cast<double>(one.bytes);
  }
  const std::string size = amount_text(static_cast<double>(bytes) * 1e-6, "MB");
  std::string refusal;
  if (policy_.most_windows == 0 || static_cast<double>(bytes) > policy_.most_gb * 1e9) {
    refusal = fmt::format("it has {}, more than the policy's [keep] allows", size);
  } else if (after < policy_.leave_free_gb * 1e9) {
    refusal = fmt::format("it has {}, and {} are free where the policy leaves {} (leave_free_gb in [keep])", size,
                          amount_text(static_cast<double>(free_bytes) * 1e-9, "GB"),
                          amount_text(policy_.leave_free_gb, "GB"));
  }
  // Nothing makes way for a window that is not kept in the end.
  if (!refusal.empty()) leaving = windows_to_remove(kept, 0, kPlentyBytes, policy_, now_unix_ns);
  for (const std::string& name : leaving) fs::remove_all(fs::path(folder_) / name, error);
  if (!refusal.empty()) return failed(to, refusal);
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
