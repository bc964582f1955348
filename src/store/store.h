#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "coordinator/change.h"
#include "coordinator/incident.h"
#include "store/database.h"

namespace eroica {

struct StoredJob {
  std::string tenant;
  std::string job;
  int64_t first_unix_ns = 0;
  int64_t last_unix_ns = 0;
  int64_t ranks = 0;
};

/// What a window came to, as one JSON text of the form of docs/diagnosis.schema.json.
struct StoredDocument {
  int64_t id = 0;
  std::string tenant;
  std::string job;
  std::string host;
  int64_t incident = 0;  ///< 0: of none
  int64_t unix_ns = 0;
  bool healthy = true;
  std::string json;  ///< empty in lists
};

/// The last observation of a sender that was taken.
struct SenderMark {
  std::string tenant;
  std::string sender;
  int64_t number = 0;
  int64_t unix_ns = 0;
};

struct StoredToken {
  std::string hash;
  std::string name;
  std::string role;
  std::string tenant;  ///< empty: all
  int64_t made_unix_ns = 0;
  int64_t ends_unix_ns = 0;  ///< 0: never
};

struct AuditLine {
  int64_t id = 0;
  int64_t unix_ns = 0;
  std::string tenant;
  std::string who;
  std::string role;
  std::string peer;
  std::string deed;  ///< "POST /api/v1/changes"
  int64_t status = 0;
};

struct StoredPolicy {
  std::string toml;
  std::string who;
  int64_t unix_ns = 0;
};

/// Something that is to be sent to a webhook, until it is accepted.
struct StoredDelivery {
  int64_t id = 0;
  std::string target;
  int64_t unix_ns = 0;
  std::string body;
  int64_t attempts = 0;      ///< that failed
  int64_t next_unix_ns = 0;  ///< not before
};

/// What is written together: all of it or nothing.
struct StoreBatch {
  std::vector<StoredJob> jobs;
  std::vector<Incident> incidents;
  std::vector<StoredDocument> documents;  ///< with their ids, from next_document() on
  std::vector<SenderMark> senders;
  std::vector<StoredDelivery> deliveries;  ///< without ids
};

struct IncidentFilter {
  std::optional<std::string> tenant;  ///< absent: all
  std::string job;                    ///< empty: all
  std::optional<bool> open;
  int64_t from_unix_ns = 0;  ///< of the detection
  int64_t to_unix_ns = 0;    ///< before; 0: no end
  int64_t before_id = 0;     ///< 0: no end
  int64_t most = 100;
};

struct Retention {
  int64_t most_age_ns = int64_t{90} * 86'400 * 1'000'000'000;
  int64_t most_bytes = int64_t{4} << 30;
};

/// All that the service keeps, in one file. One thread at a time. A call that fails changes nothing; errors as
/// Database.
class Store {
 public:
  /// Makes the file where there is none, for its owner alone; brings an older one to the newest form. `check`: looks
  /// through all of the file for damage. Errors also kUnsupported, of a newer version.
  static Result<std::unique_ptr<Store>> open(const std::string& path, bool check = true);

  // What the coordinator needs when it starts.
  Result<std::vector<StoredJob>> jobs_since(int64_t unix_ns);
  /// Of each of these jobs the incident that is not closed, else the last one.
  Result<std::vector<Incident>> last_incidents();
  Result<std::vector<SenderMark>> senders();
  Result<int64_t> next_incident();
  Result<int64_t> next_document();

  Status write(const StoreBatch& batch);

  Result<std::vector<Incident>> incidents(const IncidentFilter& filter);
  /// nullopt: there is none.
  Result<std::optional<Incident>> incident(int64_t id);
  /// The newest first. `incident` 0: whatever they belong to.
  Result<std::vector<StoredDocument>> documents(const std::string& tenant, const std::string& job, int64_t incident,
                                                int64_t most);
  Result<std::optional<StoredDocument>> document(int64_t id);
  /// Jobs that anybody told of between two times. `tenant` absent: of all.
  Result<int64_t> count_jobs(const std::optional<std::string>& tenant, int64_t from_unix_ns, int64_t to_unix_ns);

  /// Gives the id. The incident that it was done against is kept with it.
  Result<int64_t> add_change(const Change& change, const std::optional<Incident>& incident);
  /// The newest first.
  Result<std::vector<Change>> changes(const std::optional<std::string>& tenant, int64_t from_unix_ns,
                                      int64_t to_unix_ns, int64_t most);
  Status add_feedback(const Feedback& feedback);
  /// `incident` 0: of all.
  Result<std::vector<Feedback>> feedback(int64_t incident);

  Status add_audit(const AuditLine& line);
  /// The newest first.
  Result<std::vector<AuditLine>> audit(const std::optional<std::string>& tenant, int64_t most);

  Status add_token(const StoredToken& token);
  /// False: there is none of that name.
  Result<bool> remove_token(const std::string& name);
  Result<std::vector<StoredToken>> tokens();
  Result<std::optional<StoredToken>> token(const std::string& hash);

  Result<std::optional<StoredPolicy>> policy(const std::string& tenant);
  Status set_policy(const std::string& tenant, const StoredPolicy& policy);

  /// The oldest first.
  Result<std::vector<StoredDelivery>> due_deliveries(int64_t now_unix_ns, int64_t most);
  Status remove_delivery(int64_t id);
  Status put_off(int64_t id, int64_t attempts, int64_t next_unix_ns);
  Result<int64_t> count_deliveries();

  /// Forgets what is too old, and of what is left the oldest documents, then the oldest closed incidents, until the
  /// file is small enough; a bit of it each time, since others wait. Gives how many rows went; more than 0: call again.
  Result<int64_t> forget(const Retention& retention, int64_t now_unix_ns);
  /// Of the file, without what is free in it.
  Result<int64_t> bytes();

 private:
  explicit Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}

  void put(const Incident& incident);
  std::vector<Incident> read_incidents(Statement& statement);

  std::unique_ptr<Database> database_;
};

}  // namespace eroica
