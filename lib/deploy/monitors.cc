#include "deploy/monitors.h"

#include <algorithm>
#include <string_view>

#include "base/label_syntax.h"
#include "base/text.h"
#include "deploy/words.h"
#include "doc/edit.h"
#include "doc/path.h"

namespace prefetch::deploy {
namespace {

constexpr std::string_view kOperator = "monitoring.coreos.com/";

bool IsLabel(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = text.substr(0, equals), value = text.substr(equals + 1);
  return base::IsLabelKey(key) && (value.empty() || base::IsLabelPart(value));
}

// Alerts are expressions of PromQL, so their names are replaced as text.
void ReplaceInAlerts(std::string_view from, const std::string& to, Objects& objects) {
  for (Object& object : objects.all) {
    doc::Node* groups = ValueAt(object.body, {"spec", "groups"});
    if (groups == nullptr) continue;
    for (doc::Node& group : groups->items) {
      doc::Node* rules = Find(group, "rules");
      if (rules == nullptr) continue;
      for (doc::Node& rule : rules->items) {
        if (doc::Node* expression = Find(rule, "expr")) {
          expression->text = base::ReplaceAll(expression->text, std::string(from), to);
        }
      }
    }
  }
}

}  // namespace

base::Status CheckMonitors(const GenerateOptions& options) {
  const bool monitoring = Contains(options.components, kMonitoring);
  if (monitoring && Contains(options.components, kMonitoringGke)) {
    return base::InvalidArgument(
        "--component: monitoring and monitoring-gke are alternatives: leave out one");
  }
  for (const std::string& label : options.monitor_labels) {
    if (!IsLabel(label)) {
      return base::InvalidArgument(
          "--monitoring-label must be KEY=VALUE, such as release=kube-prometheus-stack");
    }
  }
  if (!monitoring && !options.monitor_labels.empty()) {
    return base::InvalidArgument("--monitoring-label needs --component monitoring");
  }
  return {};
}

void LabelMonitors(const std::vector<std::string>& labels, Objects& objects) {
  for (Object& object : objects.all) {
    if (!TextAt(object.body, {"apiVersion"}).starts_with(kOperator)) continue;
    for (const std::string& label : labels) {
      // CheckMonitors has ensured that there is one.
      const std::size_t equals = label.find('=');
      Put(Sub(Sub(object.body, "metadata"), "labels"), label.substr(0, equals),
          doc::Node::String(label.substr(equals + 1)));
    }
  }
}

void AlertOnLabelOf(const std::string& instance, Objects& objects) {
  // kube-state-metrics replaces the characters of a label's name that Prometheus does not allow.
  ReplaceInAlerts("label_prefetchd_dev_prefetchd",
                  "label_prefetchd_dev_" + base::ReplaceAll(instance, "-", "_"), objects);
}

void AlertOnDaemonSet(const std::string& name, Objects& objects) {
  ReplaceInAlerts("daemonset=~\".*prefetchd.*\"", "daemonset=\"" + name + "\"", objects);
}

}  // namespace prefetch::deploy
