// Changes the objects of components/monitoring for one installation. Internal to deploy/.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "deploy/generate.h"
#include "deploy/objects.h"

namespace prefetch::deploy {

constexpr std::string_view kMonitoring = "monitoring";  // folders of components/
constexpr std::string_view kMonitoringGke = "monitoring-gke";

base::Status CheckMonitors(const GenerateOptions& options);

// KEY=VALUE each, on PodMonitor and PrometheusRule: a Prometheus of the operator takes only those that its
// podMonitorSelector and ruleSelector match.
void LabelMonitors(const std::vector<std::string>& labels, Objects& objects);

// The alerts name the Nodes' label of this instance.
void AlertOnLabelOf(const std::string& instance, Objects& objects);

// The alerts name this DaemonSet instead of all with "prefetchd" in their names.
void AlertOnDaemonSet(const std::string& name, Objects& objects);

}  // namespace prefetch::deploy
