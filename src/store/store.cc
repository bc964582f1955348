#include "store/store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "coordinator/json.h"
#include "pattern/zstd_block.h"
#include "store/schema.h"

namespace eroica {
namespace {

constexpr int kBusyMs = 2000;
constexpr int64_t kForgetAtOnce = 200;
constexpr size_t kMostDocumentBytes = size_t{64} << 20;
constexpr const char* kIncidentColumns = "SELECT body FROM incident ";

/// The answer of a query, unless it failed.
template <typename Value>
Result<Value> checked(Database& database, Value value) {
  if (Status status = database.status(); !status) return status.error();
  return value;
}

std::string joined(const std::vector<std::string>& lines) { return fmt::format("{}", fmt::join(lines, "\n")); }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// The file is its owner's alone, also the ones that SQLite makes beside it, which take its rights.
Status make_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Error{Error::Kind::kWrite, fmt::format("{}: {}", path, std::strerror(errno))};
  close(fd);
  return ok_status();
}

Status check_integrity(Database& database, const std::string& path) {
  std::string found;
  {
    Statement statement(database, "PRAGMA quick_check(1)");
    if (statement.step()) found = statement.text(0);
  }
  if (Status status = database.status(); !status) return status;
  if (found == "ok") return ok_status();
  return Error{Error::Kind::kUnreadable,
               fmt::format("{}: it is damaged ({}); restore a copy, or move it away to begin anew", path, found)};
}

StoredToken token_of(const Statement& row) {
  return {row.text(0), row.text(1), row.text(2), row.text(3), row.integer(4), row.integer(5)};
}

}  // namespace

