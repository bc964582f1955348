#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace eroica {

/// A file of SQLite. Not for several threads at once.
///
/// Errors are kept: after the first one statements do nothing until status() has told of it. So a row of statements
/// needs one look at its end. Error kWrite: a full disk, a locked file, one that may not be written; what was written
/// before in the same transaction is undone, and the next attempt may succeed. kUnreadable: the file is damaged.
class Database {
 public:
  /// Makes the file where there is none. `busy_ms`: how long to wait for another process that writes. Errors as above,
  /// and kNotATrace: it is no database.
  static Result<std::unique_ptr<Database>> open(const std::string& path, int busy_ms);
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database();

  /// Several statements, without values.
  void run(const std::string& sql);
  /// The first error since the last call, in words with the file's name. Statements work again.
  Status status();
  [[nodiscard]] bool failed() const { return error_.has_value(); }
  [[nodiscard]] int64_t last_id() const;
  /// Rows that the last statement changed.
  [[nodiscard]] int64_t changes() const;

 private:
  friend class Statement;
  friend class Transaction;
  explicit Database(std::string path) : path_(std::move(path)) {}
  void note(int code);

  std::string path_;
  sqlite3* handle_ = nullptr;
  std::optional<Error> error_;
};

/// One statement with its values. `database` must outlive it.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement();

  /// Values in the order of the question marks.
  Statement& bind(int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view text);
  Statement& bind_bytes(std::string_view bytes);

  /// True: there is a row. False: there are no more, or it failed.
  bool step();
  /// Columns of the row, from 0.
  [[nodiscard]] int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;

 private:
  Database* database_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

/// Undone unless it is committed.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(&database) { database.run("BEGIN IMMEDIATE"); }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (database_ != nullptr) (void)undo();
  }
  /// The first error of all that was done, which is then undone.
  Status commit();

 private:
  Status undo();
  Database* database_;
};

}  // namespace eroica
