#include "trace/bundle_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace eroica {
namespace {

using nlohmann::json;

constexpr std::string_view kSchema = "eroica.bundle/1";
constexpr double kMaxDurationMs = 1e10;  // four months

/// Carries an Error out of the reading below; never leaves this file.
struct Breach {
  Error error;
};

/// A short look at a value, for messages.
std::string shown(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case json::value_t::object:
      return "an object";
    case json::value_t::array:
      return "an array";
    case json::value_t::string: {
      const auto& text = value.get_ref<const std::string&>();
      if (text.size() <= 40) return fmt::format("a string ({})", value.dump());
      return fmt::format("a string of {} bytes", text.size());
    }
    default:
      return fmt::format("the number {}", value.dump());
  }
}

/// A value of the document with the path of keys that leads to it.
class Node {
 public:
  Node(const json& value, std::string key) : value_(&value), key_(std::move(key)) {}

  [[nodiscard]] const std::string& key() const { return key_; }
  [[nodiscard]] const json& value() const { return *value_; }

  [[noreturn]] void refuse(std::string_view expected) const {
    throw Breach{{Error::Kind::kInvalid, fmt::format("{}: expected {}, found {}", key_.empty() ? "the document" : key_,
                                                     expected, shown(*value_))}};
  }

  /// The member of that name; null counts as absent.
  [[nodiscard]] std::optional<Node> find(const char* name) const {
    if (!value_->is_object()) refuse("an object");
    const auto member = value_->find(name);
    if (member == value_->end() || member->is_null()) return std::nullopt;
    return Node(*member, path_to(name));
  }

  [[nodiscard]] Node required(const char* name) const {
    if (std::optional<Node> member = find(name)) return *std::move(member);
    throw Breach{{Error::Kind::kInvalid, fmt::format("{}: missing", path_to(name))}};
  }

  [[nodiscard]] std::vector<Node> elements() const {
    if (!value_->is_array()) refuse("an array");
    std::vector<Node> elements;
    elements.reserve(value_->size());
    for (const json& element : *value_) {
      elements.emplace_back(element, fmt::format("{}[{}]", key_, elements.size()));
    }
    return elements;
  }

  [[nodiscard]] std::string text() const {
    if (!value_->is_string()) refuse("a string");
    return value_->get<std::string>();
  }

  /// Names that people also write as numbers (a job's id, a group's name).
  [[nodiscard]] std::string name() const {
    if (value_->is_number_integer()) return value_->dump();
    return text();
  }

  [[nodiscard]] int64_t whole_number(int64_t least, int64_t most) const {
    const std::optional<int64_t> number = as_whole_number();
    if (!number) refuse("a whole number");
    if (*number < least || *number > most) {
      refuse(most == std::numeric_limits<int64_t>::max() ? fmt::format("at least {}", least)
                                                         : fmt::format("a number from {} to {}", least, most));
    }
    return *number;
  }

  [[nodiscard]] double number() const {
    if (!value_->is_number()) refuse("a number");
    return value_->get<double>();
  }

 private:
  [[nodiscard]] std::string path_to(const char* name) const {
    return key_.empty() ? name : fmt::format("{}.{}", key_, name);
  }

  [[nodiscard]] std::optional<int64_t> as_whole_number() const {
    if (value_->is_number_unsigned()) {
      const auto number = value_->get<uint64_t>();
      if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(number);
    }
    if (value_->is_number_integer()) return value_->get<int64_t>();
    if (value_->is_number_float()) {  // 3.0 is what some writers make of 3
      const auto number = value_->get<double>();
      if (number == std::trunc(number) && std::abs(number) < 0x1p63) {
        return static_cast<int64_t>(number);
      }
    }
    return std::nullopt;
  }

  const json* value_;
  std::string key_;
};

/// Nesting is bounded before parsing, so that nothing recursive is ever handed a deep document.
bool too_deep(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kMaxBundleNesting) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

/// Why a path may not be followed; empty = it may.
std::string refusal(const std::string& path) {
  if (path.empty()) return "the name is empty";
  if (path.find('\0') != std::string::npos) return "the name holds a NUL character";
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  if (normal.is_absolute()) {
    return "absolute paths are not followed; a bundle's files lie in its folder";
  }
  if (normal.begin() != normal.end() && *normal.begin() == "..") {
    return "the path leaves the bundle's folder";
  }
  return "";
}

class Reader {
 public:
  explicit Reader(std::string source) : source_(std::move(source)) {}