Result<std::unique_ptr<Store>> Store::open(const std::string& path, bool check) {
  if (Status made = make_file(path); !made) return made.error();
  Result<std::unique_ptr<Database>> database = Database::open(path, kBusyMs);
  if (!database) return database.error();
  Database& file = **database;
  file.run("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  file.run("PRAGMA trusted_schema = OFF; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY");
  if (Status status = file.status(); !status) return status.error();
  if (check) {
    if (Status status = check_integrity(file, path); !status) return status.error();
  }
  if (Status status = migrate(file, path); !status) return status.error();
  return std::unique_ptr<Store>(new Store(std::move(*database)));
}

Result<std::vector<StoredJob>> Store::jobs_since(int64_t unix_ns) {
  std::vector<StoredJob> jobs;
  Statement row(*database_, "SELECT tenant, job, first_unix_ns, last_unix_ns, ranks FROM job WHERE last_unix_ns >= ?");
  row.bind(unix_ns);
  while (row.step()) jobs.push_back({row.text(0), row.text(1), row.integer(2), row.integer(3), row.integer(4)});
  return checked(*database_, std::move(jobs));
}

std::vector<Incident> Store::read_incidents(Statement& statement) {
  std::vector<Incident> incidents;
  while (statement.step()) {
    Result<Incident> incident = parse_incident(statement.text(0));
    if (incident) incidents.push_back(std::move(*incident));
  }
  return incidents;
}

Result<std::vector<Incident>> Store::last_incidents() {
  Statement statement(*database_, std::string(kIncidentColumns) +
                                      "WHERE id IN (SELECT max(id) FROM incident GROUP BY tenant, job) ORDER BY id");
  std::vector<Incident> incidents = read_incidents(statement);
  return checked(*database_, std::move(incidents));
}

Result<std::vector<SenderMark>> Store::senders() {
  std::vector<SenderMark> marks;
  Statement row(*database_, "SELECT tenant, sender, number, unix_ns FROM sender");
  while (row.step()) marks.push_back({row.text(0), row.text(1), row.integer(2), row.integer(3)});
  return checked(*database_, std::move(marks));
}

Result<int64_t> Store::next_incident() {
  // Also after the newest was forgotten, what refers to an incident says which numbers were taken.
  Statement row(
      *database_,
      "SELECT max(coalesce((SELECT max(id) FROM incident), 0), coalesce((SELECT max(incident) FROM document), "
      "0), coalesce((SELECT max(incident) FROM feedback), 0)) + 1");
  const int64_t next = row.step() ? row.integer(0) : 1;
  return checked(*database_, next);
}

Result<int64_t> Store::next_document() {
  Statement row(*database_, "SELECT coalesce(max(id), 0) + 1 FROM document");
  const int64_t next = row.step() ? row.integer(0) : 1;
  return checked(*database_, next);
}

void Store::put(const Incident& incident) {
  Statement(*database_,
            "INSERT INTO incident (id, tenant, job, detected_unix_ns, closed_unix_ns, body) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET closed_unix_ns = excluded.closed_unix_ns, body = excluded.body")
      .bind(incident.id)
      .bind(incident.tenant)
      .bind(incident.job)
      .bind(incident.detected_unix_ns)
      .bind(incident.closed_unix_ns)
      .bind(text_of(to_json(incident)))
      .step();
}

Status Store::write(const StoreBatch& batch) {
  Transaction transaction(*database_);
  for (const StoredJob& job : batch.jobs) {
    Statement(*database_,
              "INSERT INTO job VALUES (?, ?, ?, ?, ?) ON CONFLICT (tenant, job) DO UPDATE SET "
              "last_unix_ns = excluded.last_unix_ns, ranks = excluded.ranks")
        .bind(job.tenant)
        .bind(job.job)
        .bind(job.first_unix_ns)
        .bind(job.last_unix_ns)
        .bind(job.ranks)
        .step();
  }
  for (const Incident& incident : batch.incidents) put(incident);
  for (const StoredDocument& one : batch.documents) {
    Statement(*database_, "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(one.id)
        .bind(one.tenant)
        .bind(one.job)
        .bind(one.host)
        .bind(one.incident)
        .bind(one.unix_ns)
        .bind(int64_t{one.healthy})
        .bind(static_cast<int64_t>(one.json.size()))
        .bind_bytes(zstd_block(one.json))
        .step();
  }
  for (const SenderMark& mark : batch.senders) {
    Statement(*database_, "INSERT OR REPLACE INTO sender VALUES (?, ?, ?, ?)")
        .bind(mark.tenant)
        .bind(mark.sender)
        .bind(mark.number)
        .bind(mark.unix_ns)
        .step();
  }
  for (const StoredDelivery& one : batch.deliveries) {
    Statement(*database_, "INSERT INTO delivery (target, unix_ns, body, attempts, next_unix_ns) VALUES (?, ?, ?, ?, ?)")
        .bind(one.target)
        .bind(one.unix_ns)
        .bind(one.body)
        .bind(one.attempts)
        .bind(one.next_unix_ns)
        .step();
  }
  return transaction.commit();
}

Result<std::vector<Incident>> Store::incidents(const IncidentFilter& filter) {
  std::string sql = std::string(kIncidentColumns) + "WHERE detected_unix_ns >= ?";
  if (filter.to_unix_ns > 0) sql += " AND detected_unix_ns < ?";
  if (filter.before_id > 0) sql += " AND id < ?";
  if (filter.tenant) sql += " AND tenant = ?";
  if (!filter.job.empty()) sql += " AND job = ?";
  if (filter.open) sql += *filter.open ? " AND closed_unix_ns = 0" : " AND closed_unix_ns > 0";
  Statement statement(*database_, sql + " ORDER BY id DESC LIMIT ?");
  statement.bind(filter.from_unix_ns);
  if (filter.to_unix_ns > 0) statement.bind(filter.to_unix_ns);
  if (filter.before_id > 0) statement.bind(filter.before_id);
  if (filter.tenant) statement.bind(*filter.tenant);
  if (!filter.job.empty()) statement.bind(filter.job);
  statement.bind(filter.most);
  std::vector<Incident> incidents = read_incidents(statement);
  return checked(*database_, std::move(incidents));
}

Result<std::optional<Incident>> Store::incident(int64_t id) {
  Statement statement(*database_, std::string(kIncidentColumns) + "WHERE id = ?");
  std::vector<Incident> found = read_incidents(statement.bind(id));
  return checked(*database_, found.empty() ? std::nullopt : std::optional(std::move(found.front())));
}

Result<std::vector<StoredDocument>> Store::documents(const std::string& tenant, const std::string& job,
                                                     int64_t incident, int64_t most) {
  std::vector<StoredDocument> documents;
  Statement row(*database_, fmt::format("SELECT id, tenant, job, host, incident, unix_ns, healthy FROM document "
                                        "WHERE tenant = ? AND job = ?{} ORDER BY id DESC LIMIT ?",
                                        incident > 0 ? " AND incident = ?" : ""));
  row.bind(tenant).bind(job);
  if (incident > 0) row.bind(incident);
  row.bind(most);
  while (row.step()) {
    documents.push_back({row.integer(0), row.text(1), row.text(2), row.text(3), row.integer(4), row.integer(5),
                         row.integer(6) != 0, ""});
  }
  return checked(*database_, std::move(documents));
}

Result<std::optional<StoredDocument>> Store::document(int64_t id) {
  std::optional<StoredDocument> found;
  Statement row(*database_,
                "SELECT id, tenant, job, host, incident, unix_ns, healthy, body FROM document WHERE id = ?");
  if (row.bind(id).step()) {
    std::optional<std::string> json = unzstd_block(row.text(7), kMostDocumentBytes);
    if (!json) return Error{Error::Kind::kUnreadable, fmt::format("document {} is damaged", id)};
    found = StoredDocument{row.integer(0), row.text(1),    row.text(2),         row.text(3),
                           row.integer(4), row.integer(5), row.integer(6) != 0, std::move(*json)};
  }
  return checked(*database_, std::move(found));
}

Result<int64_t> Store::count_jobs(const std::optional<std::string>& tenant, int64_t from_unix_ns, int64_t to_unix_ns) {
  Statement row(*database_, fmt::format("SELECT count(*) FROM job WHERE last_unix_ns >= ? AND first_unix_ns < ?{}",
                                        tenant ? " AND tenant = ?" : ""));
  row.bind(from_unix_ns).bind(to_unix_ns);
  if (tenant) row.bind(*tenant);
  const int64_t count = row.step() ? row.integer(0) : 0;
  return checked(*database_, count);
}

Result<int64_t> Store::add_change(const Change& change, const std::optional<Incident>& incident) {
  Transaction transaction(*database_);
  Statement(*database_,
            "INSERT INTO change (tenant, unix_ns, who, what, jobs, url, incident) VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind(change.tenant)
      .bind(change.unix_ns)
      .bind(change.who)
      .bind(change.what)
      .bind(joined(change.jobs))
      .bind(change.url)
      .bind(change.incident)
      .step();
  const int64_t id = database_->last_id();
  if (incident) put(*incident);
  if (Status status = transaction.commit(); !status) return status.error();
  return id;
}

Result<std::vector<Change>> Store::changes(const std::optional<std::string>& tenant, int64_t from_unix_ns,
                                           int64_t to_unix_ns, int64_t most) {
  std::vector<Change> changes;
  Statement row(*database_, fmt::format("SELECT id, tenant, unix_ns, who, what, jobs, url, incident FROM change "
                                        "WHERE unix_ns >= ? AND unix_ns < ?{} ORDER BY unix_ns DESC, id DESC LIMIT ?",
                                        tenant ? " AND tenant IN ('', ?)" : ""));
  row.bind(from_unix_ns).bind(to_unix_ns);
  if (tenant) row.bind(*tenant);
  row.bind(most);
  while (row.step()) {
    changes.push_back({row.integer(0), row.text(1), row.integer(2), row.text(3), row.text(4), lines_of(row.text(5)),
                       row.text(6), row.integer(7)});
  }
  return checked(*database_, std::move(changes));
}

Status Store::add_feedback(const Feedback& feedback) {
  Transaction transaction(*database_);
  Statement(*database_, "INSERT INTO feedback (incident, unix_ns, who, verdict, cause, text) VALUES (?, ?, ?, ?, ?, ?)")
      .bind(feedback.incident)
      .bind(feedback.unix_ns)
      .bind(feedback.who)
      .bind(static_cast<int64_t>(feedback.verdict))
      .bind(feedback.cause)
      .bind(feedback.text)
      .step();
  return transaction.commit();
}

Result<std::vector<Feedback>> Store::feedback(int64_t incident) {
  std::vector<Feedback> list;
  Statement row(*database_,
                fmt::format("SELECT incident, unix_ns, who, verdict, cause, text FROM feedback{} ORDER BY id",
                            incident > 0 ? " WHERE incident = ?" : ""));
  if (incident > 0) row.bind(incident);
  while (row.step()) {
    list.push_back(
        {row.integer(0), row.integer(1), row.text(2), static_cast<Verdict>(row.integer(3)), row.text(4), row.text(5)});
  }
  return checked(*database_, std::move(list));
}

Status Store::add_audit(const AuditLine& line) {
  Transaction transaction(*database_);
  Statement(*database_,
            "INSERT INTO audit (unix_ns, tenant, who, role, peer, deed, status) VALUES (?, ?, ?, ?, ?, ?, ?)")
      .bind(line.unix_ns)
      .bind(line.tenant)
      .bind(line.who)
      .bind(line.role)
      .bind(line.peer)
      .bind(line.deed)
      .bind(line.status)
      .step();
  return transaction.commit();
}

Result<std::vector<AuditLine>> Store::audit(const std::optional<std::string>& tenant, int64_t most) {
  std::vector<AuditLine> lines;
  Statement row(*database_, fmt::format("SELECT id, unix_ns, tenant, who, role, peer, deed, status FROM audit{} "
                                        "ORDER BY id DESC LIMIT ?",
                                        tenant ? " WHERE tenant = ?" : ""));
  if (tenant) row.bind(*tenant);
  row.bind(most);
  while (row.step()) {
    lines.push_back({row.integer(0), row.integer(1), row.text(2), row.text(3), row.text(4), row.text(5), row.text(6),
                     row.integer(7)});
  }
  return checked(*database_, std::move(lines));
}

Status Store::add_token(const StoredToken& token) {
  Transaction transaction(*database_);
  Statement(*database_, "INSERT INTO token VALUES (?, ?, ?, ?, ?, ?)")
      .bind(token.hash)
      .bind(token.name)
      .bind(token.role)
      .bind(token.tenant)
      .bind(token.made_unix_ns)
      .bind(token.ends_unix_ns)
      .step();
  return transaction.commit();
}

Result<bool> Store::remove_token(const std::string& name) {
  Transaction transaction(*database_);
  Statement(*database_, "DELETE FROM token WHERE name = ?").bind(name).step();
  const bool found = database_->changes() > 0;
  if (Status status = transaction.commit(); !status) return status.error();
  return found;
}

Result<std::vector<StoredToken>> Store::tokens() {
  std::vector<StoredToken> tokens;
  Statement row(*database_, "SELECT hash, name, role, tenant, made_unix_ns, ends_unix_ns FROM token ORDER BY name");
  while (row.step()) tokens.push_back(token_of(row));
  return checked(*database_, std::move(tokens));
}

Result<std::optional<StoredToken>> Store::token(const std::string& hash) {
  Statement row(*database_, "SELECT hash, name, role, tenant, made_unix_ns, ends_unix_ns FROM token WHERE hash = ?");
  std::optional<StoredToken> found;
  if (row.bind(hash).step()) found = token_of(row);
  return checked(*database_, std::move(found));
}

Result<std::optional<StoredPolicy>> Store::policy(const std::string& tenant) {
  Statement row(*database_, "SELECT toml, who, unix_ns FROM policy WHERE tenant = ?");
  std::optional<StoredPolicy> found;
  if (row.bind(tenant).step()) found = StoredPolicy{row.text(0), row.text(1), row.integer(2)};
  return checked(*database_, std::move(found));
}

Status Store::set_policy(const std::string& tenant, const StoredPolicy& policy) {
  Transaction transaction(*database_);
  Statement(*database_, "INSERT OR REPLACE INTO policy VALUES (?, ?, ?, ?)")
      .bind(tenant)
      .bind(policy.toml)
      .bind(policy.who)
      .bind(policy.unix_ns)
      .step();
  return transaction.commit();
}

Result<std::vector<StoredDelivery>> Store::due_deliveries(int64_t now_unix_ns, int64_t most) {
  std::vector<StoredDelivery> due;
  Statement row(*database_,
                "SELECT id, target, unix_ns, body, attempts, next_unix_ns FROM delivery "
                "WHERE next_unix_ns <= ? ORDER BY id LIMIT ?");
  row.bind(now_unix_ns).bind(most);
  while (row.step()) {
    due.push_back({row.integer(0), row.text(1), row.integer(2), row.text(3), row.integer(4), row.integer(5)});
  }
  return checked(*database_, std::move(due));
}

Status Store::remove_delivery(int64_t id) {
  Transaction transaction(*database_);
  Statement(*database_, "DELETE FROM delivery WHERE id = ?").bind(id).step();
  return transaction.commit();
}

Status Store::put_off(int64_t id, int64_t attempts, int64_t next_unix_ns) {
  Transaction transaction(*database_);
  Statement(*database_, "UPDATE delivery SET attempts = ?, next_unix_ns = ? WHERE id = ?")
      .bind(attempts)
      .bind(next_unix_ns)
      .bind(id)
      .step();
  return transaction.commit();
}

Result<int64_t> Store::count_deliveries() {
  Statement row(*database_, "SELECT count(*) FROM delivery");
  const int64_t count = row.step() ? row.integer(0) : 0;
  return checked(*database_, count);
}

Result<int64_t> Store::bytes() {
  Statement row(*database_,
                "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, "
                "pragma_page_size");
  const int64_t bytes = row.step() ? row.integer(0) : 0;
  return checked(*database_, bytes);
}

Result<int64_t> Store::forget(const Retention& retention, int64_t now_unix_ns) {
  const int64_t oldest_ns = now_unix_ns - retention.most_age_ns;
  const Result<int64_t> size = bytes();
  if (!size) return size.error();
  int64_t gone = 0;
  Transaction transaction(*database_);
  const auto forget_before = [&](const char* table, const char* condition, int64_t before_ns) {
    Statement(*database_,
              fmt::format("DELETE FROM {0} WHERE rowid IN (SELECT rowid FROM {0} WHERE {1} LIMIT ?)", table, condition))
        .bind(before_ns)
        .bind(kForgetAtOnce)
        .step();
    gone += database_->changes();
  };
  forget_before("document", "unix_ns < ?", oldest_ns);
  forget_before("incident", "closed_unix_ns > 0 AND closed_unix_ns < ?", oldest_ns);
  forget_before("change", "unix_ns < ?", oldest_ns);
  forget_before("feedback", "unix_ns < ? AND incident NOT IN (SELECT id FROM incident)", oldest_ns);
  forget_before("audit", "unix_ns < ?", oldest_ns);
  Statement(*database_, "DELETE FROM job WHERE last_unix_ns < ?").bind(oldest_ns).step();
  gone += database_->changes();
  Statement(*database_, "DELETE FROM sender WHERE unix_ns < ?").bind(oldest_ns).step();
  gone += database_->changes();
  if (*size > retention.most_bytes && gone == 0) {
    forget_before("document", "unix_ns < ? ORDER BY id", now_unix_ns);
    if (gone == 0) forget_before("incident", "closed_unix_ns > 0 AND closed_unix_ns < ? ORDER BY id", now_unix_ns);
    if (gone == 0) forget_before("audit", "unix_ns < ? ORDER BY id", now_unix_ns);
  }
  if (Status status = transaction.commit(); !status) return status.error();
  if (gone > 0) {
    database_->run("PRAGMA incremental_vacuum");
    if (Status status = database_->status(); !status) return status.error();
  }
  return gone;
}

}  // namespace eroica
