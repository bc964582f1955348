#include "diagnose/candidates.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "compare/function_excess.h"
#include "compare/kernel_speed.h"
#include "compare/stage_balance.h"
#include "compare/stragglers.h"
#include "diagnose/effect.h"
#include "diagnose/vocabulary.h"

namespace eroica {
namespace {

constexpr double kPartOfLeastEffect = 0.7;  // stand-outs are looked for a little below what is worth a word
constexpr size_t kMostStragglers = 8;
constexpr double kAlike = 0.5;
constexpr double kPartOfShare = 0.5;
constexpr size_t kMostHostsApart = 8;

std::vector<uint32_t> all_ranks(const Job& job) {
  std::vector<uint32_t> ranks(job.ranks.size());
  std::iota(ranks.begin(), ranks.end(), 0U);
  return ranks;
}

class Finder {
 public:
  Finder(const Rule& rule, Facts& facts) : rule_(&rule), facts_(&facts), job_(facts.now().job) {}

  void add(std::vector<uint32_t> ranks, std::vector<uint32_t> entities = {}) {
    if (ranks.empty()) return;
    const bool known = std::any_of(found_.begin(), found_.end(),
                                   [&](const Candidate& other) { return other.subject.ranks() == ranks; });
    if (known) return;
    Candidate candidate(rule_, Subject(std::move(ranks), job_->ranks.size()));
    candidate.entities = std::move(entities);
    measure_effect(candidate, *facts_);
    found_.push_back(std::move(candidate));
  }

  void by_signal() {
    std::set<uint32_t> of_any;
    for (const EvidenceRule& evidence : rule_->evidence) {
      if (!is_needed(evidence) || !is_signal(evidence.fact)) continue;
      const std::vector<uint32_t> entities = facts_->entities_where(evidence);
      add(in_scope(ranks_of(entities)), entities);
      if (rule_->scope != Scope::kRanks) each_host(entities);
      if (evidence.need == Need::kRequired) return;
      of_any.insert(entities.begin(), entities.end());
    }
    // The same cause may show itself by one signal here and by another there.
    if (rule_->scope != Scope::kRanks) return;
    const std::vector<uint32_t> entities(of_any.begin(), of_any.end());
    add(ranks_of(entities), entities);
  }

  void by_time() {
    const std::vector<TimeClass> classes = affected_classes(*rule_, *job_);
    const auto value_of = [&](uint32_t rank) { return own_share(job_->ranks[rank], classes); };
    const double least = kPartOfLeastEffect * rule_->least_effect;
    const std::vector<Stragglers> all = find_stragglers(facts_->now().peers, value_of, least, kMostStragglers);
    std::set<uint32_t> in_all_sets;
    for (const Stragglers& found : all) {
      add(in_scope(found.ranks));
      // One cause may act in several stages: a replica with more input, a host with ranks of two stages.
      if (found.excess >= kAlike * all.front().excess) in_all_sets.insert(found.ranks.begin(), found.ranks.end());
    }
    add({in_all_sets.begin(), in_all_sets.end()});
    without_peers(classes, least);
    if (rule_->scope == Scope::kHost) each_host();
    by_pair();
    by_component();
  }

  // Ranks that nobody else does the same work as, in a pipeline without replicas or where a host holds a whole stage:
  // the same kernels run elsewhere, what a host does for a step depends little on the stage, and the user's own Python
  // is not usually on the critical path.
  void without_peers(const std::vector<TimeClass>& classes, double least) {
    constexpr size_t kLeastOthers = 3;
    const Peers& peers = facts_->now().peers;
    if (peers.sets.size() < 2) return;
    // Every stage may run kernels that no other does.
    const bool by_names = std::ranges::any_of(rule_->evidence, [](const EvidenceRule& evidence) {
      return is_needed(evidence) && evidence.fact == "kernels.other_share";
    });
    if (by_names) return;
    Peers of_device;
    std::map<uint32_t, std::vector<uint32_t>> ranks_of;
    for (uint32_t rank = 0; rank < job_->ranks.size(); ++rank) {
      if (job_->ranks[rank].observed) ranks_of[job_->ranks[rank].device].push_back(rank);
    }
    for (auto& [device, ranks] : ranks_of) of_device.sets.push_back({"", "", std::move(ranks), 0});
    const auto look_at = [&](const std::function<double(uint32_t)>& value_of, bool mostly) {
      for (const Stragglers& found : find_stragglers(of_device, value_of, least, kMostStragglers)) {
        double value = 0;
        for (const uint32_t rank : found.ranks) value += value_of(rank) / static_cast<double>(found.ranks.size());
        const bool stands_out =
            mostly ? found.excess >= kPartOfShare * value : found.others >= kLeastOthers && other_sets(found.ranks) > 1;
        if (stands_out && !has_peers(found.ranks)) add(in_scope(found.ranks));
      }
    };
    std::vector<TimeClass> of_host = classes;
    std::erase(of_host, TimeClass::kCompute);
    if (of_host.size() < classes.size() && job_->gpu_job) {
      const std::vector<double>& excess = facts_->kernel_excess(kernel_class(*rule_));
      look_at([&](uint32_t rank) { return excess[rank]; }, false);
    }
    const bool of_user_code = std::ranges::any_of(rule_->evidence, [](const EvidenceRule& evidence) {
      return is_needed(evidence) && evidence.fact == "function.user_share";
    });
    // Only some stages read data or the loss: their hosts have more to do.
    if (of_user_code) {
      look_at([&](uint32_t rank) { return user_python_share(*job_, job_->ranks[rank]); }, true);
    } else {
      look_at([&](uint32_t rank) { return own_share(job_->ranks[rank], of_host); }, false);
    }
  }

