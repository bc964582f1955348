#include "cli/kept_windows.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <vector>

#include "agent/host_name.h"
#include "agent/window_ring.h"
#include "base/words.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".eroica-part-";
constexpr int64_t kMostOfASecond = 64;
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

/// The name of a copy that is being made; hosts may share the folder.
std::string part_name(const std::string& name) {
  return fmt::format("{}{}-{}-{}", kUnfinished, this_host(), getpid(), name);
}

/// Of a process of this host that died.
bool is_left(std::string_view part) {
  const std::string ours = fmt::format("{}{}-", kUnfinished, this_host());
  if (!part.starts_with(ours)) return false;
  part.remove_prefix(ours.size());
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), pid);
  return error != std::errc() || pid <= 0 || (kill(pid, 0) != 0 && errno == ESRCH);
}

std::vector<KeptWindow> kept_in(const fs::path& folder) {
  std::vector<KeptWindow> kept;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path path = entry->path();
    const std::string name = path.filename().string();
    struct stat found {};
    if (lstat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) continue;
    if (name.starts_with(kUnfinished)) {
      std::error_code ignored;
      if (is_left(name)) fs::remove_all(path, ignored);
    } else if (is_kept_name(name)) {
      kept.push_back({name, bytes_of(path), int64_t{found.st_mtime} * 1'000'000'000});
    }
  }
  return kept;
}

Error failed(const fs::path& to, const std::string& why) {
  return {Error::Kind::kWrite, fmt::format("{}: the window cannot be kept: {}", to.string(), why)};
}

}  // namespace

Result<std::string> KeptWindows::keep(const std::string& bundle, const std::string& window, int64_t now_unix_ns) {
  std::error_code error;
  fs::path to = fs::path(folder_) / kept_name(window, now_unix_ns);
  // Another job's, or host's, of the same second.
  for (int64_t later = 1; fs::exists(fs::symlink_status(to, error)) && later < kMostOfASecond; ++later) {
    to = fs::path(folder_) / kept_name(window, now_unix_ns + later * 1'000'000'000);
  }
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
  const fs::path part = fs::path(folder_) / part_name(to.filename().string());
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
