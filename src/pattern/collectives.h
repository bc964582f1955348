#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "pattern/pattern.h"
#include "trace/trace.h"

namespace eroica {

/// Is a device kernel with this name a collective (NCCL, RCCL, MSCCL or a fused all-reduce)?
bool is_collective_kernel(std::string_view raw_name);

/// Is a host annotation with this name a collective that runs on the host (gloo:all_reduce, mpi:…, ucc:…)?
bool is_host_collective(std::string_view raw_name);

/// One spelling for each kind: "allreduce", "AllReduce", "_allgather_base", "gloo:all_reduce",
/// "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(…)" → "all_reduce", "all_gather", "reduce_scatter" …;
/// "collective" when the name does not tell.
std::string collective_kind(std::string_view raw_name);

/// Of a collective_kind(): one message between two ranks.
bool is_message(std::string_view kind);

/// … or several at once, which NCCL runs as one "send_recv": for a pipeline, or as an all-to-all.
bool is_exchange(std::string_view kind);

/// Of a collective_kind(): nobody gets through it before all members have come, and all end together.
bool is_barrier(std::string_view kind);

/// The kinds that the names of a trace tell, found once a name.
class CollectiveKinds {
 public:
  explicit CollectiveKinds(const StringTable& names) : names_(&names) {}
  const std::string& of(uint32_t name);

 private:
  const StringTable* names_;
  std::unordered_map<uint32_t, std::string> by_name_;
};

/// Bytes of one element of a dtype as torch or NCCL spell it ("Float", "c10::BFloat16", "long int"); 0 = unknown.
int64_t dtype_bytes(std::string_view dtype);

/// The first dtype of a raw JSON "Input type" (["float", "Scalar"]); empty = none.
std::string_view first_dtype(std::string_view input_types);

/// Sum over tensors of the product of their dimensions, in raw JSON "Input Dims" ([[8, 4], [], [4]] → 36).
int64_t count_elements(std::string_view dims);

/// Payload of a collective by its own arguments: the larger of what goes in and out; −1 = not told.
int64_t payload_bytes(const CollectiveArgs& args, const StringTable& names);

/// Payload of "Input Dims" and "Input type" in raw JSON ([[985728]] of ["float"]; lists of tensors are summed);
/// −1 = not told.
int64_t payload_bytes(std::string_view input_dims, std::string_view input_types);

/// "[0, 1, 2]" → ranks; empty when it was cut ("...") or is no list.
std::vector<int32_t> parse_ranks(std::string_view text);

/// The groups and the kinds of collectives that a rank took part in, each with an index. Filled while the trace is
/// reduced; the order is by first use.
class CollectiveTable {
 public:
  /// `known`: groups of the bundle and of distributedInfo; `rank` −1 = unknown.
  CollectiveTable(const Trace& trace, std::vector<ProcessGroup> known, int32_t rank);

  /// The group that a collective's own args name; without args (nullptr) the only known group of more than one rank,
  /// else one named `fallback`, which must not depend on ids that differ between ranks.
  uint32_t group_of(const CollectiveArgs* args, const std::string& fallback);
  uint32_t summary_of(const std::string& kind, const std::string& dtype, uint32_t group);

  [[nodiscard]] const std::vector<GroupPattern>& groups() const { return groups_; }
  [[nodiscard]] std::vector<CollectiveSummary>& summaries() { return summaries_; }

 private:
  uint32_t add_group(GroupPattern group);

  const Trace* trace_;
  std::vector<ProcessGroup> known_;
  int only_group_ = -1;  // index in known_
  std::vector<GroupPattern> groups_;
  std::vector<CollectiveSummary> summaries_;
  std::map<std::pair<std::string, std::string>, std::vector<uint32_t>> groups_by_name_;
  std::map<std::array<uint32_t, 3>, uint32_t> group_by_texts_;  // interned name, desc, ranks
  std::map<std::tuple<std::string, std::string, uint32_t>, uint32_t> summary_by_key_;
};

}  // namespace eroica
