#include "agent/host_name.h"

#include <unistd.h>

#include <array>

namespace eroica {

std::string this_host() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace eroica