  /// Is anybody outside of some ranks a peer of one of them?
  [[nodiscard]] bool has_peers(const std::vector<uint32_t>& ranks) const {
    const Peers& peers = facts_->now().peers;
    std::map<uint32_t, size_t> members;  // by peer set
    for (const uint32_t rank : ranks) ++members[peers.set_of[rank]];
    return std::ranges::any_of(
        members, [&](const auto& of_set) { return of_set.second < peers.sets[of_set.first].ranks.size(); });
  }

  /// Peer sets without any of the ranks: how much stages differ by nature shows only between several.
  [[nodiscard]] size_t other_sets(const std::vector<uint32_t>& ranks) const {
    const Peers& peers = facts_->now().peers;
    std::set<uint32_t> sets;
    for (const uint32_t rank : ranks) sets.insert(peers.set_of[rank]);
    return peers.sets.size() - sets.size();
  }

  // Hosts between which transfers are slow, for rules about pairs.
  void by_pair() {
    const bool asked = std::any_of(rule_->evidence.begin(), rule_->evidence.end(), [](const EvidenceRule& evidence) {
      return is_needed(evidence) && evidence.fact == "transfer.pair_ratio";
    });
    if (!asked) return;
    const auto worst = slowest_pair(facts_->now().transfers, *job_);
    if (!worst) return;
    std::vector<uint32_t> ranks;
    for (uint32_t rank = 0; rank < job_->ranks.size(); ++rank) {
      const uint32_t host = job_->ranks[rank].host;
      if (host == worst->hosts.first || host == worst->hosts.second) ranks.push_back(rank);
    }
    add(std::move(ranks));
  }

  // A host may hold whole stages: then its ranks stand out from none of their peers.
  void each_host() {
    std::map<uint32_t, std::vector<uint32_t>> hosts;
    for (uint32_t rank = 0; rank < job_->ranks.size(); ++rank) hosts[job_->ranks[rank].host].push_back(rank);
    if (hosts.size() < 2 || hosts.size() > kMostHostsApart) return;
    for (auto& [host, ranks] : hosts) add(std::move(ranks));
  }

  // Several hosts may show a signal, and only one for the rule's reason.
  void each_host(const std::vector<uint32_t>& entities) {
    std::map<uint32_t, std::vector<uint32_t>> entities_of_host;
    for (const uint32_t entity : entities) {
      const std::vector<uint32_t>& ranks = job_->entities[entity].ranks;
      if (!ranks.empty()) entities_of_host[job_->ranks[ranks.front()].host].push_back(entity);
    }
    if (entities_of_host.size() < 2 || entities_of_host.size() > kMostHostsApart) return;
    for (const auto& [host, of_host] : entities_of_host) add(in_scope(ranks_of(of_host)), of_host);
  }

  // A disk, a GPU or a host that shows the rule's signal tells about all its ranks, whoever of them was slow enough to
  // stand out.
  void by_component() {
    for (const EvidenceRule& evidence : rule_->evidence) {
      const KnownFact* known = find_fact(evidence.fact);
      if (!is_needed(evidence) || known == nullptr) continue;
      // Where a disk itself is not sampled, its host's wait for storage speaks.
      const bool of_host = rule_->component == "disk" && has_entity(*known, "host");
      if (!of_host && !has_entity(*known, rule_->component)) continue;
      const std::string_view kind = of_host ? std::string_view("host") : std::string_view(rule_->component);
      std::vector<uint32_t> entities = facts_->entities_where(evidence);
      std::erase_if(entities, [&](uint32_t entity) { return !is_of_kind(job_->entities[entity], kind); });
      std::vector<uint32_t> ranks = ranks_of(entities);
      if (ranks.size() < job_->ranks.size()) add(std::move(ranks), std::move(entities));
    }
  }

  /// Ranks that any of the entities tells about, ascending.
  [[nodiscard]] std::vector<uint32_t> ranks_of(const std::vector<uint32_t>& entities) const {
    std::set<uint32_t> ranks;
    for (const uint32_t entity : entities) {
      ranks.insert(job_->entities[entity].ranks.begin(), job_->entities[entity].ranks.end());
    }
    return {ranks.begin(), ranks.end()};
  }

  /// Rules about hosts speak of all ranks of a host.
  [[nodiscard]] std::vector<uint32_t> in_scope(const std::vector<uint32_t>& ranks) const {
    return rule_->scope == Scope::kHost ? whole_hosts(ranks) : ranks;
  }

