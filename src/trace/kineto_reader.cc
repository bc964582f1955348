#include "trace/kineto_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string>

#include "base/hash.h"
#include "trace/event_extent.h"
#include "trace/input_window.h"
#include "trace/json_index.h"
#include "trace/json_text.h"
#include "trace/lenient_event.h"
#include "trace/metadata.h"
#include "trace/raw_event.h"
#include "trace/trace_assembler.h"

namespace eroica {
namespace {

constexpr size_t kMaxBlockBytes = size_t{4} << 20;  // less than kMaxEventBytes: see read_block()
constexpr size_t kMaxMetadataBytes = size_t{64} << 20;
constexpr size_t kMaxKeyBytes = size_t{4} << 10;
constexpr size_t kMaxKeys = size_t{64} << 10;
constexpr size_t kMaxHeaderSearch = size_t{64} << 20;
constexpr size_t kStep = size_t{64} << 10;
constexpr std::string_view kEventsKey = "traceEvents";
constexpr size_t kEventsLookahead = 100;

/// Where a block can be cut: the comma of the last `} , {` in `text`; 0 when there is none.
size_t last_boundary(std::string_view text) {
  for (size_t brace = text.rfind('{'); brace != std::string_view::npos && brace > 0;
       brace = text.rfind('{', brace - 1)) {
    size_t at = brace - 1;
    while (at > 0 && is_space(text[at])) --at;
    if (text[at] != ',') continue;
    const size_t comma = at;
    while (at > 0 && is_space(text[at - 1])) --at;
    if (at > 0 && text[at - 1] == '}') return comma;
  }
  return 0;
}

/// Whether `text` begins with `"traceEvents" : [`.
bool begins_events(std::string_view text) {
  if (!text.substr(1).starts_with(kEventsKey) || !text.starts_with('"')) return false;
  text = text.substr(1 + kEventsKey.size());
  if (!text.starts_with('"')) return false;
  text = trim(text.substr(1));
  return text.starts_with(':') && trim(text.substr(1)).starts_with('[');
}

/// Bytes as a message can show them.
std::string shown(std::string_view bytes) {
  std::string out;
  for (const char c : bytes.substr(0, 12)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte >= 0x20 && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
  }
  return out;
}

/// What a file is that is no JSON, as far as it can be told.
std::string_view guess_format(std::string_view bytes) {
  using namespace std::string_view_literals;
  if (bytes.starts_with("PK\x03\x04")) return "a zip archive: unpack it first";
  if (bytes.starts_with("\xfd"
                        "7zXZ"sv))
    return "xz data: decompress it first (gzip, zstd and plain files are read)";
  if (bytes.starts_with("BZh")) return "bzip2 data: decompress it first (gzip, zstd and plain files are read)";
  if (bytes.starts_with("\x04\x22\x4d\x18"sv))
    return "lz4 data: decompress it first (gzip, zstd and plain files are read)";
  if (bytes.starts_with("\x1f\x8b")) return "gzip data inside compressed data: decompress it once more";
  if (bytes.starts_with("SQLite format 3")) return "an SQLite database, not a JSON trace";
  return "a trace is a JSON object with \"traceEvents\", or a JSON array of events";
}

class Reader {
 public:
  Reader(DecompressedSource& source, const ReadOptions& options)
      : source_(source),
        options_(options),
        block_bytes_(std::clamp<size_t>(options.block_bytes, 1, kMaxBlockBytes)),
        window_(source, block_bytes_) {}

  Result<Trace> read() {
    std::optional<Error> failure = read_document();
    if (window_.error().has_value()) return *window_.error();
    if (failure.has_value()) return std::move(*failure);
    if (!events_seen_ || (bare_array_ && bad_elements_ > 0 && good_elements_ == 0)) {
      return no_events();
    }
    Trace& trace = assembler_.trace();
    trace.text_bytes = window_.total();
    if (source_.end().damaged) {
      trace.defects.add(Defect::kBadCompression);
    } else if (cut_off_ || source_.end().truncated) {
      trace.defects.add(Defect::kTruncated);
    }
    return assembler_.finish();
  }

