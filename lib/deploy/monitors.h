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

// Sets labels (KEY=VALUE each) on PodMonitor and PrometheusRule. The Prometheus operator selects them by its
// podMonitorSelector and ruleSelector.
void LabelMonitors(const std::vector<std::string>& labels, Objects& objects);

// Makes the alerts use this instance's label of Nodes.
void AlertOnLabelOf(const std::string& instance, Objects& objects);

// Makes the alerts select this DaemonSet instead of all with "prefetchd" in their names.
void AlertOnDaemonSet(const std::string& name, Objects& objects);

}  // namespace prefetch::deploy
