#include "trace/trace_assembler.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>

#include "base/saturate.h"
#include "trace/category.h"
#include "trace/json_text.h"

namespace eroica {
namespace {

constexpr size_t kMaxNameBytes = size_t{4} << 10;
constexpr size_t kMaxStackBytes = size_t{16} << 10;
constexpr size_t kMaxOpenEvents = size_t{1} << 16;
constexpr size_t kMaxSeries = size_t{1} << 16;
constexpr size_t kMaxLabels = TrackFinder::kMaxTracks;
// So that the end of any event, and its distance to any other, fits an int64.
constexpr int64_t kMaxTime_ns = (int64_t{1} << 62) - 1;

constexpr uint32_t bit(Arg arg) { return 1U << static_cast<unsigned>(arg); }
constexpr uint32_t kCollectiveArgs = bit(Arg::kCollectiveName) | bit(Arg::kDtype) | bit(Arg::kGroupName) |
                                     bit(Arg::kGroupDesc) | bit(Arg::kGroupRanks) | bit(Arg::kInElements) |
                                     bit(Arg::kOutElements) | bit(Arg::kGroupSize) | bit(Arg::kSrcRank) |
                                     bit(Arg::kDstRank) | bit(Arg::kSeq);
constexpr uint32_t kOperatorArgs =
    bit(Arg::kInputDims) | bit(Arg::kInputTypes) | bit(Arg::kConcreteInputs) | bit(Arg::kCallStack) | kCollectiveArgs;

/// "7" and "stream 7" → 7; −1 when it is no stream.
int64_t stream_of(std::string_view tid) {
  if (tid.starts_with("stream ")) tid.remove_prefix(7);
  int64_t stream = -1;
  const auto [end, error] = std::from_chars(tid.data(), tid.data() + tid.size(), stream);
  return error == std::errc() && end == tid.data() + tid.size() && stream >= 0 ? stream : -1;
}

/// A ';'-separated call stack with its frames in the opposite order.
std::string reverse_frames(std::string_view stack) {
  std::string reversed;
  reversed.reserve(stack.size());
  while (!stack.empty()) {
    const size_t cut = stack.rfind(';');
    const std::string_view frame = cut == std::string_view::npos ? stack : stack.substr(cut + 1);
    if (!frame.empty()) {
      if (!reversed.empty()) reversed.push_back(';');
      reversed.append(frame);
    }
    stack = cut == std::string_view::npos ? std::string_view() : stack.substr(0, cut);
  }
  return reversed;
}

/// Of several names for one thing the first in the alphabet, so that their order in the file does not matter.
template <typename Map, typename Key>
void keep_name(Map& names, Key key, std::string name) {
  if (name.empty() || (names.size() >= kMaxLabels && !names.contains(key))) return;
  const auto [found, added] = names.try_emplace(std::move(key), name);
  if (!added && name < found->second) found->second = std::move(name);
}

}  // namespace

TraceAssembler::TraceAssembler()
    : tracks_(trace_.tracks),
      op_args_(trace_.op_args),
      launches_(trace_.launches),
      collectives_(trace_.collectives),
      bytes_(trace_.bytes) {}

TraceAssembler::Outcome TraceAssembler::add(const RawEvent& event) {
  repaired_ = event.repaired;
  const Outcome outcome = interpret(event);
  if (event.invalid_utf8) count(Defect::kInvalidUtf8);
  if (outcome == Outcome::kUnusable) {
    count(Defect::kBadEvent);
  } else if (repaired_) {
    count(Defect::kRepairedEvent);
  }
  return outcome;
}

TraceAssembler::Outcome TraceAssembler::interpret(const RawEvent& event) {
  const std::string_view phase = without_quotes(event.ph);
  if (phase.size() != 1 || !is_string(event.ph)) return Outcome::kUnusable;
  switch (phase[0]) {
    case 'X':
      return add_complete(event);
    case 'B':
      return add_begin(event);
    case 'E':
      return add_end(event);
    case 'C':
      return add_counter(event);
    case 'M':
      add_name(event);
      return Outcome::kUsed;
    default:  // instants, flows, asynchronous and object events
      return Outcome::kUsed;
  }
}

TraceAssembler::Outcome TraceAssembler::add_complete(const RawEvent& raw) {
  Event event{};
  if (!read_start(raw, event.start_ns)) return Outcome::kUnusable;
  event.duration_ns = read_duration(raw);
  describe(raw, event);
  const uint32_t track = track_of(raw, on_device(event.category));
  if (trace_.tracks[track].device) claim_stream(raw, track);
  file(event, track);
  return Outcome::kUsed;
}

TraceAssembler::Outcome TraceAssembler::add_begin(const RawEvent& raw) {
  Event event{};
  if (!read_start(raw, event.start_ns)) return Outcome::kUnusable;
  describe(raw, event);
  const uint32_t track = track_of(raw, on_device(event.category));
  OpenEvents& open = open_[track];
  if (open_count_ >= kMaxOpenEvents) {
    ++open.too_deep;
    count(Defect::kUnmatchedBegin);
    return Outcome::kUsed;
  }
  open.begun.push_back(event);
  ++open_count_;
  return Outcome::kUsed;
}

TraceAssembler::Outcome TraceAssembler::add_end(const RawEvent& raw) {
  int64_t end_ns = 0;
  if (!read_start(raw, end_ns)) return Outcome::kUnusable;
  // An end mostly says nothing of its category, so the host's events are tried first.
  for (const bool device : {false, true}) {
    const int64_t track = tracks_.find_existing(raw.pid, raw.tid, device);
    const auto found = track < 0 ? open_.end() : open_.find(static_cast<uint32_t>(track));
    if (found == open_.end()) continue;
    OpenEvents& open = found->second;
    if (open.too_deep > 0) {
      --open.too_deep;
      break;
    }
    if (open.begun.empty()) continue;
    Event event = open.begun.back();
    open.begun.pop_back();
    --open_count_;
    event.duration_ns = sane_duration(end_ns - event.start_ns);
    if (trace_.tracks[found->first].device) claim_stream(raw, found->first);
    file(event, found->first);
    return Outcome::kUsed;
  }
  count(Defect::kUnmatchedEnd);
  return Outcome::kUsed;
}

TraceAssembler::Outcome TraceAssembler::add_counter(const RawEvent& raw) {
  int64_t time_ns = 0;
  if (!read_start(raw, time_ns)) return Outcome::kUnusable;
  const std::string entity = plain_id(raw.pid);
  const std::string metric = plain_id(raw.name);
  for_each_member(raw.args_object, [&](std::string_view key, std::string_view token) {
    Sample sample{time_ns, 0};
    if (!parse_double(token, sample.value)) {
      count(Defect::kBadField);
      return;
    }
    std::string unit;
    unescape(key, kMaxNameBytes, unit);
    scratch_ = entity + '\n' + metric + '\n' + unit;
    auto found = series_.find(scratch_);
    if (found == series_.end()) {
      if (series_.size() >= kMaxSeries) {
        count(Defect::kTrackOverflow);
        return;
      }
      found = series_.emplace(scratch_, static_cast<uint32_t>(series_.size())).first;
      trace_.samples.series.push_back({entity, metric, unit, {}});
    }
    trace_.samples.series[found->second].samples.push_back(sample);
  });
  return Outcome::kUsed;
}

void TraceAssembler::add_name(const RawEvent& raw) {
  const std::string_view what = without_quotes(raw.name);
  if (what != "process_name" && what != "thread_name") return;
  std::string name;
  unescape(without_quotes(raw.arg(Arg::kName)), kMaxNameBytes, name);
  if (what == "process_name") {
    keep_name(process_names_, plain_id(raw.pid), std::move(name));
  } else {
    keep_name(thread_names_, std::pair(plain_id(raw.pid), plain_id(raw.tid)), std::move(name));
  }
}

bool TraceAssembler::read_start(const RawEvent& raw, int64_t& start_ns) {
  NumberStatus status = parse_us_as_ns(raw.ts, start_ns);
  if (status == NumberStatus::kOk && (start_ns > kMaxTime_ns || start_ns < -kMaxTime_ns)) {
    status = NumberStatus::kTooLarge;
  }
  if (status == NumberStatus::kOk) return true;
  if (raw.ts.empty()) {
    count(Defect::kMissingField);
  } else {
    count(status == NumberStatus::kTooLarge ? Defect::kHugeValue : Defect::kBadField);
  }
  return false;
}

int64_t TraceAssembler::read_duration(const RawEvent& raw) {
  int64_t duration_ns = 0;
  switch (parse_us_as_ns(raw.dur, duration_ns)) {
    case NumberStatus::kOk:
      return sane_duration(duration_ns);
    case NumberStatus::kTooLarge:
      count(Defect::kHugeValue);
      return without_quotes(raw.dur).starts_with('-') ? 0 : kMaxTime_ns;
    case NumberStatus::kNotANumber:
      break;
  }
  count(raw.dur.empty() ? Defect::kMissingField : Defect::kBadField);
  return 0;
}

int64_t TraceAssembler::sane_duration(int64_t duration_ns) {
  if (duration_ns < 0) {
    count(Defect::kNegativeDuration);
    return 0;
  }
  if (duration_ns > kMaxTime_ns) {
    count(Defect::kHugeValue);
    return kMaxTime_ns;
  }
  return duration_ns;
}

void TraceAssembler::describe(const RawEvent& raw, Event& event) {
  event.category = category_of(without_quotes(raw.cat));
  event.name = intern_name(raw);
  event.id = Event::kNoId;
  event.link = Event::kNoId;
  const std::string_view finished = raw.arg(Arg::kFinished);
  if (without_quotes(finished) == "false") event.flags |= Event::kUnfinished;
  switch (event.category) {
    case Category::kOperator:
    case Category::kAnnotation:
      event.id = id_of(raw, Arg::kExternalId, external_ids_);
      event.link = id_of(raw, Arg::kSequenceNumber, sequence_numbers_);
      describe_operator(raw, event);
      break;
    case Category::kPython:
      event.id = id_of(raw, Arg::kPythonId, python_ids_);
      event.link = id_of(raw, Arg::kPythonParentId, python_ids_);
      break;
    case Category::kGpuAnnotation:
      event.id = id_of(raw, Arg::kExternalId, external_ids_);
      event.link = event.id;
      break;
    default:
      event.id = id_of(raw, Arg::kCorrelation, correlations_);
      event.link = id_of(raw, Arg::kExternalId, external_ids_);
      break;
  }
  if (event.category == Category::kKernel) describe_kernel(raw, event);
  if ((event.category == Category::kMemcpy || event.category == Category::kMemset) && raw.has(Arg::kBytes)) {
    event.detail = bytes_.intern(static_cast<uint64_t>(std::max<int64_t>(integer_of(raw, Arg::kBytes, 0), 0)));
  }
}

void TraceAssembler::describe_operator(const RawEvent& raw, Event& event) {
  if ((raw.args_present & kOperatorArgs) == 0) return;
  OpArgs args;
  args.input_dims = json_of(raw, Arg::kInputDims);
  args.input_types = json_of(raw, Arg::kInputTypes);
  if (without_quotes(raw.name).starts_with("c10d::")) {
    args.concrete_inputs = json_of(raw, Arg::kConcreteInputs);
  }
  args.call_stack = call_stack_of(raw);
  args.collective = collective_of(raw);
  event.detail = op_args_.intern(args);
}

void TraceAssembler::describe_kernel(const RawEvent& raw, Event& event) {
  Launch launch;
  launch.grid = json_of(raw, Arg::kGrid);
  launch.block = json_of(raw, Arg::kBlock);
  launch.graph = integer_of(raw, Arg::kGraphId, 0);
  launch.graph_node = integer_of(raw, Arg::kGraphNodeId, 0);
  launch.collective = collective_of(raw);
  if (launch.graph != 0 || launch.graph_node != 0) event.flags |= Event::kGraph;
  event.detail = launches_.intern(launch);
}

uint32_t TraceAssembler::collective_of(const RawEvent& raw) {
  if ((raw.args_present & kCollectiveArgs) == 0) return 0;
  CollectiveArgs args;
  args.kind = text_of(raw, Arg::kCollectiveName);
  args.dtype = text_of(raw, Arg::kDtype);
  args.group_name = text_of(raw, Arg::kGroupName);
  args.group_desc = text_of(raw, Arg::kGroupDesc);
  args.group_ranks = text_of(raw, Arg::kGroupRanks);
  args.in_elements = integer_of(raw, Arg::kInElements, -1);
  args.out_elements = integer_of(raw, Arg::kOutElements, -1);
  args.group_size = small_integer_of(raw, Arg::kGroupSize);
  args.src_rank = small_integer_of(raw, Arg::kSrcRank);
  args.dst_rank = small_integer_of(raw, Arg::kDstRank);
  args.sequence = integer_of(raw, Arg::kSeq, -1);
  return collectives_.intern(args);
}

void TraceAssembler::claim_stream(const RawEvent& raw, uint32_t track) {
  if (!raw.has(Arg::kStream)) return;
  if (streams_.size() <= track) streams_.resize(trace_.tracks.size());
  StreamClaim& claim = streams_[track];
  const std::string_view token = raw.arg(Arg::kStream);
  int64_t stream = -1;
  if (parse_integer(token, stream) != NumberStatus::kOk) return;
  claim.contradicted |= claim.claimed && claim.stream != stream;
  claim.stream = stream;
  claim.claimed = true;
}

uint32_t TraceAssembler::track_of(const RawEvent& raw, bool device) {
  const auto is_id = [](std::string_view token) { return token.empty() || (token[0] != '[' && token[0] != '{'); };
  if (!is_id(raw.pid) || !is_id(raw.tid)) count(Defect::kBadField);
  const auto [track, overflow] = tracks_.find(is_id(raw.pid) ? raw.pid : std::string_view(),
                                              is_id(raw.tid) ? raw.tid : std::string_view(), device);
  if (overflow) count(Defect::kTrackOverflow);
  return track;
}

void TraceAssembler::file(const Event& event, uint32_t track) {
  trace_.tracks[track].events.push_back(event);
  const auto category = static_cast<size_t>(event.category);
  ++trace_.timed_events;
  ++trace_.category_count[category];
  trace_.category_ns[category] = saturating_add(trace_.category_ns[category], event.duration_ns);
}

uint32_t TraceAssembler::id_of(const RawEvent& raw, Arg arg, IdSpace& space) {
  if (!raw.has(arg)) return Event::kNoId;
  int64_t id = 0;
  const std::string_view token = raw.arg(arg);
  const NumberStatus status = parse_integer(token, id);
  if (status != NumberStatus::kOk) {
    if (token != "null") count(status == NumberStatus::kTooLarge ? Defect::kIdOutOfRange : Defect::kBadField);
    return Event::kNoId;
  }
  if (id >= 0 && id < Event::kNoId) return static_cast<uint32_t>(id);
  if (id == -1) return Event::kNoId;  // how some versions say "none"
  if (id > 0) {
    if (space.first_large < 0) space.first_large = id;
    const int64_t distance = id - space.first_large;
    const auto low = static_cast<uint32_t>(id);
    if (distance > -(int64_t{1} << 31) && distance < (int64_t{1} << 31) && low != Event::kNoId) return low;
  }
  count(Defect::kIdOutOfRange);
  return Event::kNoId;
}

int64_t TraceAssembler::integer_of(const RawEvent& raw, Arg arg, int64_t otherwise) {
  if (!raw.has(arg)) return otherwise;
  int64_t value = 0;
  if (parse_integer(raw.arg(arg), value) == NumberStatus::kOk) return value;
  if (raw.arg(arg) != "null") count(Defect::kBadField);
  return otherwise;
}

int32_t TraceAssembler::small_integer_of(const RawEvent& raw, Arg arg) {
  const int64_t value = integer_of(raw, arg, -1);
  if (value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max()) {
    return static_cast<int32_t>(value);
  }
  count(Defect::kBadField);
  return -1;
}

uint32_t TraceAssembler::text_of(const RawEvent& raw, Arg arg) {
  return raw.has(arg) ? intern_body(without_quotes(raw.arg(arg)), kMaxNameBytes, raw) : StringTable::kEmpty;
}

uint32_t TraceAssembler::json_of(const RawEvent& raw, Arg arg) {
  if (!raw.has(arg)) return StringTable::kEmpty;
  std::string_view token = raw.arg(arg);
  uint32_t id = StringTable::kEmpty;
  if (!raw.invalid_utf8 && json_.find(token, id)) return id;
  std::string compact;
  if (std::memchr(token.data(), '\n', token.size()) != nullptr) {
    compact = compact_json(token);
    token = compact;
  }
  if (token.size() <= kMaxNameBytes && !raw.invalid_utf8) return json_.intern(token);
  scratch_.clear();
  // Backslashes are part of raw JSON text: only the length and the encoding are looked after here.
  for (size_t at = 0; at < token.size();) {
    const size_t slash = std::min(token.find('\\', at), token.size());
    if (unescape(token.substr(at, slash - at), kMaxNameBytes - std::min(kMaxNameBytes, scratch_.size()), scratch_)
            .cut) {
      count(Defect::kLongString);
      break;
    }
    if (slash < token.size()) scratch_.push_back('\\');
    at = slash + 1;
  }
  return trace_.names.intern(scratch_);
}

uint32_t TraceAssembler::call_stack_of(const RawEvent& raw) {
  const std::string_view body = without_quotes(raw.arg(Arg::kCallStack));
  if (body.empty()) return StringTable::kEmpty;
  const uint64_t hash = StringTable::hash(body);
  if (const auto known = call_stacks_.find(hash); known != call_stacks_.end()) return known->second;
  unescape_to_scratch(body, kMaxStackBytes);
  const uint32_t id = trace_.names.intern(reverse_frames(scratch_));
  if (id != StringTable::kOverflow) call_stacks_.emplace(hash, id);
  return id;
}

uint32_t TraceAssembler::intern_name(const RawEvent& raw) {
  if (is_string(raw.name)) return intern_body(without_quotes(raw.name), kMaxNameBytes, raw);
  count(raw.name.empty() ? Defect::kMissingField : Defect::kBadField);
  return StringTable::kEmpty;
}

uint32_t TraceAssembler::intern_body(std::string_view body, size_t max_bytes, const RawEvent& raw) {
  uint32_t id = StringTable::kEmpty;
  if (!raw.invalid_utf8 && bodies_.find(body, id)) return id;
  const bool plain = body.empty() || std::memchr(body.data(), '\\', body.size()) == nullptr;
  if (plain && body.size() <= max_bytes && !raw.invalid_utf8) return bodies_.intern(body);
  unescape_to_scratch(body, max_bytes);
  return trace_.names.intern(scratch_);
}

void TraceAssembler::unescape_to_scratch(std::string_view body, size_t max_bytes) {
  scratch_.clear();
  const Unescaped result = unescape(body, max_bytes, scratch_);
  if (result.cut) count(Defect::kLongString);
  repaired_ |= result.repaired;
}

Trace TraceAssembler::finish() {
  for (const auto& [track, open] : open_) trace_.defects.add(Defect::kUnmatchedBegin, open.begun.size());
  streams_.resize(trace_.tracks.size());
  for (size_t i = 0; i < trace_.tracks.size(); ++i) {
    Track& track = trace_.tracks[i];
    if (track.device) {
      const StreamClaim& claim = streams_[i];
      track.stream = claim.claimed && !claim.contradicted ? std::max<int64_t>(claim.stream, -1) : stream_of(track.tid);
    }
    if (const auto name = process_names_.find(track.pid); name != process_names_.end()) {
      track.process_name = name->second;
    }
    if (const auto name = thread_names_.find({track.pid, track.tid}); name != thread_names_.end()) {
      track.thread_name = name->second;
    }
  }
  std::erase_if(trace_.tracks, [](const Track& track) { return track.events.empty(); });
  trace_.samples.base_unix_ns = trace_.base_unix_ns;
  trace_.defects.add(Defect::kStringOverflow, trace_.names.overflows() + op_args_.overflows() + launches_.overflows() +
                                                  collectives_.overflows() + bytes_.overflows());
  trace_.sort();
  return std::move(trace_);
}

}  // namespace eroica