 private:
  // ---- the document around the events

  std::optional<Error> read_document() {
    window_.fill(3);
    if (std::string_view(window_.data(), window_.size()).starts_with("\xef\xbb\xbf")) window_.consume(3);
    skip_space();
    if (window_.empty()) {
      const std::string_view compressed = source_.end().what;
      return Error{Error::Kind::kNotATrace,
                   compressed.empty()
                       ? fmt::format("holds no data ({} bytes): was it written to the end?", window_.total())
                       : fmt::format("holds no data: {}", compressed)};
    }
    const char first = *window_.data();
    if (first == '[') {
      window_.consume(1);
      bare_array_ = true;
      read_events();
      // An array that goes on behind its end was hit by a stray bracket.
      while (!cut_off_ && std::strchr(",{}", next_visible(window_, 0)) != nullptr && !window_.empty()) {
        bad_element();
        if (!skip_to_next_event(window_)) break;
        read_events();
      }
      if (!cut_off_) note_trailing_data();
      return std::nullopt;
    }
    if (first == '{') {
      window_.consume(1);
      read_members();
      return std::nullopt;
    }
    window_.fill(16);
    const std::string_view front(window_.data(), window_.size());
    Error error{Error::Kind::kNotATrace, fmt::format("is not JSON: it starts with '{}' at byte {}; {}", shown(front),
                                                     window_.offset(), guess_format(front))};
    // The beginning may be damaged only.
    if (!find_events_key(kMaxHeaderSearch)) return error;
    count(Defect::kBadField);
    read_events();
    read_members();
    return std::nullopt;
  }

  /// The members of the document's object, from behind its brace or from behind a value.
  void read_members() {
    while (true) {
      skip_space();
      if (window_.empty()) {
        cut_off_ = true;
        return;
      }
      const char c = *window_.data();
      if (c == ',') {
        window_.consume(1);
      } else if (c == '"') {
        if (!read_member()) return;
      } else if (c == '}' && closes_document()) {
        note_trailing_data();
        return;
      } else if (c == '}') {
        window_.consume(1);  // of an object that held traceEvents further in
      } else if (!recover()) {
        return;
      }
    }
  }

  /// Whether the brace at the front is the document's last: no comma follows.
  bool closes_document() {
    if (next_visible(window_, 1) == ',') return false;
    window_.consume(1);
    return true;
  }

  /// False when the stream has ended.
  bool read_member() {
    std::string key;
    if (!take_string(&key, kMaxKeyBytes)) return recover();
    skip_space();
    if (window_.empty() || *window_.data() != ':') return recover();
    window_.consume(1);
    skip_space();
    if (window_.empty()) {
      cut_off_ = true;
      return false;
    }
    if (keys_.size() < kMaxKeys && !keys_.insert(hash_bytes(key)).second) count(Defect::kDuplicateKey);
    if (key == kEventsKey && *window_.data() == '[') {
      window_.consume(1);
      read_events();
      return !cut_off_;
    }
    std::string value;
    const bool wanted = is_known_metadata(key);
    if (!take_value(wanted ? &value : nullptr)) return !cut_off_;
    if (wanted && !read_metadata(key, value, assembler_.trace())) count(Defect::kBadField);
    return true;
  }

  /// The text is damaged: goes on at the array of events, or where there was one, at what looks like more events.
  /// False when there is none.
  bool recover() {
    if (!in_recovery_) count(Defect::kBadField);
    in_recovery_ = true;
    const bool found = events_seen_ ? skip_to_next_event(window_) : find_events_key(SIZE_MAX);
    if (!found) {
      cut_off_ = true;
      return false;
    }
    read_events();
    return !cut_off_;
  }

  /// Drops everything up to and including `"traceEvents" : [`.
  bool find_events_key(size_t limit) {
    const uint64_t end = limit == SIZE_MAX ? UINT64_MAX : window_.offset() + limit;
    while (window_.offset() < end) {
      window_.fill(2 * kStep);
      const std::string_view text(window_.data(), window_.size());
      const size_t found = text.find('"' + std::string(kEventsKey) + '"');
      if (found == std::string_view::npos) {
        if (window_.ended()) return false;
        window_.consume(window_.size() - kEventsKey.size() - 2);
        continue;
      }
      window_.consume(found + kEventsKey.size() + 2);
      if (next_visible(window_, 0) != ':') continue;
      skip_space();
      window_.consume(1);
      if (next_visible(window_, 0) != '[') continue;
      skip_space();
      window_.consume(1);
      return true;
    }
    return false;
  }

