#include "coordinator/job_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "coordinator/json.h"

namespace eroica {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kStart = int64_t{1'800'000'000} * kSecond;

/// A job of 8 ranks a host, told of second by second.
class Told {
 public:
  explicit Told(std::string host = "h0") : host_(std::move(host)) {
    job.tenant = "t";
    job.job = "job7";
  }

  void tell(decltype(Observation::what) what, const std::string& host, int64_t unix_ns = 0) {
    Observation one{++number_, unix_ns > 0 ? unix_ns : now_ns, "job7", host, std::move(what)};
    take(job, one, ++document_, now_ns, policy, next_id, events);
  }
  void tell(decltype(Observation::what) what) { tell(std::move(what), host_); }
  void status(JobState state, const std::string& host) {
    StatusTold told;
    told.status.job = "job7";
    told.status.state = state;
    told.status.ranks = 8;
    tell(std::move(told), host);
  }
  void status(JobState state) { status(state, host_); }
  /// The job stays so for a while.
  void stays(JobState state, int64_t seconds) {
    for (int64_t i = 0; i < seconds; ++i) {
      now_ns += kSecond;
      status(state);
    }
  }
  void slow(double level_ms = 200, double baseline_ms = 100, int64_t onset_s_ago = 10) {
    tell(TroubleTold{TroubleKind::kSlow, now_ns - onset_s_ago * kSecond, 50, level_ms, baseline_ms});
  }
  void claims(const std::string& cause, std::vector<int32_t> ranks = {3}) { claims_of(host_, cause, std::move(ranks)); }
  void claims_of(const std::string& host, const std::string& cause, std::vector<int32_t> ranks = {3}) {
    DocumentTold told;
    told.healthy = false;
    Claim claim;
    claim.cause = cause;
    claim.title = "a slow rank";
    claim.confidence = 0.9;
    claim.ranks = std::move(ranks);
    told.claims.push_back(claim);
    tell(told, host);
  }
  std::vector<std::string> happened() const {
    std::vector<std::string> names;
    for (const IncidentEvent& event : events) names.emplace_back(incident_event_name(event.kind));
    return names;
  }
  const Incident& incident() const { return job.incident.value(); }

  JobRecord job;
  LifePolicy policy;
  int64_t now_ns = kStart;
  int64_t next_id = 1;
  std::vector<IncidentEvent> events;

