#include "pattern/collectives.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/saturate.h"

namespace eroica {
namespace {

std::string lower_letters(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    }
  }
  return out;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// Reads the integer at the front of `text` and moves past it; −1 when there is none.
int64_t take_integer(std::string_view& text) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) {
    text.remove_prefix(std::min<size_t>(1, text.size()));
    return -1;
  }
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

}  // namespace

bool is_collective_kernel(std::string_view raw_name) {
  static constexpr std::array<std::string_view, 9> kParts = {"nccl",
                                                             "NCCL",
                                                             "rccl",
                                                             "Rccl",
                                                             "mscclKernel",
                                                             "cross_device_reduce",
                                                             "one_shot_all_reduce",
                                                             "two_shot_all_reduce",
                                                             "multimem_all_reduce"};
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) { return contains(raw_name, part); });
}

bool is_host_collective(std::string_view raw_name) {
  return raw_name.starts_with("gloo:") || raw_name.starts_with("mpi:") || raw_name.starts_with("ucc:");
}

std::string collective_kind(std::string_view raw_name) {
  // Only the part before the argument list and template says the kind: types there may name others.
  const std::string text = lower_letters(raw_name.substr(0, raw_name.find_first_of("(<")));
  struct Kind {
    std::string_view part;
    std::string_view name;
  };
  // Longer spellings first: "reducescatter" holds "reduce" and "scatter".
  static constexpr std::array<Kind, 16> kKinds = {{{"reducescatter", "reduce_scatter"},
                                                   {"allreduce", "all_reduce"},
                                                   {"crossdevicereduce", "all_reduce"},
                                                   {"allgather", "all_gather"},
                                                   {"alltoall", "all_to_all"},
                                                   {"sendrecv", "send_recv"},
                                                   {"broadcast", "broadcast"},
                                                   {"barrier", "barrier"},
                                                   {"gather", "gather"},
                                                   {"scatter", "scatter"},
                                                   {"reduce", "reduce"},
                                                   {"coalesced", "coalesced"},
                                                   {"send", "send"},
                                                   {"recv", "recv"},
                                                   {"receive", "recv"},
                                                   {"bcast", "broadcast"}}};
  for (const Kind& kind : kKinds) {
    if (contains(text, kind.part)) {
      return std::string(kind.name);
    }
  }
  return "collective";
}

bool is_message(std::string_view kind) { return kind == "send" || kind == "recv"; }

bool is_exchange(std::string_view kind) { return is_message(kind) || kind == "send_recv"; }

bool is_barrier(std::string_view kind) {
  static constexpr std::array<std::string_view, 4> kBarriers = {"all_reduce", "all_gather", "reduce_scatter",
                                                                "barrier"};
  return std::ranges::find(kBarriers, kind) != kBarriers.end();
}

const std::string& CollectiveKinds::of(uint32_t name) {
  const auto [known, is_new] = by_name_.try_emplace(name);
  if (is_new) {
    known->second = collective_kind(names_->text(name));
  }
  return known->second;
}

int64_t dtype_bytes(std::string_view dtype) {
  const size_t colon = dtype.rfind(':');
  const std::string text = lower_letters(colon == std::string_view::npos ? dtype : dtype.substr(colon + 1));
  struct Size {
    std::string_view name;
    int64_t bytes;
  };
  static constexpr std::array<Size, 22> kSizes = {
      {{"float", 4},      {"float32", 4}, {"int", 4},      {"int32", 4}, {"unsignedint", 4}, {"double", 8},
       {"float64", 8},    {"long", 8},    {"longint", 8},  {"int64", 8}, {"bfloat16", 2},    {"half", 2},
       {"float16", 2},    {"short", 2},   {"shortint", 2}, {"byte", 1},  {"char", 1},        {"unsignedchar", 1},
       {"signedchar", 1}, {"bool", 1},    {"uint8", 1},    {"int8", 1}}};
  for (const Size& size : kSizes) {
    if (text == size.name) {
      return size.bytes;
    }
  }
  return text.starts_with("float8") ? 1 : 0;
}

std::string_view first_dtype(std::string_view input_types) {
  const size_t open = input_types.find('"');
  const size_t close = open == std::string_view::npos ? open : input_types.find('"', open + 1);
  return close == std::string_view::npos ? std::string_view() : input_types.substr(open + 1, close - open - 1);
}

// Innermost lists of integers are shapes, "[]" is no tensor.
int64_t count_elements(std::string_view dims) {
  int64_t total = 0;
  int64_t product = 1;
  bool in_shape = false;
  while (!dims.empty()) {
    const char c = dims.front();
    if (c == '[') {
      in_shape = false;
      product = 1;
      dims.remove_prefix(1);
    } else if (c == ']') {
      if (in_shape) {
        total = saturating_add(total, product);
      }
      in_shape = false;
      dims.remove_prefix(1);
    } else if (c >= '0' && c <= '9') {
      const int64_t extent = take_integer(dims);
      product = saturating_multiply(product, std::max<int64_t>(extent, 0));
      in_shape = true;
    } else {
      dims.remove_prefix(1);
    }
  }
  return total;
}

