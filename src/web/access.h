#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace eroica {

/// What a token allows. A viewer reads; an operator also says what was changed, judges and asks for windows; an admin
/// also sets policies and reads the audit log; an agent tells of jobs and does nothing else.
enum class Role : uint8_t { kAgent, kViewer, kOperator, kAdmin };
std::string_view role_name(Role role);
std::optional<Role> role_named(std::string_view name);

/// Who asks.
struct Caller {
  std::string name;  ///< of the token
  Role role = Role::kViewer;
  std::string tenant;  ///< empty: all
};

/// May the caller do what needs `role`?
bool may(const Caller& caller, Role role);
/// Is what belongs to `tenant` the caller's to see?
inline bool sees(const Caller& caller, std::string_view tenant) {
  return caller.tenant.empty() || caller.tenant == tenant;
}

}  // namespace eroica
