#include "web/access.h"

#include <array>
#include <utility>

namespace eroica {
namespace {

constexpr std::array<std::pair<Role, std::string_view>, 4> kRoles = {
    {{Role::kAgent, "agent"}, {Role::kViewer, "viewer"}, {Role::kOperator, "operator"}, {Role::kAdmin, "admin"}}};

}  // namespace

std::string_view role_name(Role role) {
  for (const auto& [known, name] : kRoles) {
    if (known == role) return name;
  }
  return "";
}

std::optional<Role> role_named(std::string_view name) {
  for (const auto& [role, known] : kRoles) {
    if (known == name) return role;
  }
  return std::nullopt;
}

bool may(const Caller& caller, Role role) {
  if (caller.role == Role::kAdmin) return true;
  if (role == Role::kAgent || caller.role == Role::kAgent) return caller.role == role;
  return caller.role >= role;
}

}  // namespace eroica
