#pragma once

#include "base/result.h"
#include "store/database.h"

namespace eroica {

/// Brings a database to the form that this version knows, each step of it whole or not at all. Error kUnsupported: a
/// newer version has written it; else as Database.
Status migrate(Database& database, const std::string& path);
/// The newest form.
int64_t schema_version();

}  // namespace eroica