  /// Reads to the end of the stream all the same: its size and how the compressed stream ends are wanted.
  void note_trailing_data() {
    skip_space();
    if (!window_.empty()) count(Defect::kTrailingData);
    while (!window_.empty()) {
      window_.consume(window_.size());
      window_.fill(1);
    }
  }

  void skip_space() {
    while (true) {
      size_t at = 0;
      while (at < window_.size() && is_space(window_.data()[at])) ++at;
      window_.consume(at);
      if (!window_.empty() || window_.ended()) return;
      window_.fill(kStep);
    }
  }

  /// Takes a string with its quotes from the front, its body into `body` if wanted and not too long.
  bool take_string(std::string* body, size_t max_bytes) {
    bool escaped = true;  // so that the first quote does not end it
    while (true) {
      if (window_.empty()) window_.fill(kStep);
      if (window_.empty()) {
        cut_off_ = true;
        return false;
      }
      const std::string_view text(window_.data(), window_.size());
      for (size_t at = 0; at < text.size(); ++at) {
        if (escaped) {
          escaped = false;
        } else if (text[at] == '\\') {
          escaped = true;
        } else if (text[at] == '"') {
          append(body, text.substr(0, at + 1), max_bytes);
          window_.consume(at + 1);
          if (body != nullptr && is_string(*body)) *body = std::string(without_quotes(*body));
          return true;
        }
      }
      append(body, text, max_bytes);
      window_.consume(text.size());
    }
  }

  static void append(std::string* out, std::string_view text, size_t max_bytes) {
    if (out != nullptr && out->size() < max_bytes) out->append(text.substr(0, max_bytes - out->size()));
  }

  /// Takes a value of any kind and size from the front. False: the stream has ended, or the value was damaged and
  /// the events were found inside it and read.
  bool take_value(std::string* out) {
    size_t depth = 0;
    bool in_string = false;
    while (true) {
      // A quote is judged with what follows it, so that much must be there.
      window_.fill(kStep);
      const std::string_view text(window_.data(), window_.size());
      const size_t stop = window_.ended() ? text.size() : text.size() - kEventsLookahead;
      if (text.empty()) {
        cut_off_ = true;
        return false;
      }
      size_t at = 0;
      for (; at < stop; ++at) {
        const char c = text[at];
        if (c == '"' && begins_events(text.substr(at, kEventsLookahead))) {
          // Inside another value? More likely a bracket or a quote is missing.
          window_.consume(at);
          recover();
          return false;
        }
        if (in_string) {
          if (c == '\\') ++at;
          if (c == '"') in_string = false;
          if (c == '"' && depth == 0) break;
        } else if (c == '"') {
          in_string = true;
        } else if (c == '{' || c == '[') {
          ++depth;
        } else if (c == '}' || c == ']' || c == ',') {
          if (depth == 0) {
            append(out, text.substr(0, at), kMaxMetadataBytes);
            window_.consume(at);
            return true;
          }
          if (c != ',' && --depth == 0) break;
        }
      }
      const bool done = at < stop;
      const size_t taken = std::min(done ? at + 1 : at, text.size());
      append(out, text.substr(0, taken), kMaxMetadataBytes);
      window_.consume(taken);
      if (done) return true;
    }
  }

  // ---- the events

  /// Reads array elements up to and including the bracket behind them; sets cut_off_ when the stream ends first.
  void read_events() {
    events_seen_ = true;
    while (true) {
      skip_separators();
      if (window_.empty()) {
        cut_off_ = true;
        return;
      }
      if (*window_.data() == ']') {
        window_.consume(1);
        return;
      }
      if (*window_.data() != '{' || !read_block()) {
        if (!read_element()) return;
      }
    }
  }

