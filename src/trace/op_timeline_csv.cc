#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/op_timeline_builder.h"

namespace eroica {
namespace {

constexpr size_t kBlockBytes = size_t{256} << 10;
constexpr size_t kLongestRow = size_t{64} << 10;
constexpr size_t kMostFields = 1024;

enum Column : uint8_t {
  kDp,
  kStage,
  kStep,
  kName,
  kStart,
  kDuration,  // needed
  kRank,
  kSequence,
  kChunk,
  kMicroBatch,  // welcome
  kColumns
};
constexpr size_t kNeeded = kRank;
constexpr std::array<std::string_view, kColumns> kColumnNames = {"dp_rank",  "stage", "step",   "optype", "start_ts",
                                                                 "duration", "rank",  "seq_id", "mc",     "mb_id"};

using Places = std::array<size_t, kColumns>;
constexpr size_t kAbsent = SIZE_MAX;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// Splits one record. What was quoted with quotes inside is unescaped into `scratch`, which must outlive the fields.
class Splitter {
 public:
  explicit Splitter(char separator) : separator_(separator) {}

  const std::vector<std::string_view>& split(std::string_view record) {
    fields_.clear();
    scratch_.clear();
    scratch_.reserve(record.size());  // never moved below
    while (fields_.size() < kMostFields) {
      const std::string_view lead = record.substr(0, record.find_first_not_of(' '));
      if (record.size() > lead.size() && record[lead.size()] == '"' && lead.size() < record.size()) {
        record.remove_prefix(lead.size() + 1);
        fields_.push_back(quoted(record));
      } else {
        fields_.push_back(trimmed(record.substr(0, record.find(separator_))));
      }
      const size_t next = record.find(separator_);
      if (next == std::string_view::npos) break;
      record.remove_prefix(next + 1);
    }
    return fields_;
  }

 private:
  std::string_view quoted(std::string_view& record) {
    const size_t begin = scratch_.size();
    while (!record.empty()) {
      const size_t quote = record.find('"');
      scratch_.append(record.substr(0, quote));
      if (quote == std::string_view::npos) {
        record = {};
        break;
      }
      record.remove_prefix(quote + 1);
      if (!record.starts_with('"')) break;
      scratch_.push_back('"');
      record.remove_prefix(1);
    }
    return std::string_view(scratch_).substr(begin);
  }

  char separator_;
  std::vector<std::string_view> fields_;
  std::string scratch_;
};

char separator_of(std::string_view header) {
  if (header.find(',') != std::string_view::npos) return ',';
  return header.find('\t') != std::string_view::npos ? '\t' : ';';
}

Places places_of(std::string_view header) {
  constexpr std::array<std::pair<std::string_view, Column>, 7> kAliases = {{{"dp", kDp},
                                                                            {"pp_rank", kStage},
                                                                            {"op_type", kName},
                                                                            {"model_chunk", kChunk},
                                                                            {"seq", kSequence},
                                                                            {"micro_batch", kMicroBatch},
                                                                            {"start", kStart}}};
  Places places;
  places.fill(kAbsent);
  Splitter splitter(separator_of(header));
  size_t at = 0;
  for (const std::string_view field : splitter.split(header)) {
    std::string name(trimmed(field));
    for (char& c : name) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    for (size_t column = 0; column < kColumns; ++column) {
      if (name == kColumnNames[column]) places[column] = at;
    }
    for (const auto& [alias, column] : kAliases) {
      if (name == alias && places[column] == kAbsent) places[column] = at;
    }
    ++at;
  }
  return places;
}

std::string missing_columns(const Places& places) {
  std::string missing;
  for (size_t column = 0; column < kNeeded; ++column) {
    if (places[column] != kAbsent) continue;
    if (!missing.empty()) missing += ", ";
    missing += kColumnNames[column];
  }
  return missing;
}

std::optional<double> number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// Whole numbers, also written as 3.0; empty is −1.
std::optional<int32_t> whole(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return -1;
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  const std::optional<double> real = number(text);
  if (!real || std::abs(*real) > 2e9 || std::trunc(*real) != *real) return std::nullopt;
  return static_cast<int32_t>(*real);
}

class RowReader {
 public:
  RowReader(std::string_view header, const Places& places, OpTimelineBuilder& builder)
      : splitter_(separator_of(header)), places_(places), builder_(builder) {}

  void read(std::string_view record, uint64_t line) {
    if (trimmed(record).empty()) return;
    const std::vector<std::string_view>& fields = splitter_.split(record);
    TimelineRow row;
    std::array<std::pair<Column, int32_t*>, 7> numbers = {{{kDp, &row.dp},
                                                           {kStage, &row.stage},
                                                           {kStep, &row.step},
                                                           {kRank, &row.rank},
                                                           {kSequence, &row.sequence},
                                                           {kChunk, &row.chunk},
                                                           {kMicroBatch, &row.micro_batch}}};
    for (size_t column = 0; column < kNeeded; ++column) {
      if (places_[column] >= fields.size()) return bad(line, static_cast<Column>(column), "is missing");
    }
    for (const auto& [column, into] : numbers) {
      if (places_[column] >= fields.size()) continue;
      const std::optional<int32_t> value = whole(fields[places_[column]]);
      if (!value) return bad(line, column, "is not a whole number");
      *into = *value;
    }
    const std::optional<int64_t> start_ns = time_ns(fields[places_[kStart]]);
    if (!start_ns) return bad(line, kStart, "is not a time in seconds");
    const std::optional<int64_t> duration_ns = time_ns(fields[places_[kDuration]]);
    if (!duration_ns) return bad(line, kDuration, "is not a time in seconds");
    row.start_ns = *start_ns;
    row.duration_ns = *duration_ns;
    row.name = trimmed(fields[places_[kName]]);
    builder_.add(row, line);
  }

