#include "web/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "web/secret.h"

namespace eroica {
namespace {

constexpr int64_t kDayNs = int64_t{86'400} * 1'000'000'000;
constexpr int64_t kForgetEveryNs = 60'000'000'000;
constexpr int64_t kAnnounceEveryNs = 1'000'000'000;
constexpr size_t kMostOrders = 1000;
constexpr size_t kMostSenders = 100'000;
constexpr int64_t kMostListedRows = 1000;
constexpr int64_t kMostReported = 100'000;

constexpr int64_t kLeastPauseNs = 5'000'000'000;
constexpr int64_t kMostPauseNs = 1'800'000'000'000;

nlohmann::ordered_json event_json(const IncidentEvent& event) {
  nlohmann::ordered_json json = {{"event", incident_event_name(event.kind)}};
  json["incident"] = summary_json(event.incident);
  return json;
}

bool is_status(const Observation& one) { return std::holds_alternative<StatusTold>(one.what); }

Error no_such(std::string what) { return {Error::Kind::kNotFound, std::move(what)}; }

}  // namespace

Service::Service(std::unique_ptr<Store> store, ServiceOptions options, std::function<int64_t()> clock,
                 Listener listener)
    : store_(std::move(store)),
      options_(std::move(options)),
      clock_(std::move(clock)),
      listener_(std::move(listener)) {}

Result<std::unique_ptr<Service>> Service::make(std::unique_ptr<Store> store, ServiceOptions options,
                                               std::function<int64_t()> clock, Listener listener) {
  std::unique_ptr<Service> service(
      new Service(std::move(store), std::move(options), std::move(clock), std::move(listener)));
  if (Status loaded = service->load(); !loaded) return loaded.error();
  return service;
}

Status Service::load() {
  if (Status read = read_tokens(); !read) return read;
  const Result<std::vector<StoredJob>> jobs = store_->jobs_since(clock_() - kDayNs);
  if (!jobs) return jobs.error();
  Result<std::vector<Incident>> incidents = store_->last_incidents();
  if (!incidents) return incidents.error();
  const Result<std::vector<SenderMark>> senders = store_->senders();
  if (!senders) return senders.error();
  const Result<int64_t> incident = store_->next_incident();
  if (!incident) return incident.error();
  const Result<int64_t> document = store_->next_document();
  if (!document) return document.error();
  next_incident_ = *incident;
  next_document_ = *document;
  next_order_ = std::max<int64_t>(1, clock_() / 1000);
  const auto record_of = [&](const std::string& tenant, const std::string& job) -> JobRecord& {
    JobRecord& record = jobs_[{tenant, job}];
    record.tenant = tenant;
    record.job = job;
    return record;
  };
  for (const StoredJob& job : *jobs) {
    JobRecord& record = record_of(job.tenant, job.job);
    record.first_unix_ns = job.first_unix_ns;
    record.last_unix_ns = job.last_unix_ns;
  }
  for (Incident& one : *incidents) {
    if (one.state == IncidentState::kClosed && !jobs_.contains({one.tenant, one.job})) continue;
    JobRecord& record = record_of(one.tenant, one.job);
    if (record.first_unix_ns == 0) record.first_unix_ns = record.last_unix_ns = one.told_unix_ns;
    record.incident = std::move(one);
  }
  for (const SenderMark& mark : *senders) senders_[{mark.tenant, mark.sender}] = {mark.number, mark.unix_ns};
  return ok_status();
}

/// Remembers whether the store can be written.
Status Service::wrote(Status status) {
  problem_ = status ? std::string() : status.error().message;
  return status;
}

void Service::announce(const JobRecord& job, const std::vector<IncidentEvent>& events) {
  for (const IncidentEvent& event : events) {
    listener_({job.tenant, "incident", text_of(event_json(event))});
  }
  int64_t& announced_ns = announced_ns_[{job.tenant, job.job}];
  if (events.empty() && clock_() - announced_ns < kAnnounceEveryNs) return;
  announced_ns = clock_();
  listener_({job.tenant, "job", text_of(to_json(job, announced_ns, options_.life, false))});
}

void Service::add_deliveries(const std::vector<IncidentEvent>& events, StoreBatch& writes) {
  for (const IncidentEvent& event : events) {
    for (const std::string& target : options_.webhooks) {
      nlohmann::ordered_json json = {{"schema", "eroica.event/1"}};
      json.update(event_json(event));
      writes.deliveries.push_back({0, target, clock_(), text_of(json), 0, clock_()});
    }
  }
}

Result<Service::Taken> Service::take(const std::string& tenant, const ObservationBatch& batch) {
  const std::lock_guard lock(mutex_);
  const int64_t now_ns = clock_();
  const std::pair<std::string, std::string> sender_key{tenant, batch.sender};
  const auto known = senders_.find(sender_key);
  Taken taken;
  taken.acknowledged = known == senders_.end() ? 0 : known->second.number;

  // What follows is worked out on copies: only what is in the store has happened.
  std::map<JobKey, JobRecord> changed;
  std::map<JobKey, std::vector<IncidentEvent>> events;
  std::map<int64_t, Incident> incidents;
  StoreBatch writes;
  int64_t next_incident = next_incident_;
  int64_t next_document = next_document_;
  uint64_t fresh = 0;
  bool must_keep = known == senders_.end();
  for (const Observation& one : batch.observations) {
    if (one.number <= taken.acknowledged) continue;
    taken.acknowledged = one.number;
    ++fresh;
    const JobKey key{tenant, one.job};
    if (!changed.contains(key)) {
      const auto place = jobs_.find(key);
      if (place != jobs_.end()) {
        changed[key] = place->second;
      } else {
        if (jobs_.size() + changed.size() >= options_.most_jobs) {
          return Error{Error::Kind::kWrite, "there are too many jobs already"};
        }
        changed[key].tenant = tenant;
        changed[key].job = one.job;
      }
    }
    JobRecord& job = changed[key];
    std::vector<IncidentEvent>& told = events[key];
    const size_t told_before = told.size();
    eroica::take(job, one, next_document, now_ns, options_.life, next_incident, told);
    for (size_t i = told_before; i < told.size(); ++i) incidents[told[i].incident.id] = told[i].incident;
    if (const auto* document = std::get_if<DocumentTold>(&one.what)) {
      const bool belongs = has_open_incident(job);
      const bool claimed = !document->healthy && job.incident;
      writes.documents.push_back({next_document++, tenant, one.job, one.host, belongs || claimed ? job.incident->id : 0,
                                  std::min(one.unix_ns, now_ns), document->healthy, document->json});
    }
    const auto kept = kept_ns_.find(key);
    const bool due = kept == kept_ns_.end() || now_ns - kept->second >= options_.keep_status_every_ns;
    must_keep = must_keep || due || !is_status(one) || told.size() > told_before;
  }
  if (must_keep && fresh > 0) {
    if (senders_.size() >= kMostSenders && known == senders_.end()) {
      return Error{Error::Kind::kWrite, "there are too many senders already"};
    }
    for (const auto& [key, job] : changed) {
      if (job.incident) incidents[job.incident->id] = *job.incident;
      writes.jobs.push_back({key.first, key.second, job.first_unix_ns, job.last_unix_ns, ranks_of(job)});
    }
    for (auto& [id, incident] : incidents) writes.incidents.push_back(std::move(incident));
    for (const auto& [key, told] : events) add_deliveries(told, writes);
    writes.senders.push_back({tenant, batch.sender, taken.acknowledged, now_ns});
    if (Status status = wrote(store_->write(writes)); !status) {
      ++refused_;
      return status.error();
    }
    for (const auto& [key, job] : changed) kept_ns_[key] = now_ns;
  }
  next_incident_ = next_incident;
  next_document_ = next_document;
  observations_ += fresh;
  if (fresh > 0) senders_[sender_key] = {taken.acknowledged, now_ns};
  std::set<JobKey> asked;
  std::set<std::string> hosts;
  for (const Observation& one : batch.observations) {
    asked.insert({tenant, one.job});
    hosts.insert(one.host);
  }
  for (auto& [key, job] : changed) {
    announce(job, events[key]);
    jobs_[key] = std::move(job);
  }
  note_orders(tenant, batch);
  for (Order& order : orders_) {
    if (order.outcome || !asked.contains({order.tenant, order.job}) || !hosts.contains(order.host)) continue;
    order.sent = true;  // again and again, until its outcome is told
    taken.orders.push_back(order);
  }
  return taken;
}

void Service::note_orders(const std::string& tenant, const ObservationBatch& batch) {
  for (const Observation& one : batch.observations) {
    const auto* told = std::get_if<OrderTold>(&one.what);
    if (told == nullptr) continue;
    for (Order& order : orders_) {
      if (order.id == told->id && order.tenant == tenant && order.job == one.job && order.host == one.host) {
        order.outcome = *told;
      }
    }
  }
}

void Service::tick() {
  const std::lock_guard lock(mutex_);
  const int64_t now_ns = clock_();
  (void)read_tokens();  // the ones that were known hold until they can be read
  for (auto& [key, job] : jobs_) {
    if (!has_open_incident(job)) continue;
    JobRecord after = job;
    std::vector<IncidentEvent> events;
    pass(after, now_ns, options_.life, events);
    if (events.empty()) continue;
    StoreBatch writes;
    writes.incidents.push_back(*after.incident);
    add_deliveries(events, writes);
    if (!wrote(store_->write(writes))) break;  // the next tick tries again
    announce(after, events);
    job = std::move(after);
  }
  std::erase_if(jobs_, [&](const auto& item) {
    const bool has_open = has_open_incident(item.second);
    return !has_open && now_ns - item.second.last_unix_ns > kDayNs;
  });
  std::erase_if(kept_ns_, [&](const auto& item) { return !jobs_.contains(item.first); });
  std::erase_if(announced_ns_, [&](const auto& item) { return !jobs_.contains(item.first); });
  std::erase_if(senders_, [&](const auto& item) { return now_ns - item.second.unix_ns > 7 * kDayNs; });
  std::erase_if(orders_, [&](const Order& order) {
    return now_ns - order.unix_ns > (order.sent ? 10 * options_.order_lives_ns : options_.order_lives_ns);
  });
  if (now_ns - forgot_ns_ < kForgetEveryNs && problem_.empty()) return;
  forgot_ns_ = now_ns;
  const Result<int64_t> gone = store_->forget(options_.retention, now_ns);
  (void)wrote(gone ? ok_status() : Status(gone.error()));
  if (gone && *gone > 0) forgot_ns_ = 0;
}

std::vector<JobRecord> Service::jobs(const std::optional<std::string>& tenant) {
  const std::lock_guard lock(mutex_);
  std::vector<JobRecord> list;
  for (const auto& [key, job] : jobs_) {
    if (!tenant || *tenant == key.first) list.push_back(job);
  }
  return list;
}

std::optional<JobRecord> Service::job(const std::string& tenant, const std::string& job) {
  const std::lock_guard lock(mutex_);
  const auto place = jobs_.find({tenant, job});
  return place == jobs_.end() ? std::nullopt : std::optional(place->second);
}

JobRecord* Service::job_with(const Incident& incident) {
  const auto place = jobs_.find({incident.tenant, incident.job});
  const bool has = place != jobs_.end() && place->second.incident && place->second.incident->id == incident.id;
  return has ? &place->second : nullptr;
}

std::vector<std::string> Service::tenants_of(const Caller& caller, const std::string& job) {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> tenants;
  for (const auto& [key, record] : jobs_) {
    if (key.second == job && sees(caller, key.first)) tenants.push_back(key.first);
  }
  return tenants;
}

Result<std::vector<Incident>> Service::incidents(const IncidentFilter& filter) {
  const std::lock_guard lock(mutex_);
  Result<std::vector<Incident>> found = store_->incidents(filter);
  if (!found) return found;
  for (Incident& one : *found) {  // what mere time added is written now and then only
    if (const JobRecord* job = job_with(one)) one = *job->incident;
  }
  return found;
}

Result<std::optional<Incident>> Service::incident(int64_t id) {
  const std::lock_guard lock(mutex_);
  Result<std::optional<Incident>> found = store_->incident(id);
  if (!found || !*found) return found;
  if (const JobRecord* job = job_with(**found)) return job->incident;
  return found;
}

Result<IncidentFile> Service::file_of(const Incident& incident) {
  const std::lock_guard lock(mutex_);
  IncidentFile file;
  file.incident = incident;
  Result<std::vector<StoredDocument>> documents =
      store_->documents(incident.tenant, incident.job, incident.id, kMostListedRows);
  if (!documents) return documents.error();
  file.documents = std::move(*documents);
  const int64_t from_ns = incident.onset_unix_ns - options_.changes_before_ns;
  const Result<std::vector<Change>> changes = store_->changes(incident.tenant, from_ns, clock_() + 1, kMostListedRows);
  if (!changes) return changes.error();
  file.near = changes_near(incident, *changes, options_.changes_before_ns, kMostListed);
  for (const Change& change : *changes) {
    if (change.incident == incident.id) file.actions.push_back(change);
  }
  Result<std::vector<Feedback>> feedback = store_->feedback(incident.id);
  if (!feedback) return feedback.error();
  file.feedback = std::move(*feedback);
  return file;
}

Result<std::vector<StoredDocument>> Service::documents(const std::string& tenant, const std::string& job,
                                                       int64_t most) {
  const std::lock_guard lock(mutex_);
  return store_->documents(tenant, job, 0, most);
}

Result<std::optional<StoredDocument>> Service::document(int64_t id) {
  const std::lock_guard lock(mutex_);
  return store_->document(id);
}

Result<PeriodReport> Service::report(const std::optional<std::string>& tenant, int64_t from_unix_ns,
                                     int64_t to_unix_ns) {
  IncidentFilter filter;
  filter.tenant = tenant;
  filter.from_unix_ns = from_unix_ns;
  filter.to_unix_ns = to_unix_ns;
  filter.most = kMostReported;
  const Result<std::vector<Incident>> found = incidents(filter);
  if (!found) return found.error();
  const std::lock_guard lock(mutex_);
  const Result<std::vector<Feedback>> feedback = store_->feedback(0);
  if (!feedback) return feedback.error();
  const Result<int64_t> jobs = store_->count_jobs(tenant, from_unix_ns, to_unix_ns);
  if (!jobs) return jobs.error();
  return report_period(*found, *feedback, static_cast<size_t>(*jobs), from_unix_ns, to_unix_ns);
}

Result<Change> Service::add_change(Change change) {
  const std::lock_guard lock(mutex_);
  std::optional<Incident> incident;
  JobRecord* job = nullptr;
  if (change.incident > 0) {
    Result<std::optional<Incident>> found = store_->incident(change.incident);
    if (!found) return found.error();
    if (!*found || (!change.tenant.empty() && (*found)->tenant != change.tenant)) {
      return no_such(fmt::format("there is no incident {}", change.incident));
    }
    incident = std::move(*found);
    job = job_with(*incident);
    if (job != nullptr) incident = job->incident;
    change.tenant = incident->tenant;
    if (change.jobs.empty()) change.jobs = {incident->job};
    if (incident->acted_unix_ns == 0) incident->acted_unix_ns = std::min(change.unix_ns, clock_());
  }
  Result<int64_t> id = store_->add_change(change, incident);
  (void)wrote(id ? ok_status() : Status(id.error()));
  if (!id) return id.error();
  change.id = *id;
  if (job != nullptr) {
    job->incident = std::move(incident);
    announce(*job, {});
  }
  return change;
}

Result<std::vector<Change>> Service::changes(const std::optional<std::string>& tenant, int64_t from_unix_ns,
                                             int64_t to_unix_ns, int64_t most) {
  const std::lock_guard lock(mutex_);
  return store_->changes(tenant, from_unix_ns, to_unix_ns, most);
}

Status Service::add_feedback(const Feedback& feedback) {
  const std::lock_guard lock(mutex_);
  return wrote(store_->add_feedback(feedback));
}

Result<std::vector<Order>> Service::trigger(const std::string& tenant, const std::string& job,
                                            const ControlRequest& request) {
  const std::lock_guard lock(mutex_);
  const auto place = jobs_.find({tenant, job});
  std::vector<Order> fresh;
  if (place != jobs_.end()) {
    for (const auto& [name, host] : place->second.hosts) {
      if (host.left || clock_() - host.unix_ns > options_.life.silent_ns) continue;
      if (orders_.size() + fresh.size() >= kMostOrders) {
        return Error{Error::Kind::kWrite, "too many windows are asked for already"};
      }
      fresh.push_back({next_order_++, tenant, job, name, clock_(), request, false, std::nullopt});
    }
  }
  if (fresh.empty()) return no_such(fmt::format("no host tells of a job {} now", job));
  orders_.insert(orders_.end(), fresh.begin(), fresh.end());
  return fresh;
}

std::vector<Order> Service::orders(const std::string& tenant, const std::string& job) {
  const std::lock_guard lock(mutex_);
  std::vector<Order> found;
  for (const Order& order : orders_) {
    if (order.tenant == tenant && order.job == job) found.push_back(order);
  }
  return found;
}

Result<std::optional<StoredPolicy>> Service::policy(const std::string& tenant) {
  const std::lock_guard lock(mutex_);
  return store_->policy(tenant);
}

Status Service::set_policy(const std::string& tenant, const StoredPolicy& policy) {
  const std::lock_guard lock(mutex_);
  return wrote(store_->set_policy(tenant, policy));
}

Status Service::add_audit(const AuditLine& line) {
  const std::lock_guard lock(mutex_);
  return wrote(store_->add_audit(line));
}

Result<std::vector<AuditLine>> Service::audit(const std::optional<std::string>& tenant, int64_t most) {
  const std::lock_guard lock(mutex_);
  return store_->audit(tenant, most);
}

Status Service::read_tokens() {
  Result<std::vector<StoredToken>> stored = store_->tokens();
  if (!stored) return stored.error();
  std::map<std::string, StoredToken> tokens;
  for (StoredToken& token : *stored) tokens[token.hash] = std::move(token);
  const std::lock_guard lock(tokens_mutex_);
  tokens_ = std::move(tokens);
  needs_token_ = needs_token_ || !tokens_.empty();
  return ok_status();
}

std::optional<Caller> Service::caller_of(const std::string& token) {
  const std::string hash = sha256_hex(token);
  const std::lock_guard lock(tokens_mutex_);
  const auto place = tokens_.find(hash);
  if (place == tokens_.end()) return std::nullopt;
  const StoredToken& found = place->second;
  if (found.ends_unix_ns > 0 && found.ends_unix_ns <= clock_()) return std::nullopt;
  const std::optional<Role> role = role_named(found.role);
  return role ? std::optional(Caller{found.name, *role, found.tenant}) : std::nullopt;
}

bool Service::needs_token() {
  const std::lock_guard lock(tokens_mutex_);
  return needs_token_;
}

std::vector<StoredDelivery> Service::due_deliveries(size_t most) {
  const std::lock_guard lock(mutex_);
  Result<std::vector<StoredDelivery>> due = store_->due_deliveries(clock_(), static_cast<int64_t>(most));
  return due ? std::move(*due) : std::vector<StoredDelivery>();
}

void Service::delivered(const StoredDelivery& delivery) {
  const std::lock_guard lock(mutex_);
  (void)wrote(store_->remove_delivery(delivery.id));  // else it is sent again, with the same id
}

void Service::put_off(const StoredDelivery& delivery) {
  const std::lock_guard lock(mutex_);
  const int64_t now_ns = clock_();
  if (now_ns - delivery.unix_ns >= options_.most_delivery_ns) {
    (void)wrote(store_->remove_delivery(delivery.id));
    return;
  }
  const int64_t pause_ns = std::min(kMostPauseNs, kLeastPauseNs << std::min<int64_t>(delivery.attempts, 10));
  (void)wrote(store_->put_off(delivery.id, delivery.attempts + 1, now_ns + pause_ns));
}

std::vector<Incident> Service::alerting(int64_t closed_within_ns) {
  const std::lock_guard lock(mutex_);
  std::vector<Incident> found;
  for (const auto& [key, job] : jobs_) {
    if (!job.incident) continue;
    const bool open = has_open_incident(job);
    if (open || clock_() - job.incident->closed_unix_ns <= closed_within_ns) found.push_back(*job.incident);
  }
  return found;
}

ServiceHealth Service::health() {
  const std::lock_guard lock(mutex_);
  ServiceHealth health;
  health.problem = problem_;
  const Result<int64_t> bytes = store_->bytes();
  if (bytes) {
    health.store_bytes = *bytes;
  } else if (health.problem.empty()) {
    health.problem = bytes.error().message;
  }
  if (const Result<int64_t> deliveries = store_->count_deliveries()) health.deliveries = *deliveries;
  health.open_incidents = static_cast<size_t>(
      std::ranges::count_if(jobs_, [](const auto& item) { return has_open_incident(item.second); }));
  health.observations = observations_;
  health.refused = refused_;
  return health;
}

}  // namespace eroica
