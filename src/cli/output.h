#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace eroica {

/// Writes a file so that nobody ever sees half of it: into a new file in the same folder, then renamed. What is no
/// regular file (a device, a pipe) is written to as it is; links are followed. Error kWrite names the path and why;
/// what stood there before is then untouched.
Status write_file(const std::string& path, std::string_view bytes);

/// The same, piece by piece. Nothing stands under `path` before commit() unless it is no regular file; without a
/// commit() the pieces are gone, also when a signal ends the process.
class OutputFile {
 public:
  static Result<OutputFile> open(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status write(std::string_view bytes);
  Status commit();

 private:
  OutputFile(int fd, std::string path, std::string temporary, std::string target)
      : fd_(fd), path_(std::move(path)), temporary_(std::move(temporary)), target_(std::move(target)) {}

  int fd_;
  std::string path_;       // for messages
  std::string temporary_;  // empty: written in place
  std::string target_;
};

/// Could write_file succeed, as far as can be told before? Error kWrite.
Status check_writable(const std::string& path);

/// Does this name for an output, as given on the command line, mean standard output? "" or "-".
inline bool is_stdout(std::string_view output) { return output.empty() || output == "-"; }

/// To standard output. A reader that went away (EPIPE) is no error: nobody is left to be told. Error kWrite.
Status write_stdout(std::string_view bytes);

/// Makes sure that descriptors 0 to 2 are open, so that no file that is opened later takes their place, and that
/// writing to a closed pipe is an error code instead of a signal. Writing to a closed standard output stays an error.
void prepare_standard_streams();

/// The one of `paths` that is the same file as `path` (links resolved), or empty.
std::string same_file_among(const std::string& path, const std::vector<std::string>& paths);

}  // namespace eroica