  [[nodiscard]] std::vector<uint32_t> whole_hosts(const std::vector<uint32_t>& ranks) const {
    std::set<uint32_t> hosts;
    for (const uint32_t rank : ranks) hosts.insert(job_->ranks[rank].host);
    if (hosts.contains(0)) return ranks;
    std::vector<uint32_t> all;
    for (uint32_t rank = 0; rank < job_->ranks.size(); ++rank) {
      if (hosts.contains(job_->ranks[rank].host)) all.push_back(rank);
    }
    return all.size() < job_->ranks.size() ? all : ranks;
  }

  void by_function() {
    for (const EvidenceRule& evidence : rule_->evidence) {
      if (!is_needed(evidence) || evidence.function.empty() || !evidence.fact.starts_with("function.")) continue;
      const std::vector<double> shares = facts_->function_share(evidence.function);
      const auto value_of = [&](uint32_t rank) { return shares[rank]; };
      const double least = kPartOfLeastEffect * rule_->least_effect;
      for (const Stragglers& found : find_stragglers(facts_->now().peers, value_of, least, kMostStragglers)) {
        double share = 0;
        for (const uint32_t rank : found.ranks) share += shares[rank] / static_cast<double>(found.ranks.size());
        // Where the others run it half as long, it is everybody's.
        if (found.excess >= kPartOfShare * share) add(found.ranks);
      }
      if (evidence.need == Need::kRequired) return;
    }
  }

  void by_stage() {
    const Peers& peers = facts_->now().peers;
    const auto balance = stage_balance(*job_, peers);
    if (!balance) return;
    std::vector<uint32_t> ranks;
    for (const PeerSet& set : peers.sets) {
      if (set.stage == balance->longest) ranks.insert(ranks.end(), set.ranks.begin(), set.ranks.end());
    }
    std::sort(ranks.begin(), ranks.end());
    add(std::move(ranks));
  }

  void by_label() {
    for (const EvidenceRule& evidence : rule_->evidence) {
      if (!is_needed(evidence) || !evidence.fact.starts_with("label.")) continue;
      const std::string expression = label_keys(evidence);
      add(facts_->label_minority(expression));
      add(facts_->label_minority(expression, true));
    }
  }

  void by_absence() {
    const std::optional<BlockedJob>& blocked = facts_->now().blocked;
    if (!blocked) return;
    add(blocked->missing);
    for (Candidate& candidate : found_) candidate.effect = 1;
  }

  [[nodiscard]] bool found_any() const { return !found_.empty(); }
  std::vector<Candidate> take() { return std::move(found_); }

 private:
  const Rule* rule_;
  Facts* facts_;
  const Job* job_;
  std::vector<Candidate> found_;
};

}  // namespace

std::vector<TimeClass> affected_classes(const Rule& rule, const Job& job) {
  std::vector<TimeClass> classes = rule.affects;
  const auto has = [&](TimeClass one) { return std::find(classes.begin(), classes.end(), one) != classes.end(); };
  if (!job.gpu_job && (has(TimeClass::kPython) || has(TimeClass::kLaunch)) && !has(TimeClass::kCompute)) {
    classes.push_back(TimeClass::kCompute);
  }
  return classes;
}

bool share_classes(const Rule& a, const Rule& b, const Job& job) {
  const std::vector<TimeClass> ours = affected_classes(a, job);
  const std::vector<TimeClass> theirs = affected_classes(b, job);
  return std::ranges::any_of(ours, [&](TimeClass one) { return std::ranges::find(theirs, one) != theirs.end(); });
}

double own_share(const RankFacts& rank, const std::vector<TimeClass>& classes) {
  double sum = 0;
  for (const TimeClass one : classes) {
    if (one != TimeClass::kCommunication) sum += rank.share[static_cast<size_t>(one)];
  }
  return sum;
}

std::vector<Candidate> find_candidates(const Rule& rule, Facts& facts) {
  Finder finder(rule, facts);
  const Job& job = *facts.now().job;
  switch (rule.subject) {
    case SubjectBy::kSignal:
      finder.by_signal();
      break;
    case SubjectBy::kTime:
      finder.by_time();
      break;
    case SubjectBy::kFunction:
      finder.by_function();
      break;
    case SubjectBy::kStage:
      finder.by_stage();
      break;
    case SubjectBy::kMoving:
      finder.add(all_ranks(job));
      break;
    case SubjectBy::kLabel:
      finder.by_label();
      break;
    case SubjectBy::kAll:
      finder.add(all_ranks(job));
      break;
    case SubjectBy::kBlocked:
      finder.by_absence();
      break;
  }
  // What some entities or ranks show more than others is not said of all.
  const bool by_difference = rule.subject == SubjectBy::kSignal || rule.subject == SubjectBy::kFunction;
  if (rule.also_all && !(by_difference && finder.found_any())) finder.add(all_ranks(job));
  return finder.take();
}

}  // namespace eroica