 private:
  static std::optional<int64_t> time_ns(std::string_view text) {
    const std::optional<double> seconds = number(text);
    return seconds ? to_ns(*seconds, 1e9) : std::nullopt;
  }
  void bad(uint64_t line, Column column, std::string_view what) {
    builder_.add_bad(line, fmt::format("{} {}", kColumnNames[column], what));
  }

  Splitter splitter_;
  Places places_;
  OpTimelineBuilder& builder_;
};

/// Cuts the text into records: lines, except that a line end inside quotes does not count. A record that is longer than
/// kLongestRow (such as one whose quote never closes) ends at its first line end, or is passed over where it has none.
class RecordCutter {
 public:
  RecordCutter(ByteSource& input, std::string_view head) : input_(input), buffer_(head), bytes_(head.size()) {}

  struct Record {
    std::string_view text;
    uint64_t line = 0;      ///< where it begins, 1-based
    bool too_long = false;  ///< passed over
  };
  /// nullopt at the end.
  Result<std::optional<Record>> next() {
    size_t searched = begin_;  // up to here there is no end of the record
    bool in_quotes = false;
    while (true) {
      const size_t end = buffer_.find('\n', searched);
      if (end != std::string::npos) {
        if (end - begin_ > kLongestRow) return long_record();
        in_quotes ^= odd_quotes(searched, end);
        if (!in_quotes) return cut(end);
        searched = end + 1;
        continue;
      }
      if (buffer_.size() - begin_ > kLongestRow) return long_record();
      if (ended_) break;
      searched -= begin_;
      const Status filled = fill();
      if (!filled.ok()) return filled.error();
      searched += begin_;
    }
    if (begin_ >= buffer_.size()) return std::optional<Record>();
    const size_t first = odd_quotes(begin_, buffer_.size()) ? buffer_.find('\n', begin_) : std::string::npos;
    return cut(first == std::string::npos ? buffer_.size() : first);
  }
  [[nodiscard]] uint64_t bytes() const { return bytes_; }

 private:
  [[nodiscard]] bool odd_quotes(size_t from, size_t to) const {
    return std::ranges::count(std::string_view(buffer_).substr(from, to - from), '"') % 2 != 0;
  }

  std::optional<Record> cut(size_t end) {
    const Record record{std::string_view(buffer_).substr(begin_, end - begin_), line_};
    line_ += 1 + static_cast<uint64_t>(std::ranges::count(record.text, '\n'));
    begin_ = std::min(end + 1, buffer_.size());  // the last one may end with the file
    return record;
  }

  Result<std::optional<Record>> long_record() {
    size_t end = buffer_.find('\n', begin_);
    if (end != std::string::npos && end - begin_ <= kLongestRow) return cut(end);
    while (end == std::string::npos && !ended_) {
      begin_ = buffer_.size();
      const Status filled = fill();
      if (!filled.ok()) return filled.error();
      end = buffer_.find('\n');
    }
    begin_ = end == std::string::npos ? buffer_.size() : end + 1;
    return std::optional<Record>({.text = {}, .line = line_++, .too_long = true});
  }

  /// Moves what is left to the front and adds a block.
  Status fill() {
    buffer_.erase(0, std::min(begin_, buffer_.size()));
    begin_ = 0;
    const size_t before = buffer_.size();
    buffer_.resize(before + kBlockBytes);
    const Result<size_t> got = input_.read({buffer_.data() + before, kBlockBytes});
    buffer_.resize(before + (got.ok() ? *got : 0));
    if (!got.ok()) return got.error();
    ended_ = *got == 0;
    bytes_ += *got;
    return ok_status();
  }

  ByteSource& input_;
  std::string buffer_;
  size_t begin_ = 0;
  uint64_t line_ = 1;
  uint64_t bytes_;
  bool ended_ = false;
};

}  // namespace

bool is_op_timeline_header(std::string_view line) { return missing_columns(places_of(line)).empty(); }

Result<OpTimeline> read_op_timeline_csv(ByteSource& input, std::string_view head, const std::string& name,
                                        const OpTimelineLimits& limits) {
  if (head.starts_with("\xEF\xBB\xBF")) head.remove_prefix(3);
  RecordCutter cutter(input, head);
  Result<std::optional<RecordCutter::Record>> record = cutter.next();
  if (!record.ok()) return record.error();
  const std::string header(record->has_value() ? (*record)->text : "");
  const Places places = places_of(header);
  if (const std::string missing = missing_columns(places); !missing.empty()) {
    return Error{
        Error::Kind::kNotATrace,
        fmt::format("{}:1: the first line must name the columns of an operation timeline; missing: {}", name, missing)};
  }
  OpTimelineBuilder builder(limits);
  RowReader rows(header, places, builder);
  for (record = cutter.next(); record.ok() && record->has_value(); record = cutter.next()) {
    if ((*record)->too_long) {
      builder.add_bad((*record)->line, "the line is too long");
    } else {
      rows.read((*record)->text, (*record)->line);
    }
  }
  if (!record.ok()) return record.error();
  builder.timeline().text_bytes = cutter.bytes();
  return builder.finish();
}

}  // namespace eroica
