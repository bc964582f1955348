#pragma once

#include <string_view>

#include "compare/job.h"

namespace eroica {

/// Does the label tell ranks or hosts from each other by its nature, as device numbers, host names and addresses do?
/// Then a difference in it says nothing. So it is where its name is known for that, where it names the rank's host,
/// where no two ranks of a host or no two of several hosts have the same value, or where it follows from a rank's place
/// on its host in the same way everywhere.
bool is_identity(const Job& job, std::string_view key);

}  // namespace eroica
