#include "pattern/collectives.h"

#include <gtest/gtest.h>

namespace eroica {
namespace {

TEST(Collectives, KindsHaveOneSpelling) {
  EXPECT_EQ(collective_kind("allreduce"), "all_reduce");
  EXPECT_EQ(collective_kind("gloo:all_reduce"), "all_reduce");
  EXPECT_EQ(collective_kind("_allgather_base"), "all_gather");
  EXPECT_EQ(collective_kind("_reduce_scatter_base"), "reduce_scatter");
  EXPECT_EQ(collective_kind("all_to_allv"), "all_to_all");
  EXPECT_EQ(collective_kind("gloo:send"), "send");
  EXPECT_EQ(collective_kind("gloo:recv"), "recv");
  EXPECT_EQ(collective_kind("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*, unsigned long)"),
            "reduce_scatter");
  EXPECT_EQ(collective_kind("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"),
            "all_reduce");
  EXPECT_EQ(collective_kind("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)"), "send_recv");
  EXPECT_EQ(collective_kind("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"), "collective");
  EXPECT_EQ(collective_kind(""), "collective");
}

TEST(Collectives, KernelsAreToldByName) {
  EXPECT_TRUE(is_collective_kernel("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)"));
  EXPECT_TRUE(is_collective_kernel("void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)"));
  EXPECT_FALSE(is_collective_kernel("void at::native::reduce_kernel<512, 1>(at::native::ReduceOp)"));
  EXPECT_TRUE(is_host_collective("gloo:all_reduce"));
  EXPECT_FALSE(is_host_collective("nccl:all_reduce"));
}

TEST(Collectives, PayloadComesFromShapesAndTypes) {
  EXPECT_EQ(payload_bytes("[[985728]]", "[\"float\"]"), 985728 * 4);
  EXPECT_EQ(payload_bytes("[[[299530]], [], [], []]", "[\"c10::BFloat16\", \"\", \"\"]"), 299530 * 2);
  EXPECT_EQ(payload_bytes("[[2, 3], [4]]", "[\"long int\"]"), (6 + 4) * 8);
  EXPECT_EQ(payload_bytes("[[], []]", "[\"float\"]"), -1);
  EXPECT_EQ(payload_bytes("[[3]]", "[\"TensorList\"]"), -1);
  EXPECT_EQ(payload_bytes("", ""), -1);
  EXPECT_EQ(payload_bytes("[[9223372036854775807, 9223372036854775807]]", "[\"float\"]"), INT64_MAX);
  EXPECT_EQ(payload_bytes("[[99999999999999999999999999]]", "[\"float\"]"), -1);
}

TEST(Collectives, RanksListsMayBeCut) {
  EXPECT_EQ(parse_ranks("[0, 1, 7]"), (std::vector<int32_t>{0, 1, 7}));
  EXPECT_TRUE(parse_ranks("[0, 1, 2, ...").empty());
  EXPECT_TRUE(parse_ranks("").empty());
  EXPECT_TRUE(parse_ranks("[99999999999]").empty());
}

TEST(Collectives, GroupsComeFromArgumentsThenFromWhatIsKnown) {
  Trace trace;
  CollectiveArgs args;
  args.group_name = trace.names.intern("3");
  args.group_desc = trace.names.intern("tp");
  args.group_ranks = trace.names.intern("[0, 1, ...");
  args.group_size = 4;
  CollectiveTable table(trace, {{"3", "tp", {0, 1, 2, 3}, 4}, {"9", "alone", {0}, 1}}, 0);
  const uint32_t named = table.group_of(&args, "stream 7");
  EXPECT_EQ(table.groups()[named].ranks, (std::vector<int32_t>{0, 1, 2, 3})) << "a cut list is completed";
  EXPECT_EQ(table.group_of(&args, "stream 7"), named);
  EXPECT_EQ(table.groups()[table.group_of(nullptr, "stream 7")].name, "3") << "the only group of several ranks";

  CollectiveTable unknown(trace, {{"3", "tp", {0, 1}, 2}, {"4", "dp", {0, 2}, 2}}, 0);
  EXPECT_EQ(unknown.groups()[unknown.group_of(nullptr, "stream 7")].name, "stream 7");
}

}  // namespace
}  // namespace eroica
