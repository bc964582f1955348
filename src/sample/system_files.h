#pragma once

#include <string>
#include <vector>

namespace eroica {

/// The files under /proc and /sys, read below a root that tests choose. Whatever is absent, unreadable or odd is empty.
class SystemFiles {
 public:
  /// `root` goes before every path: "" is this machine.
  explicit SystemFiles(std::string root = "") : root_(std::move(root)) {}

  /// Puts the first MiB of the file into `into`. False: there is no such file, or it is not to be read.
  bool read(const std::string& path, std::string& into) const;
  [[nodiscard]] std::string read(const std::string& path) const;
  [[nodiscard]] bool exists(const std::string& path) const;
  /// Names in a folder, in order, without those that begin with a dot.
  [[nodiscard]] std::vector<std::string> list(const std::string& folder) const;
  /// What a symbolic link says.
  [[nodiscard]] std::string link(const std::string& path) const;
  [[nodiscard]] std::string path(const std::string& path) const { return root_ + path; }

 private:
  std::string root_;
};

/// One such file that is read again and again: kept open, since opening costs more than reading.
class KeptFile {
 public:
  KeptFile(const SystemFiles& files, const std::string& path) : path_(files.path(path)) {}
  KeptFile(KeptFile&& other) noexcept;
  KeptFile& operator=(KeptFile&& other) noexcept;
  ~KeptFile();

  /// At most 4 KiB. False as SystemFiles::read().
  bool read(std::string& into);

 private:
  std::string path_;
  int fd_ = -1;
};

}  // namespace eroica