  void skip_separators() {
    skip_space();
    while (!window_.empty() && *window_.data() == ',') {
      window_.consume(1);
      skip_space();
    }
  }

  /// Reads as many whole, valid events as one block holds. False: the first element needs read_element().
  ///
  /// That a block's last event is valid and followed by a comma shows that the cut behind it was a true one, since
  /// a JSON text means the same whatever follows. Whatever is accepted here is what read_element() would have made
  /// of it, so where blocks are cut does not show in the result.
  bool read_block() {
    if (!resume_block() && !start_block()) return false;
    JsonTokens tokens = block_index_.tokens();
    tokens.text = window_.data() - (window_.offset() - block_begin_);  // fill() may have moved the bytes
    const uint64_t begin = window_.offset();
    uint64_t end = begin;
    for (uint32_t at = block_token_; at < tokens.count && tokens.at(at) == '{';) {
      if (!read_event(tokens, Nesting::kFlatArgs, at, event_)) break;
      const bool more = at < tokens.count;
      if (more && tokens.at(at) != ',' && tokens.at(at) != ']') break;
      block_token_ = at + 1;
      end = more ? block_begin_ + tokens.position[at] : block_end_;
      file();
      if (more && tokens.at(at) == ']') break;
      ++at;
    }
    window_.consume(end - begin);
    // A stray quote turns the rest of a block inside out: indexing it anew behind every such event would take long.
    if (end == begin) careful_until_ = std::max(careful_until_, begin + block_bytes_ / 8);
    return end > begin;
  }

  /// Whether the front is an event in the block that was indexed last: then it need not be indexed anew after an
  /// element that went the careful way.
  bool resume_block() {
    if (window_.offset() >= block_end_) return false;
    const JsonTokens& tokens = block_index_.tokens();
    const auto* found = std::lower_bound(tokens.position + block_token_, tokens.position + tokens.count,
                                         window_.offset() - block_begin_);
    block_token_ = static_cast<uint32_t>(found - tokens.position);
    return block_token_ < tokens.count && block_begin_ + *found == window_.offset();
  }

  bool start_block() {
    if (window_.offset() < careful_until_) return false;
    if (options_.progress) options_.progress(source_.consumed_bytes());
    window_.fill(block_bytes_);
    std::string_view text(window_.data(), window_.size());
    const bool last = window_.ended() && text.size() <= block_bytes_;
    if (!last) text = text.substr(0, last_boundary(text.substr(0, block_bytes_)));
    block_begin_ = window_.offset();
    block_end_ = block_begin_ + text.size();
    block_token_ = 0;
    if (text.empty()) return false;
    if (block_index_.build(text.data(), text.size()) == JsonIndex::Status::kOk) return true;
    careful_until_ = block_end_;
    block_end_ = block_begin_;
    return false;
  }

  void file() {
    const bool used = assembler_.add(event_) == TraceAssembler::Outcome::kUsed;
    ++(used ? good_elements_ : bad_elements_);
  }

  void bad_element() {
    ++bad_elements_;
    count(Defect::kBadEvent);
  }

  /// Reads one element, however damaged. False when the stream has ended inside it.
  bool read_element() {
    const char first = *window_.data();
    if (first != '{' && first != '[') return skip_scalar();
    Extent extent = measure_element(window_);
    if (extent.kind == Extent::Kind::kWhole && !element_may_end(extent.bytes)) {
      extent = measure_damaged(window_, extent.bytes);
    } else if (extent.kind == Extent::Kind::kWhole && first == '{' && read_whole(extent.bytes)) {
      window_.consume(extent.bytes);
      return true;
    }
    if (extent.kind == Extent::Kind::kCutOff) {
      window_.consume(extent.bytes);
      cut_off_ = true;
      return false;
    }
    if (extent.kind == Extent::Kind::kTooLong) {
      bad_element();
      window_.consume(extent.bytes);
      return skip_damage();
    }
    if (first == '[') {
      bad_element();
    } else {
      replace_control_characters(extent.bytes);
      read_event_leniently({window_.data(), extent.bytes}, event_);
      file();
    }
    window_.consume(extent.bytes);
    return true;
  }

