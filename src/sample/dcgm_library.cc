#include "sample/dcgm_library.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "base/clocks.h"
#include "sample/dcgm_abi.h"

namespace eroica {
namespace {

using dcgm::FieldValue;
using dcgm::Handle;
using dcgm::kNoFunction;
using dcgm::kSuccess;
using dcgm::Status;

constexpr const char* kEngine = "127.0.0.1";
constexpr long long kEveryUs = 100'000;
constexpr int64_t kFetchNs = 50'000'000;
constexpr int64_t kReconnectNs = 500'000'000;
constexpr const char* kNoEngine = "no DCGM engine runs here";
constexpr double kKeepS = 10;
constexpr int kKeepSamples = 2;
constexpr size_t kMostGpus = 64;

struct Wanted {
  unsigned short field;
  GpuSignal signal;
  double most;  ///< what is above stands for "not told"
};
constexpr std::array<Wanted, 4> kWanted = {{
    {dcgm::kSmActive, GpuSignal::kSmActive, 1.5},
    {dcgm::kTensorActive, GpuSignal::kTensorActive, 1.5},
    {dcgm::kDramActive, GpuSignal::kDramActive, 1.5},
    {dcgm::kNvlinkSent, GpuSignal::kNvlinkTransmit, 1e14},
}};

struct Functions {
  template <typename Signature>
  using Function = VendorFunction<Signature>;

  Functions(const VendorLibrary& from, CallWatch& watch)
      : init(from, watch, {"dcgmInit"}),
        connect(from, watch, {"dcgmConnect"}),
        disconnect(from, watch, {"dcgmDisconnect"}),
        create_fields(from, watch, {"dcgmFieldGroupCreate"}),
        destroy_fields(from, watch, {"dcgmFieldGroupDestroy"}),
        watch_fields(from, watch, {"dcgmWatchFields"}),
        unwatch_fields(from, watch, {"dcgmUnwatchFields"}),
        update(from, watch, {"dcgmUpdateAllFields"}),
        latest(from, watch, {"dcgmGetLatestValues"}) {}

  Function<Status()> init;
  Function<Status(const char*, Handle*)> connect;
  Function<Status(Handle)> disconnect;
  Function<Status(Handle, int, const unsigned short*, const char*, Handle*)> create_fields;
  Function<Status(Handle, Handle)> destroy_fields;
  Function<Status(Handle, Handle, Handle, long long, double, int)> watch_fields;
  Function<Status(Handle, Handle, Handle)> unwatch_fields;
  Function<Status(Handle, int)> update;
  Function<Status(Handle, Handle, Handle, dcgm::TakeValues, void*)> latest;
};

class Dcgm : public GpuLibrary {
 public:
  Dcgm(CallWatch& watch, std::string path) : watch_(watch), path_(std::move(path)) {}

  [[nodiscard]] std::string_view name() const override { return "use of NVIDIA GPUs by DCGM"; }

  std::vector<GpuIdentity> start(std::string& problem) override {
    watch_.begin("dlopen");
    const VendorLibrary library =
        path_.empty() ? VendorLibrary({"libdcgm.so.4", "libdcgm.so.3", "libdcgm.so"}) : VendorLibrary(path_);
    watch_.end();
    if (!library.loaded()) {
      problem = "libdcgm.so is not found";
      return {};
    }
    functions_.emplace(library, watch_);
    if (functions_->init.call(kNoFunction) != kSuccess || !connect()) {
      problem = kNoEngine;
      return {};
    }
    numbers_ = numbers(problem);
    std::vector<GpuIdentity> found;
    for (const auto& [bus, number] : numbers_) {
      if (found.size() == kMostGpus) break;
      found.push_back({.index = static_cast<int32_t>(number), .uuid = "", .bus_id = bus, .model = ""});
      buses_.push_back(bus);
    }
    told_us_.resize(found.size());
    return found;
  }

  void read(GpuPace pace, GpuReading& into) override {
    if (pace != GpuPace::kFast) return;
    const int64_t now = monotonic_ns();
    if (!is_connected_ && now - tried_ns_ > kReconnectNs) reconnect(now);
    if (is_connected_ && !is_watched_ && problem_.empty()) {
      std::array<unsigned short, kWanted.size()> ids{};
      std::ranges::transform(kWanted, ids.begin(), &Wanted::field);
      is_watched_ = begin(ids, "use", kEveryUs, fields_, problem_);
    }
    if (is_watched_ && now - fetched_ns_ > kFetchNs) {
      values_.clear();
      fetched_ns_ = now;
      if (functions_->latest.call(kNoFunction, engine_, dcgm::kAllGpus, fields_, gather, &values_) != kSuccess) {
        disconnect();
      }
    }
    into.problem = is_connected_ ? problem_ : "the DCGM engine went away";
    if (is_watched_) tell(into, now);
  }

  void rest() override {
    if (is_watched_) end(fields_);
    is_watched_ = false;
    problem_.clear();
    values_.clear();
  }

