#include "store/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace eroica {
namespace {

Error::Kind kind_of(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
      return Error::Kind::kUnreadable;
    case SQLITE_NOTADB:
      return Error::Kind::kNotATrace;
    default:
      return Error::Kind::kWrite;
  }
}

std::string in_words(int code, const char* message) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "the disk is full";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process holds it locked";
    case SQLITE_READONLY:
      return "it may not be written";
    case SQLITE_CANTOPEN:
      return "it cannot be opened; its folder must be there and writable";
    case SQLITE_CORRUPT:
      return "it is damaged; restore a copy, or move it away to begin anew ('sqlite3 FILE .recover' saves what it can)";
    case SQLITE_NOTADB:
      return "it is no database of eroica";
    default:
      return message;
  }
}

}  // namespace

Result<std::unique_ptr<Database>> Database::open(const std::string& path, int busy_ms) {
  std::unique_ptr<Database> database(new Database(path));
  const int code = sqlite3_open_v2(path.c_str(), &database->handle_,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW, nullptr);
  database->note(code);
  if (code == SQLITE_OK) {
    sqlite3_extended_result_codes(database->handle_, 1);
    sqlite3_busy_timeout(database->handle_, busy_ms);
    sqlite3_db_config(database->handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  }
  if (Status status = database->status(); !status) return status.error();
  return database;
}

Database::~Database() { sqlite3_close_v2(handle_); }

void Database::note(int code) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE || error_) return;
  const char* message = handle_ == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(handle_);
  error_ = Error{kind_of(code), fmt::format("{}: {}", path_, in_words(code, message))};
}

void Database::run(const std::string& sql) {
  if (!error_) note(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr));
}

Status Database::status() {
  if (!error_) return ok_status();
  Error error = std::move(*error_);
  error_.reset();
  return error;
}

int64_t Database::last_id() const { return sqlite3_last_insert_rowid(handle_); }
int64_t Database::changes() const { return sqlite3_changes64(handle_); }

Statement::Statement(Database& database, std::string_view sql) : database_(&database) {
  if (database.failed()) return;
  database.note(sqlite3_prepare_v2(database.handle_, sql.data(), static_cast<int>(sql.size()), &handle_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::bind(int64_t value) {
  if (handle_ != nullptr) database_->note(sqlite3_bind_int64(handle_, ++bound_, value));
  return *this;
}

Statement& Statement::bind(double value) {
  if (handle_ != nullptr) database_->note(sqlite3_bind_double(handle_, ++bound_, value));
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  if (handle_ != nullptr) {
    database_->note(sqlite3_bind_text64(handle_, ++bound_, text.empty() ? "" : text.data(), text.size(),
                                        SQLITE_TRANSIENT, SQLITE_UTF8));
  }
  return *this;
}

Statement& Statement::bind_bytes(std::string_view bytes) {
  if (handle_ != nullptr) {
    database_->note(
        sqlite3_bind_blob64(handle_, ++bound_, bytes.empty() ? "" : bytes.data(), bytes.size(), SQLITE_TRANSIENT));
  }
  return *this;
}

bool Statement::step() {
  if (handle_ == nullptr || database_->failed()) return false;
  const int code = sqlite3_step(handle_);
  database_->note(code);
  return code == SQLITE_ROW;
}

int64_t Statement::integer(int column) const { return sqlite3_column_int64(handle_, column); }

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(handle_, column);
  return bytes == nullptr
             ? std::string()
             : std::string(static_cast<const char*>(bytes), static_cast<size_t>(sqlite3_column_bytes(handle_, column)));
}

Status Transaction::undo() {
  Status status = database_->status();
  if (sqlite3_get_autocommit(database_->handle_) == 0) {
    sqlite3_exec(database_->handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  database_ = nullptr;
  return status;
}

Status Transaction::commit() {
  database_->run("COMMIT");
  return undo();
}

}  // namespace eroica