int64_t payload_bytes(const CollectiveArgs& args, const StringTable& names) {
  const int64_t elements = std::max(args.in_elements, args.out_elements);
  const int64_t element = dtype_bytes(names.text(args.dtype));
  int64_t bytes = 0;
  const bool told = elements >= 0 && element > 0 && !__builtin_mul_overflow(elements, element, &bytes);
  return told ? bytes : -1;
}

int64_t payload_bytes(std::string_view input_dims, std::string_view input_types) {
  const int64_t element = dtype_bytes(first_dtype(input_types));
  const int64_t elements = count_elements(input_dims);
  return element == 0 || elements == 0 ? -1 : saturating_multiply(elements, element);
}

std::vector<int32_t> parse_ranks(std::string_view text) {
  std::vector<int32_t> ranks;
  if (!text.starts_with('[') || contains(text, "...")) {
    return ranks;
  }
  while (!text.empty()) {
    const char c = text.front();
    if (c >= '0' && c <= '9') {
      const int64_t rank = take_integer(text);
      if (rank < 0 || rank > INT32_MAX) {
        return {};
      }
      ranks.push_back(static_cast<int32_t>(rank));
    } else {
      text.remove_prefix(1);
    }
  }
  return ranks;
}

CollectiveTable::CollectiveTable(const Trace& trace, std::vector<ProcessGroup> known, int32_t rank)
    : trace_(&trace), known_(std::move(known)) {
  int found = -1;
  int candidates = 0;
  for (size_t i = 0; i < known_.size(); ++i) {
    const ProcessGroup& group = known_[i];
    const size_t size = group.ranks.empty() ? static_cast<size_t>(std::max(group.size, 0)) : group.ranks.size();
    const bool member =
        rank < 0 || group.ranks.empty() || std::find(group.ranks.begin(), group.ranks.end(), rank) != group.ranks.end();
    if (size > 1 && member) {
      found = static_cast<int>(i);
      ++candidates;
    }
  }
  only_group_ = candidates == 1 ? found : -1;
}

uint32_t CollectiveTable::add_group(GroupPattern group) {
  std::vector<uint32_t>& same_name = groups_by_name_[{group.name, group.desc}];
  for (const uint32_t index : same_name) {
    if (groups_[index].ranks == group.ranks) {
      return index;
    }
  }
  same_name.push_back(static_cast<uint32_t>(groups_.size()));
  groups_.push_back(std::move(group));
  return same_name.back();
}

uint32_t CollectiveTable::group_of(const CollectiveArgs* args, const std::string& fallback) {
  const bool named = args != nullptr && (args->group_name != 0 || args->group_ranks != 0 || args->group_desc != 0);
  if (named) {
    const std::array<uint32_t, 3> texts = {args->group_name, args->group_desc, args->group_ranks};
    const auto cached = group_by_texts_.find(texts);
    if (cached != group_by_texts_.end()) {
      return cached->second;
    }
    GroupPattern group;
    group.name = trace_->names.text(args->group_name);
    group.desc = trace_->names.text(args->group_desc);
    group.ranks = parse_ranks(trace_->names.text(args->group_ranks));
    group.size = args->group_size;
    if (group.ranks.empty()) {
      for (const ProcessGroup& known : known_) {
        if (known.name == group.name && !known.ranks.empty()) {
          group.ranks = known.ranks;
        }
      }
    }
    if (group.size < 0 && !group.ranks.empty()) {
      group.size = static_cast<int32_t>(group.ranks.size());
    }
    return group_by_texts_[texts] = add_group(std::move(group));
  }
  if (only_group_ >= 0) {
    const ProcessGroup& known = known_[static_cast<size_t>(only_group_)];
    const int32_t size = known.ranks.empty() ? known.size : static_cast<int32_t>(known.ranks.size());
    return add_group({known.name, known.desc, known.ranks, size});
  }
  return add_group({fallback, "", {}, args != nullptr ? args->group_size : -1});
}

uint32_t CollectiveTable::summary_of(const std::string& kind, const std::string& dtype, uint32_t group) {
  const auto [found, is_new] =
      summary_by_key_.try_emplace({kind, dtype, group}, static_cast<uint32_t>(summaries_.size()));
  if (is_new) {
    CollectiveSummary summary;
    summary.kind = kind;
    summary.dtype = dtype;
    summary.group = group;
    summaries_.push_back(std::move(summary));
  }
  return found->second;
}

}  // namespace eroica
