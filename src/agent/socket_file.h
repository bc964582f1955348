#pragma once

#include <sys/types.h>
#include <sys/un.h>

#include <optional>
#include <string>

namespace eroica {

/// The address of a filesystem socket; nullopt: the path is empty, or too long for one.
std::optional<sockaddr_un> socket_address(const std::string& path);

/// Which file it is, whatever its name.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileId&) const = default;
};

/// Of what bears this name, links not followed; nullopt: nothing does.
std::optional<FileId> file_id(const std::string& path);

}  // namespace eroica
