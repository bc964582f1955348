#include "diagnose/wire_rate.h"

#include <gtest/gtest.h>

#include "diagnose/sample_job.h"

namespace eroica {
namespace {

/// Two ranks on each of two hosts that spend 39 of 100 ms in all-reduces; their interfaces could carry 1 GB/s.
std::vector<RankPattern> job_on_wire(double sent_bytes_per_s) {
  std::vector<RankPattern> patterns = even_job(true);
  for (RankPattern& pattern : patterns) {
    pattern.host = pattern.rank < 2 ? "node0" : "node1";
    const std::string nic = "host " + pattern.host + "/nic eth0";
    const auto add = [&](const std::string& metric, const std::string& unit, double mean) {
      pattern.signals.push_back({metric, nic, unit, mean, 0, mean, mean, pattern.window_ns});
    };
    if (sent_bytes_per_s < 0) continue;
    add("net.speed", "bits_per_s", 8e9);
    add("net.transmit", "bytes_per_s", sent_bytes_per_s);
  }
  return patterns;
}

std::optional<double> part_of(const std::vector<RankPattern>& patterns) {
  const NameTable names = sample_names();
  const Job job = build_job(patterns, names);
  const Comparison now(job, names);
  return slow_wire_part(now, Subject({2, 3}, 4));
}

TEST(WireRate, WhatTransfersLoseToASlowWire) {
  // 0.39 of the time: at full rate some 0.3 GB/s over the window.
  const auto half = part_of(job_on_wire(0.39 * 0.4e9));
  ASSERT_TRUE(half.has_value());
  EXPECT_NEAR(*half, 0.5, 0.03);
  const auto full = part_of(job_on_wire(0.39 * 0.9e9));
  ASSERT_TRUE(full.has_value());
  EXPECT_EQ(*full, 0);
}

TEST(WireRate, NothingWithoutSamplesOrOnOneHost) {
  EXPECT_FALSE(part_of(job_on_wire(-1)).has_value());
  std::vector<RankPattern> alone = job_on_wire(0.1e9);
  for (RankPattern& pattern : alone) pattern.host = "node0";
  EXPECT_FALSE(part_of(alone).has_value());
}

}  // namespace
}  // namespace eroica
