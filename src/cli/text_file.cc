#include "cli/text_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace eroica {

Result<std::string> read_text_file(const std::string& path, size_t most_bytes) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return Error{Error::Kind::kNotFound, path + ": no such file"};
  if (!fs::is_regular_file(status)) return Error{Error::Kind::kUnreadable, path + ": is no regular file"};
  std::ifstream file(path, std::ios::binary);
  std::string text(most_bytes, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file.is_open() || file.bad()) {
    return Error{Error::Kind::kUnreadable, fmt::format("{}: {}", path, std::strerror(errno))};
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace eroica