  bool element_may_end(size_t bytes) {
    const char next = next_visible(window_, bytes);
    return next == ',' || next == ']' || next == '\0' || next == '{';
  }

  /// Reads the element of that size as JSON; false when it is none.
  bool read_whole(size_t bytes) {
    JsonIndex::Status status = element_index_.build(window_.data(), bytes);
    bool repaired = false;
    if (status == JsonIndex::Status::kControlCharacter) {
      replace_control_characters(bytes);
      repaired = true;
      status = element_index_.build(window_.data(), bytes);
    }
    if (status != JsonIndex::Status::kOk && status != JsonIndex::Status::kInvalidUtf8) return false;
    uint32_t at = 0;
    if (!read_event(element_index_.tokens(), Nesting::kAny, at, event_) || at != element_index_.tokens().count)
      return false;
    event_.invalid_utf8 = status == JsonIndex::Status::kInvalidUtf8;
    event_.repaired |= repaired;
    file();
    return true;
  }

  void replace_control_characters(size_t bytes) {
    std::replace_if(
        window_.data(), window_.data() + bytes, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  }

  /// Passes over a string, number or word among the events, or over whatever else stands there.
  bool skip_scalar() {
    bad_element();
    if (*window_.data() == '"') {
      window_.fill(kStep);
      const size_t length = value_length({window_.data(), std::min(window_.size(), kStep)});
      if (length > 0 && element_may_end(length)) {
        window_.consume(length);
        return true;
      }
      return skip_damage();
    }
    window_.fill(kStep);
    const std::string_view text(window_.data(), std::min(window_.size(), kStep));
    const size_t length = std::min(text.find_first_not_of("-+.0123456789abcdefghijklmnopqrstuvwxyz"
                                                          "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
                                   text.size());
    if (length > 0 && length < 100 && element_may_end(length)) {
      window_.consume(length);
      return true;
    }
    return skip_damage();
  }

  bool skip_damage() {
    if (skip_to_next_event(window_)) return true;
    cut_off_ = true;
    return false;
  }

  // ---- what is wrong

  void count(Defect defect) { assembler_.trace().defects.add(defect); }

  [[nodiscard]] Error no_events() const {
    const StreamEnd& end = source_.end();
    const std::string after = fmt::format("{} bytes of text were read", window_.total());
    if (!end.what.empty()) {
      return {Error::Kind::kNotATrace, fmt::format("holds no events: {} ({})", end.what, after)};
    }
    if (events_seen_) {
      return {Error::Kind::kNotATrace, fmt::format("is a JSON array, but not of trace events ({})", after)};
    }
    if (cut_off_) {
      return {Error::Kind::kNotATrace,
              fmt::format("ends at byte {} before any \"traceEvents\": was it written to the end?", window_.total())};
    }
    return {Error::Kind::kNotATrace,
            fmt::format("is JSON, but holds no \"traceEvents\" up to its end at byte {}: is it a trace of "
                        "torch.profiler or Kineto?",
                        window_.total())};
  }

  DecompressedSource& source_;
  const ReadOptions& options_;
  size_t block_bytes_;
  InputWindow window_;
  JsonIndex block_index_;
  JsonIndex element_index_;
  uint64_t block_begin_ = 0;  // the block that block_index_ knows, by offset
  uint64_t block_end_ = 0;
  uint32_t block_token_ = 0;  // where to go on in it
  RawEvent event_;
  TraceAssembler assembler_;
  std::set<uint64_t> keys_;  // hashes of the document's keys
  uint64_t careful_until_ = 0;
  uint64_t good_elements_ = 0;
  uint64_t bad_elements_ = 0;
  bool bare_array_ = false;
  bool events_seen_ = false;
  bool cut_off_ = false;
  bool in_recovery_ = false;
};

}  // namespace

Result<Trace> read_kineto(std::unique_ptr<ByteSource> input, const ReadOptions& options) {
  const std::unique_ptr<DecompressedSource> source = decompress(std::move(input));
  return Reader(*source, options).read();
}

}  // namespace eroica
