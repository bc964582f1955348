#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trace/intern_table.h"
#include "trace/raw_event.h"
#include "trace/recent_texts.h"
#include "trace/trace.h"
#include "trace/track_finder.h"

namespace eroica {

/// Interprets raw events, one after the other, and files them in a Trace.
class TraceAssembler {
 public:
  TraceAssembler();
  TraceAssembler(const TraceAssembler&) = delete;
  TraceAssembler& operator=(const TraceAssembler&) = delete;

  enum class Outcome {
    kUsed,      ///< or of a kind that is not wanted
    kUnusable,  ///< no phase, or a timed event without a time
  };
  /// Counts the event's defects, kBadEvent and kRepairedEvent among them.
  Outcome add(const RawEvent& event);

  /// For what stands outside the events: metadata, defects of the document.
  [[nodiscard]] Trace& trace() { return trace_; }

  /// The sorted Trace. The builder is spent.
  Trace finish();

 private:
  /// Ids of one kind. What does not fit 32 bits is kept modulo 2^32, which stays unambiguous near the first.
  struct IdSpace {
    int64_t first_large = -1;
  };
  struct OpenEvents {
    std::vector<Event> begun;
    uint64_t too_deep = 0;
  };
  /// What the events of a device track say about their stream.
  struct StreamClaim {
    int64_t stream = -1;
    bool claimed = false;
    bool contradicted = false;
  };
  struct Text {
    uint32_t id = StringTable::kEmpty;
    bool present = false;
  };

  Outcome interpret(const RawEvent& raw);
  Outcome add_complete(const RawEvent& raw);
  Outcome add_begin(const RawEvent& raw);
  Outcome add_end(const RawEvent& raw);
  Outcome add_counter(const RawEvent& raw);
  void add_name(const RawEvent& raw);

  bool read_start(const RawEvent& raw, int64_t& start_ns);
  int64_t read_duration(const RawEvent& raw);
  int64_t sane_duration(int64_t duration_ns);
  void describe(const RawEvent& raw, Event& event);
  void describe_operator(const RawEvent& raw, Event& event);
  void describe_kernel(const RawEvent& raw, Event& event);
  uint32_t collective_of(const RawEvent& raw);
  void claim_stream(const RawEvent& raw, uint32_t track);
  uint32_t track_of(const RawEvent& raw, bool device);
  void file(const Event& event, uint32_t track);

  uint32_t id_of(const RawEvent& raw, Arg arg, IdSpace& space);
  int64_t integer_of(const RawEvent& raw, Arg arg, int64_t otherwise);
  int32_t small_integer_of(const RawEvent& raw, Arg arg);
  uint32_t text_of(const RawEvent& raw, Arg arg);
  uint32_t json_of(const RawEvent& raw, Arg arg);
  uint32_t call_stack_of(const RawEvent& raw);
  uint32_t intern_name(const RawEvent& raw);
  uint32_t intern_body(std::string_view body, size_t max_bytes, const RawEvent& raw);
  void unescape_to_scratch(std::string_view body, size_t max_bytes);
  void count(Defect defect) { trace_.defects.add(defect); }

  Trace trace_;
  TrackFinder tracks_;
  RecentTexts bodies_{trace_.names};  // without escapes
  RecentTexts json_{trace_.names};    // on one line
  InternTable<OpArgs> op_args_;
  InternTable<Launch> launches_;
  InternTable<CollectiveArgs> collectives_;
  InternTable<uint64_t> bytes_;
  IdSpace external_ids_, correlations_, python_ids_, sequence_numbers_;
  std::vector<StreamClaim> streams_;     // by track
  std::map<uint32_t, OpenEvents> open_;  // by track
  size_t open_count_ = 0;
  boost::unordered_flat_map<uint64_t, uint32_t> call_stacks_;  // hash as written → id of the reversed text
  std::map<std::string, std::string> process_names_;
  std::map<std::pair<std::string, std::string>, std::string> thread_names_;
  boost::unordered_flat_map<std::string, uint32_t> series_;
  std::string scratch_;
  bool repaired_ = false;  // of the event at hand
};

}  // namespace eroica