  BundleDocument read(const json& root) {
    const Node top(root, "");
    check_schema(top);
    if (const auto job = top.find("job")) read_job(*job);
    if (const auto window = top.find("window")) document_.window = read_window(*window);
    if (const auto samples = top.find("samples")) {
      for (const Node& file : samples->elements()) add_samples(file);
    }
    if (const auto hosts = top.find("hosts")) {
      for (const Node& host : hosts->elements()) add_host(host);
    }
    for (const Node& rank : top.required("ranks").elements()) add_rank(rank);
    if (const auto groups = top.find("groups")) {
      for (const Node& group : groups->elements()) add_group(group);
    }
    finish();
    return std::move(document_);
  }

 private:
  void problem(const std::string& key, std::string_view what) {
    document_.problems.push_back(fmt::format("{}: {}: {}", source_, key, what));
  }

  static void check_schema(const Node& top) {
    const Node schema = top.required("schema");
    if (schema.text() == kSchema) return;
    throw Breach{
        {Error::Kind::kUnsupported, fmt::format("schema: expected \"{}\", found {}; name the traces themselves to "
                                                "read them without this file",
                                                kSchema, shown(schema.value()))}};
  }

  void read_job(const Node& job) {
    if (const auto id = job.find("id")) document_.job_id = id->name();
    if (const auto size = job.find("world_size")) {
      document_.world_size = static_cast<int32_t>(size->whole_number(1, kMaxRank + 1));
    }
  }

  static WindowSpec read_window(const Node& window) {
    WindowSpec spec;
    spec.start_unix_ns = window.required("start_unix_ns").whole_number(0, std::numeric_limits<int64_t>::max());
    const Node duration = window.required("duration_ms");
    const double duration_ms = duration.number();
    if (!(duration_ms > 0 && duration_ms <= kMaxDurationMs)) {
      duration.refuse(fmt::format("more than 0 and at most {:.0f}", kMaxDurationMs));
    }
    spec.duration_ns = std::max<int64_t>(std::llround(duration_ms * 1e6), 1);
    if (spec.start_unix_ns > std::numeric_limits<int64_t>::max() - spec.duration_ns) {
      duration.refuse("a window that ends before the year 2262");
    }
    return spec;
  }

  std::map<std::string, std::string> read_labels(const Node& owner) {
    std::map<std::string, std::string> labels;
    const auto node = owner.find("labels");
    if (!node) return labels;
    if (!node->value().is_object()) {
      problem(node->key(), fmt::format("passed over: expected an object, found {}", shown(node->value())));
      return labels;
    }
    for (const auto& [name, value] : node->value().items()) {
      if (!value.is_object()) {
        labels.emplace(name, label_text(value));
        continue;
      }
      for (const auto& [inner, inner_value] : value.items()) {
        labels.emplace(fmt::format("{}.{}", name, inner), label_text(inner_value));
      }
    }
    return labels;
  }

  static std::string label_text(const json& value) {
    return value.is_string() ? value.get<std::string>() : value.dump();
  }

  /// A file inside the bundle; one that is not is passed over and leaves the path empty.
  BundleFile read_file(const Node& node) {
    BundleFile file{.key = node.key(), .path = node.text()};
    if (const std::string why = refusal(file.path); !why.empty()) {
      problem(file.key, fmt::format("{} passed over: {}", node.value().dump(), why));
      file.path.clear();
    }
    return file;
  }

  void add_samples(const Node& node) {
    if (BundleFile file = read_file(node); !file.path.empty()) {
      document_.samples.push_back(std::move(file));
    }
  }

  void add_host(const Node& node) {
    HostInput host;
    host.name = node.required("name").text();
    if (const auto machine = node.find("machine")) host.machine = machine->text();
    if (const auto samples = node.find("samples")) add_samples(*samples);
    host.labels = read_labels(node);
    if (!host_keys_.emplace(host.name, node.key()).second) {
      problem(node.key(),
              fmt::format("passed over: host {} stands at {} already", json(host.name).dump(), host_keys_[host.name]));
      return;
    }
    document_.hosts.push_back(std::move(host));
  }

  static WindowEdge read_edge(const Node& node) {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    WindowEdge edge;
    edge.unix_ns = node.required("unix_ns").whole_number(0, kMost);
    if (const auto step = node.find("step")) edge.step = step->whole_number(0, kMost);
    if (const auto time = node.find("step_unix_ns")) edge.step_unix_ns = time->whole_number(0, kMost);
    const auto groups = node.find("groups");
    if (!groups) return edge;
    for (const Node& group : groups->elements()) {
      GroupCount count;
      count.group = group.required("name").name();
      if (const auto number = group.find("last_enqueued")) count.last_enqueued = number->whole_number(-1, kMost);
      if (const auto number = group.find("last_completed")) count.last_completed = number->whole_number(-1, kMost);
      edge.groups.push_back(std::move(count));
    }
    return edge;
  }

