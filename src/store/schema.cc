#include "store/schema.h"

#include <fmt/format.h>

#include <array>

namespace eroica {
namespace {

// Each brings the database from its place in this list to the next. What is here was released: only append.
constexpr std::array kMigrations = {
    R"sql(
CREATE TABLE job (
  tenant TEXT NOT NULL, job TEXT NOT NULL,
  first_unix_ns INTEGER NOT NULL, last_unix_ns INTEGER NOT NULL, ranks INTEGER NOT NULL,
  PRIMARY KEY (tenant, job)) STRICT, WITHOUT ROWID;
CREATE TABLE incident (
  id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, job TEXT NOT NULL,
  detected_unix_ns INTEGER NOT NULL, closed_unix_ns INTEGER NOT NULL,  -- 0: it is not closed
  body TEXT NOT NULL) STRICT;
CREATE INDEX incident_by_job ON incident (tenant, job, id);
CREATE INDEX incident_by_time ON incident (detected_unix_ns);
CREATE INDEX incident_open ON incident (id) WHERE closed_unix_ns = 0;
CREATE TABLE document (
  id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, job TEXT NOT NULL, host TEXT NOT NULL,
  incident INTEGER NOT NULL,  -- 0: none
  unix_ns INTEGER NOT NULL, healthy INTEGER NOT NULL,
  bytes INTEGER NOT NULL,  -- of the body, unpacked
  body BLOB NOT NULL) STRICT;
CREATE INDEX document_by_incident ON document (incident, id);
CREATE INDEX document_by_job ON document (tenant, job, id);
CREATE TABLE change (
  id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, unix_ns INTEGER NOT NULL, who TEXT NOT NULL,
  what TEXT NOT NULL, jobs TEXT NOT NULL,  -- one a line
  url TEXT NOT NULL, incident INTEGER NOT NULL) STRICT;
CREATE INDEX change_by_time ON change (unix_ns);
CREATE TABLE feedback (
  id INTEGER PRIMARY KEY, incident INTEGER NOT NULL, unix_ns INTEGER NOT NULL, who TEXT NOT NULL,
  verdict INTEGER NOT NULL, cause TEXT NOT NULL, text TEXT NOT NULL) STRICT;
CREATE INDEX feedback_by_incident ON feedback (incident);
CREATE TABLE sender (
  tenant TEXT NOT NULL, sender TEXT NOT NULL, number INTEGER NOT NULL, unix_ns INTEGER NOT NULL,
  PRIMARY KEY (tenant, sender)) STRICT, WITHOUT ROWID;
CREATE TABLE token (
  hash TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, role TEXT NOT NULL, tenant TEXT NOT NULL,
  made_unix_ns INTEGER NOT NULL, ends_unix_ns INTEGER NOT NULL) STRICT, WITHOUT ROWID;  -- 0: it does not
CREATE TABLE policy (
  tenant TEXT PRIMARY KEY, toml TEXT NOT NULL, who TEXT NOT NULL, unix_ns INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE audit (
  id INTEGER PRIMARY KEY, unix_ns INTEGER NOT NULL, tenant TEXT NOT NULL, who TEXT NOT NULL, role TEXT NOT NULL,
  peer TEXT NOT NULL, deed TEXT NOT NULL, status INTEGER NOT NULL) STRICT;
)sql",
    R"sql(
CREATE TABLE delivery (
  id INTEGER PRIMARY KEY AUTOINCREMENT, target TEXT NOT NULL, unix_ns INTEGER NOT NULL, body TEXT NOT NULL,
  attempts INTEGER NOT NULL, next_unix_ns INTEGER NOT NULL) STRICT;
CREATE INDEX delivery_due ON delivery (next_unix_ns);
)sql",
};

int64_t version_of(Database& database) {
  Statement statement(database, "PRAGMA user_version");
  return statement.step() ? statement.integer(0) : 0;
}

}  // namespace

int64_t schema_version() { return static_cast<int64_t>(kMigrations.size()); }

Status migrate(Database& database, const std::string& path) {
  const int64_t found = version_of(database);
  if (Status status = database.status(); !status) return status;
  if (found > schema_version()) {
    return Error{Error::Kind::kUnsupported,
                 fmt::format("{}: a newer version of eroica has written it (form {}, this one knows {})", path, found,
                             schema_version())};
  }
  for (auto number = static_cast<size_t>(found); number < kMigrations.size(); ++number) {
    Transaction transaction(database);
    database.run(kMigrations[number]);
    database.run(fmt::format("PRAGMA user_version = {}", number + 1));
    if (Status status = transaction.commit(); !status) return status;
  }
  return ok_status();
}

}  // namespace eroica
