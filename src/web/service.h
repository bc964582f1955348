#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "agent/control_message.h"
#include "base/result.h"
#include "coordinator/change.h"
#include "coordinator/job_record.h"
#include "coordinator/json.h"
#include "coordinator/period_report.h"
#include "store/store.h"
#include "web/access.h"

namespace eroica {

struct ServiceOptions {
  std::vector<std::string> webhooks{};            ///< http://… that each event of an incident is sent to
  int64_t most_delivery_ns = 86'400'000'000'000;  ///< what no webhook took for so long is given up
  LifePolicy life;
  Retention retention;
  size_t most_jobs = 10'000;                      ///< that are kept in memory; of all tenants
  int64_t keep_status_every_ns = 30'000'000'000;  ///< what mere status changes is written so often
  int64_t order_lives_ns = 60'000'000'000;        ///< one that no host fetched is gone after this
  int64_t changes_before_ns = 3'600'000'000'000;  ///< an onset: so long before it a change may be behind it
};

/// A window that somebody asked for, until a host's watcher has said what came of it.
struct Order {
  int64_t id = 0;
  std::string tenant;
  std::string job;
  std::string host;  ///< one order for each host of the job
  int64_t unix_ns = 0;
  ControlRequest request;
  bool sent = false;
  std::optional<OrderTold> outcome;
};

/// Something for those who listen. Its data is one line of JSON.
struct ServiceEvent {
  std::string tenant;
  std::string name;  ///< "job" or "incident"
  std::string data;
};

/// Incident and all that is known about it.
struct IncidentFile {
  Incident incident;
  std::vector<StoredDocument> documents;
  std::vector<NearChange> near;
  std::vector<Change> actions;
  std::vector<Feedback> feedback;
};

struct ServiceHealth {
  std::string problem;  ///< why nothing can be written; empty: it can
  int64_t store_bytes = 0;
  size_t open_incidents = 0;
  uint64_t observations = 0;  ///< taken since it started
  uint64_t refused = 0;       ///< batches that could not be written
  int64_t deliveries = 0;     ///< that wait for their webhooks
};

/// The coordinator of a cluster: takes what watchers tell, keeps it, and answers. Whatever it has acknowledged is in
/// the store; what could not be written has not happened. For any number of threads. Times are of its own clock.
class Service {
 public:
  using Listener = std::function<void(const ServiceEvent&)>;
  /// `clock`: the wall clock in ns. `listener` is called with each event while others wait, and must not call back.
  /// Errors as Store.
  static Result<std::unique_ptr<Service>> make(std::unique_ptr<Store> store, ServiceOptions options,
                                               std::function<int64_t()> clock, Listener listener);

  struct Taken {
    int64_t acknowledged = 0;  ///< number of the last observation that is safe
    std::vector<Order> orders;
  };
  /// All or nothing. Errors kWrite: try again later; kInvalid: it never will do.
  Result<Taken> take(const std::string& tenant, const ObservationBatch& batch);
  /// Time passes: incidents of silent jobs end, old orders go, old rows are forgotten. Every few seconds.
  void tick();

  /// What callers may see of `tenant` (absent: all tenants), sorted.
  std::vector<JobRecord> jobs(const std::optional<std::string>& tenant);
  std::optional<JobRecord> job(const std::string& tenant, const std::string& job);
  /// Tenants that have a job of this id, of those that the caller sees.
  std::vector<std::string> tenants_of(const Caller& caller, const std::string& job);
  Result<std::vector<Incident>> incidents(const IncidentFilter& filter);
  Result<std::optional<Incident>> incident(int64_t id);
  Result<IncidentFile> file_of(const Incident& incident);
  Result<std::vector<StoredDocument>> documents(const std::string& tenant, const std::string& job, int64_t most);
  Result<std::optional<StoredDocument>> document(int64_t id);
  Result<PeriodReport> report(const std::optional<std::string>& tenant, int64_t from_unix_ns, int64_t to_unix_ns);

  /// Gives it back with its id. Error kNotFound: there is no such incident.
  Result<Change> add_change(Change change);
  Result<std::vector<Change>> changes(const std::optional<std::string>& tenant, int64_t from_unix_ns,
                                      int64_t to_unix_ns, int64_t most);
  Status add_feedback(const Feedback& feedback);
  /// One order a host. Error kNotFound: no host tells of the job now.
  Result<std::vector<Order>> trigger(const std::string& tenant, const std::string& job, const ControlRequest& request);
  std::vector<Order> orders(const std::string& tenant, const std::string& job);
  Result<std::optional<StoredPolicy>> policy(const std::string& tenant);
  Status set_policy(const std::string& tenant, const StoredPolicy& policy);

  Status add_audit(const AuditLine& line);
  Result<std::vector<AuditLine>> audit(const std::optional<std::string>& tenant, int64_t most);
  /// nullopt: no such token, or its time is over. These two know what tick() last read, and never wait for the store.
  std::optional<Caller> caller_of(const std::string& token);
  /// There has been a token since the service was made: who removes the last one does not open it to everybody.
  bool needs_token();

  /// What is to be sent to webhooks now, the oldest first. Each is delivered() or put_off() for longer and longer.
  std::vector<StoredDelivery> due_deliveries(size_t most);
  void delivered(const StoredDelivery& delivery);
  void put_off(const StoredDelivery& delivery);
  /// Incidents that are not closed, or were not so long ago.
  std::vector<Incident> alerting(int64_t closed_within_ns);

  ServiceHealth health();
  [[nodiscard]] int64_t now() const { return clock_(); }
  [[nodiscard]] const LifePolicy& life() const { return options_.life; }

 private:
  using JobKey = std::pair<std::string, std::string>;  // tenant, job

  Service(std::unique_ptr<Store> store, ServiceOptions options, std::function<int64_t()> clock, Listener listener);
  Status load();
  Status wrote(Status status);
  /// The job that has this incident in memory, where it is newer than in the store; nullptr: none.
  JobRecord* job_with(const Incident& incident);
  void announce(const JobRecord& job, const std::vector<IncidentEvent>& events);
  void note_orders(const std::string& tenant, const ObservationBatch& batch);
  Status read_tokens();
  void add_deliveries(const std::vector<IncidentEvent>& events, StoreBatch& writes);

  struct Sender {
    int64_t number = 0;
    int64_t unix_ns = 0;
  };

  std::mutex mutex_;
  std::unique_ptr<Store> store_;
  ServiceOptions options_;
  std::function<int64_t()> clock_;
  Listener listener_;
  std::map<JobKey, JobRecord> jobs_;
  std::map<JobKey, int64_t> kept_ns_;                              // when a job's row was last written
  std::map<JobKey, int64_t> announced_ns_;                         // … the job was last told of to listeners
  std::map<std::pair<std::string, std::string>, Sender> senders_;  // by tenant and id
  std::vector<Order> orders_;
  int64_t next_incident_ = 1;
  int64_t next_document_ = 1;
  int64_t next_order_ = 1;  // hosts remember those that they followed: never used again, also after a new start
  int64_t forgot_ns_ = 0;
  std::string problem_;
  uint64_t observations_ = 0;
  uint64_t refused_ = 0;

  std::mutex tokens_mutex_;
  std::map<std::string, StoredToken> tokens_;  // by their hashes
  bool needs_token_ = false;
};

}  // namespace eroica