  void add_rank(const Node& node) {
    BundleRank rank;
    rank.key = node.key();
    rank.rank.rank = static_cast<int32_t>(node.required("rank").whole_number(0, kMaxRank));
    rank.rank.rank_source = RankSource::kBundle;
    if (const auto host = node.find("host")) rank.rank.host = host->text();
    if (const auto gpu = node.find("gpu")) {
      rank.rank.gpu = static_cast<int32_t>(gpu->whole_number(-1, kMaxRank));
    }
    if (const auto pid = node.find("pid")) {
      rank.rank.pid = pid->whole_number(-1, std::numeric_limits<int64_t>::max());
    }
    if (const auto trace = node.find("trace")) rank.trace = read_file(*trace);
    if (const auto stacks = node.find("stacks")) rank.stacks = read_file(*stacks);
    rank.rank.labels = read_labels(node);
    if (const auto edges = node.find("edges")) {
      if (const auto edge = edges->find("start")) rank.rank.edges.start = read_edge(*edge);
      if (const auto edge = edges->find("end")) rank.rank.edges.end = read_edge(*edge);
    }
    document_.ranks.push_back(std::move(rank));
  }

  void add_group(const Node& node) {
    ProcessGroup group;
    if (const auto name = node.find("name")) group.name = name->name();
    if (const auto desc = node.find("desc")) group.desc = desc->name();
    for (const Node& rank : node.required("ranks").elements()) {
      group.ranks.push_back(static_cast<int32_t>(rank.whole_number(0, kMaxRank)));
    }
    if (!group.ranks.empty()) group.size = static_cast<int32_t>(group.ranks.size());
    document_.groups.push_back(std::move(group));
  }

  void finish() {
    std::stable_sort(document_.ranks.begin(), document_.ranks.end(),
                     [](const BundleRank& a, const BundleRank& b) { return a.rank.rank < b.rank.rank; });
    refuse_rank_twice();
    check_world_size();
    for (const BundleRank& rank : document_.ranks) {
      const std::string& host = rank.rank.host;
      if (!host.empty() && host_keys_.emplace(host, rank.key).second) {
        document_.hosts.push_back({.name = host, .machine = {}, .labels = {}});
      }
    }
  }

  void refuse_rank_twice() const {
    const std::vector<BundleRank>& ranks = document_.ranks;
    std::string lines;
    size_t count = 0;
    for (size_t i = 1; i < ranks.size(); ++i) {
      if (ranks[i].rank.rank != ranks[i - 1].rank.rank) continue;
      if (++count > 20) continue;
      lines += fmt::format("\n  rank {}: {} and {}", ranks[i].rank.rank, described(ranks[i - 1]), described(ranks[i]));
    }
    if (count == 0) return;
    if (count > 20) lines += fmt::format("\n  and {} more", count - 20);
    throw Breach{
        {Error::Kind::kAmbiguous, fmt::format("ranks: a rank stands twice; give each its own number:{}", lines)}};
  }

  static std::string described(const BundleRank& rank) {
    if (rank.trace.path.empty()) return rank.key;
    return fmt::format("{} ({})", rank.key, rank.trace.path);
  }

  void check_world_size() {
    if (document_.ranks.empty() || document_.world_size < 0) return;
    const int32_t needed = document_.ranks.back().rank.rank + 1;
    if (document_.world_size >= needed) return;
    problem("job.world_size", fmt::format("{} is too small, since ranks lists rank {}; taken as {}",
                                          document_.world_size, needed - 1, needed));
    document_.world_size = needed;
  }

  std::string source_;
  BundleDocument document_;
  std::map<std::string, std::string> host_keys_;  // name → where it stands
};

/// nlohmann's words without its own name and number.
std::string_view plain_words(std::string_view what) {
  const size_t end = what.find("] ");
  return end == std::string_view::npos ? what : what.substr(end + 2);
}

Error invalid(const std::string& source, std::string_view what) {
  return {Error::Kind::kInvalid, fmt::format("{}: {}", source, what)};
}

}  // namespace

Result<BundleDocument> parse_bundle(std::string_view text, const std::string& source) {
  if (text.size() > kMaxBundleBytes) {
    return invalid(source, fmt::format("larger than the {} MiB that a bundle.json may have", kMaxBundleBytes >> 20));
  }
  if (too_deep(text)) {
    return invalid(source, fmt::format("nested deeper than {} levels", kMaxBundleNesting));
  }
  try {
    return Reader(source).read(json::parse(text));
  } catch (const Breach& breach) {
    return Error{breach.error.kind, fmt::format("{}: {}", source, breach.error.message)};
  } catch (const json::exception& error) {
    return invalid(source, fmt::format("not valid JSON: {}", plain_words(error.what())));
  }
}

}  // namespace eroica
