#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "coordinator/job_record.h"
#include "coordinator/period_report.h"
#include "web/service.h"

namespace eroica {

/// What Prometheus scrapes: text format 0.0.4. `report`: of the last 30 days.
std::string prometheus_text(std::span<const JobRecord> jobs, const PeriodReport& report, const ServiceHealth& health,
                            int64_t now_unix_ns, const LifePolicy& policy);

}  // namespace eroica