 private:
  std::string host_;
  int64_t number_ = 0;
  int64_t document_ = 0;
};

using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(Incident, LivesFromDetectionUntilTheJobIsWellForLongEnough) {
  Told told;
  told.stays(JobState::kHealthy, 5);
  told.slow();
  told.stays(JobState::kSlow, 20);
  told.claims("data.loader_slow");
  told.stays(JobState::kSlow, 20);
  told.stays(JobState::kHealthy, 1);
  EXPECT_EQ(told.incident().state, IncidentState::kRecovering);
  told.stays(JobState::kHealthy, 119);
  EXPECT_EQ(told.incident().state, IncidentState::kRecovering);
  told.stays(JobState::kHealthy, 1);
  EXPECT_EQ(told.incident().state, IncidentState::kClosed);
  EXPECT_EQ(told.incident().resolution, Resolution::kRecovered);
  EXPECT_THAT(told.happened(), ElementsAre("opened", "diagnosed", "recovering", "closed"));
}

TEST(Incident, CountsGpuTimeLostSinceItsOnset) {
  Told told;
  told.status(JobState::kHealthy);
  told.slow(200, 100, 10);  // half of the time of 8 GPUs
  told.stays(JobState::kSlow, 30);
  EXPECT_THAT(told.incident().lost_gpu_s, DoubleNear((10 + 30) * 8 * 0.5, 1e-6));
}

TEST(Incident, CountsWhatWouldHaveBeenLostAfterItRecovered) {
  Told told;
  told.status(JobState::kHealthy);
  told.slow();
  told.stays(JobState::kSlow, 10);
  told.stays(JobState::kHealthy, 1);
  const double lost = told.incident().lost_gpu_s;
  told.stays(JobState::kHealthy, 300);
  EXPECT_EQ(told.incident().lost_gpu_s, lost);
  EXPECT_THAT(told.incident().recovered_gpu_s, DoubleNear(300 * 8 * 0.5, 1e-6));
}

TEST(Incident, NoTimeIsCountedThatNobodyToldOf) {
  Told told;
  told.status(JobState::kHealthy);
  told.slow(200, 100, 0);
  told.now_ns += 10'000 * kSecond;
  told.status(JobState::kSlow);
  EXPECT_THAT(told.incident().lost_gpu_s, DoubleNear(0, 1e-6));  // the host was silent: its state was not known
}

TEST(Incident, TroubleThatComesBackIsTheSameIncident) {
  Told told;
  told.status(JobState::kHealthy);
  told.slow();
  told.stays(JobState::kHealthy, 200);
  told.slow();
  EXPECT_EQ(told.incident().id, 1);
  EXPECT_EQ(told.incident().repeats, 1);
  EXPECT_EQ(told.incident().state, IncidentState::kOpen);
  told.stays(JobState::kHealthy, 200 + 1800);
  told.slow();
  EXPECT_EQ(told.incident().id, 2);
}

TEST(Incident, ALikeClaimIsCountedAndNotListedAgain) {
  Told told;
  told.status(JobState::kHealthy);
  told.slow();
  told.claims("data.loader_slow");
  told.claims("data.loader_slow");
  told.claims("data.loader_slow", {4});
  ASSERT_EQ(told.incident().claims.size(), 2U);
  EXPECT_EQ(told.incident().claims[0].times, 2);
  EXPECT_EQ(told.incident().documents_count, 3);
  EXPECT_EQ(category(told.incident()), "data");
}

TEST(Incident, AHostThatIsWellDoesNotCloseWhatAnotherOneSuffers) {
  Told told;
  told.status(JobState::kHealthy, "h0");
  told.status(JobState::kHealthy, "h1");
  told.slow();
  for (int i = 0; i < 300; ++i) {
    told.now_ns += kSecond;
    told.status(JobState::kSlow, "h0");
    told.status(JobState::kHealthy, "h1");
  }
  EXPECT_EQ(told.incident().state, IncidentState::kOpen);
  EXPECT_EQ(told.incident().ranks, 16);
}

TEST(Incident, EndsWithItsJobOrWhenNobodyTellsOfIt) {
  Told ended;
  ended.status(JobState::kHealthy);
  ended.slow();
  ended.status(JobState::kEnded);
  EXPECT_EQ(ended.incident().resolution, Resolution::kEnded);

  Told lost;
  lost.status(JobState::kHealthy);
  lost.slow();
  pass(lost.job, lost.now_ns + 3599 * kSecond, lost.policy, lost.events);
  EXPECT_EQ(lost.incident().state, IncidentState::kOpen);
  pass(lost.job, lost.now_ns + 3600 * kSecond, lost.policy, lost.events);
  EXPECT_EQ(lost.incident().resolution, Resolution::kLost);
}

TEST(Incident, IsFoundByAWindowAloneAndClosesWithAHealthyOne) {
  Told told;
  told.stays(JobState::kHealthy, 3);
  told.claims("gpu.clock_low");
  EXPECT_EQ(told.incident().kind, TroubleKind::kFound);
  told.stays(JobState::kHealthy, 300);
  EXPECT_EQ(told.incident().state, IncidentState::kOpen);
  told.tell(DocumentTold{"{}", true, {}});
  told.stays(JobState::kHealthy, 121);
  EXPECT_EQ(told.incident().resolution, Resolution::kRecovered);
}

TEST(Incident, ADiagnosisThatComesLateBelongsToTheClosedIncident) {
  Told told;
  told.status(JobState::kHealthy);
  told.slow();
  told.stays(JobState::kHealthy, 125);
  ASSERT_EQ(told.incident().state, IncidentState::kClosed);
  told.claims("data.loader_slow");
  EXPECT_EQ(told.incident().id, 1);
  EXPECT_EQ(told.incident().state, IncidentState::kClosed);
  EXPECT_EQ(main_cause(told.incident()), "data.loader_slow");
}

TEST(Incident, ADiagnosisAfterTheJobsEndBelongsToTheEndedIncident) {
  Told told;
  told.status(JobState::kHealthy);
  told.slow();
  told.status(JobState::kEnded);
  ASSERT_EQ(told.incident().resolution, Resolution::kEnded);
  told.now_ns += 60 * kSecond;
  told.claims("data.loader_slow");
  EXPECT_EQ(told.incident().id, 1);
  EXPECT_EQ(told.incident().state, IncidentState::kClosed);
  EXPECT_EQ(main_cause(told.incident()), "data.loader_slow");
  // The same name again is another run.
  told.status(JobState::kHealthy);
  told.claims("gpu.clock_low");
  EXPECT_EQ(told.incident().id, 2);
}

TEST(Incident, IsFoundUntilEachHostThatClaimedIsWell) {
  Told told;
  told.status(JobState::kHealthy, "h0");
  told.status(JobState::kHealthy, "h1");
  told.status(JobState::kHealthy, "h2");
  told.claims_of("h0", "gpu.clock_low");
  told.claims_of("h1", "gpu.clock_low", {9});
  const DocumentTold well{"{}", true, {}};
  told.tell(well, "h2");
  told.tell(well, "h0");
  EXPECT_EQ(told.incident().state, IncidentState::kOpen);
  told.claims_of("h0", "gpu.clock_low");
  told.tell(well, "h1");
  EXPECT_EQ(told.incident().state, IncidentState::kOpen);
  told.tell(well, "h0");
  EXPECT_EQ(told.incident().state, IncidentState::kRecovering);
  told.claims_of("h1", "gpu.clock_low");
  EXPECT_EQ(told.incident().state, IncidentState::kOpen);
  told.tell(WatcherLeft{}, "h1");
  told.tell(well, "h0");
  EXPECT_EQ(told.incident().state, IncidentState::kRecovering);
}

TEST(Incident, AHostWhoseClockIsAheadLosesNoMoreThanPassed) {
  Told told;
  told.status(JobState::kHealthy);
  told.tell(TroubleTold{TroubleKind::kBlocked, told.now_ns + 5000 * kSecond, 9, 0, 0}, "h0",
            told.now_ns + 9000 * kSecond);
  EXPECT_EQ(told.incident().detected_unix_ns, told.now_ns);
  EXPECT_EQ(told.incident().lost_gpu_s, 0);
}

RC_GTEST_PROP(IncidentProperty, LosesNoMoreThanItsRanksHadAndNeverGoesBack, ()) {
  Told told;
  double lost = 0;
  double recovered = 0;
  int64_t id = 0;
  const int64_t begin_ns = told.now_ns;
  const int steps = *rc::gen::inRange(1, 60);
  for (int i = 0; i < steps; ++i) {
    told.now_ns += *rc::gen::inRange<int64_t>(0, 200) * kSecond;
    const std::string host = *rc::gen::element<std::string>("h0", "h1", "h2");
    switch (*rc::gen::inRange(0, 7)) {
      case 0:
        told.status(JobState::kHealthy, host);
        break;
      case 1:
        told.status(JobState::kSlow, host);
        break;
      case 2:
        told.slow(*rc::gen::inRange(0, 1000), 100, 0);
        break;
      case 3:
        told.tell(RecoveryTold{7}, host);
        break;
      case 4:
        told.claims("data.loader_slow");
        break;
      case 5:
        told.tell(WatcherLeft{}, host);
        break;
      case 6:
        pass(told.job, told.now_ns, told.policy, told.events);
        break;
    }
    if (!told.job.incident) continue;
    const Incident& now = told.incident();
    if (now.id == id) {
      RC_ASSERT(now.lost_gpu_s >= lost);
      RC_ASSERT(now.recovered_gpu_s >= recovered);
    }
    id = now.id;
    lost = now.lost_gpu_s;
    recovered = now.recovered_gpu_s;
    const double most = static_cast<double>(told.now_ns - begin_ns) * 1e-9 * static_cast<double>(now.ranks);
    RC_ASSERT(now.lost_gpu_s + now.recovered_gpu_s <= most + 1e-6);
    RC_ASSERT((now.state == IncidentState::kClosed) == (now.closed_unix_ns > 0));
    RC_ASSERT((now.state == IncidentState::kClosed) == (now.resolution != Resolution::kNone));
    const Result<Incident> again = parse_incident(text_of(to_json(now)));
    RC_ASSERT(again.ok());
    RC_ASSERT(text_of(to_json(*again)) == text_of(to_json(now)));
  }
}

}  // namespace
}  // namespace eroica
