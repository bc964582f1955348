#include "diagnose/diagnosis.h"

namespace eroica {

std::string_view scope_name(Scope scope) {
  switch (scope) {
    case Scope::kRanks:
      return "ranks";
    case Scope::kHost:
      return "host";
    case Scope::kLink:
      return "link";
    case Scope::kAll:
      return "all";
  }
  return "";
}

}  // namespace eroica