 private:
  using Values = std::map<unsigned, std::map<unsigned short, FieldValue>>;  // by GPU and field

  static int gather(unsigned gpu, FieldValue* values, int count, void* user) {
    auto& into = *static_cast<Values*>(user);
    for (int i = 0; i < count; ++i) {
      if (values[i].status == kSuccess) into[gpu][values[i].field] = values[i];
    }
    return 0;
  }

  bool connect() {
    is_connected_ = functions_->connect.call(kNoFunction, kEngine, &engine_) == kSuccess;
    return is_connected_;
  }

  /// The engine has forgotten what it was told, or does not answer.
  void disconnect() {
    if (is_connected_) functions_->disconnect.call(kNoFunction, engine_);
    is_connected_ = is_watched_ = false;
    values_.clear();
  }

  /// One that was started again may number GPUs in another way.
  void reconnect(int64_t now) {
    tried_ns_ = now;
    if (!connect()) return;
    problem_.clear();
    numbers_ = numbers(problem_);
    if (numbers_.empty()) disconnect();
  }

  /// The engine's numbers of GPUs, by bus.
  std::map<std::string, unsigned> numbers(std::string& problem) const {
    const std::array<unsigned short, 1> bus = {dcgm::kBusId};
    Handle fields = 0;
    Values values;
    std::map<std::string, unsigned> found;
    if (!begin(bus, "bus", 1'000'000, fields, problem)) return found;
    functions_->latest.call(kNoFunction, engine_, dcgm::kAllGpus, fields, gather, &values);
    end(fields);
    for (const auto& [gpu, told] : values) {
      const auto one = told.find(dcgm::kBusId);
      if (one == told.end() || one->second.type != 's') continue;
      const auto& text = one->second.value.text;
      found.emplace(std::string(text.begin(), std::find(text.begin(), text.begin() + 32, '\0')), gpu);
    }
    return found;
  }

  /// Has the engine watch these fields.
  bool begin(std::span<const unsigned short> ids, std::string_view what, long long every_us, Handle& fields,
             std::string& problem) const {
    const std::string group = fmt::format("eroica {} {}", what, getpid());  // other agents have groups as well
    const auto failed = [&](std::string_view function, Status status) {
      if (status != kSuccess) problem = fmt::format("{} gives {}", function, status);
      return status != kSuccess;
    };
    if (failed("dcgmFieldGroupCreate",
               functions_->create_fields.call(kNoFunction, engine_, static_cast<int>(ids.size()), ids.data(),
                                              group.c_str(), &fields))) {
      return false;
    }
    if (failed("dcgmWatchFields", functions_->watch_fields.call(kNoFunction, engine_, dcgm::kAllGpus, fields, every_us,
                                                                kKeepS, kKeepSamples))) {
      functions_->destroy_fields.call(kNoFunction, engine_, fields);
      return false;
    }
    functions_->update.call(kNoFunction, engine_, 1);
    return true;
  }

  void end(Handle fields) const {
    functions_->unwatch_fields.call(kNoFunction, engine_, dcgm::kAllGpus, fields);
    functions_->destroy_fields.call(kNoFunction, engine_, fields);
  }

  void tell(GpuReading& into, int64_t now) {
    const auto number = numbers_.find(buses_.at(into.gpu));
    const auto found = number == numbers_.end() ? values_.end() : values_.find(number->second);
    if (found == values_.end()) return;
    const int64_t unix_now = unix_ns();
    int64_t newest_us = told_us_.at(into.gpu);
    for (const Wanted& wanted : kWanted) {
      const auto field = found->second.find(wanted.field);
      if (field == found->second.end() || field->second.unix_us <= told_us_.at(into.gpu)) continue;
      const FieldValue& told = field->second;
      const double value = told.type == 'd' ? told.value.real : static_cast<double>(told.value.integer);
      if (!(value >= 0 && value <= wanted.most)) continue;
      newest_us = std::max(newest_us, told.unix_us);
      const int64_t age_ns = std::max<int64_t>(0, unix_now - told.unix_us * 1000);
      into.points.push_back({wanted.signal, now - age_ns, value});
    }
    told_us_[into.gpu] = newest_us;
  }

  CallWatch& watch_;
  std::string path_;
  std::optional<Functions> functions_;
  Handle engine_ = 0;
  Handle fields_ = 0;
  bool is_watched_ = false;
  std::string problem_;
  bool is_connected_ = false;
  int64_t tried_ns_ = 0;                     // to connect anew
  std::vector<std::string> buses_;           // of each GPU
  std::map<std::string, unsigned> numbers_;  // the engine's, by bus
  std::vector<int64_t> told_us_;             // until when each was told
  Values values_;
  int64_t fetched_ns_ = 0;
};

}  // namespace

std::unique_ptr<GpuLibrary> dcgm_library(CallWatch& watch, std::string path) {
  return std::make_unique<Dcgm>(watch, std::move(path));
}

}  // namespace eroica
