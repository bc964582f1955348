#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace eroica {

/// What is wrong in a file that somebody wrote.
struct FileProblem {
  std::string file;
  int32_t line = 0;
  std::string message;  ///< exact: what is wrong, what is allowed
};

/// "gpu.toml:12: unknown key …"
std::string in_words(const FileProblem& problem);

/// Gathers the problems of one file: the first 200 of them, and how many there were. Messages may quote the file;
/// control characters in them become '?'.
class FileProblems {
 public:
  /// Both must outlive it.
  FileProblems(const std::string& file, std::vector<FileProblem>& list) : file_(file), list_(list) {}
  void add(uint32_t line, std::string message);
  [[nodiscard]] size_t count() const { return count_; }

 private:
  const std::string& file_;
  std::vector<FileProblem>& list_;
  size_t count_ = 0;
};

}  // namespace eroica
