"""Each alert, fired by promtool: what a node says, and when it is told to somebody."""

import json
import os
import subprocess
import tempfile

from render import of_kind

NODE = 'namespace="prefetchd",node="n1"'
LABELLED = 'kube_node_labels{label_prefetchd_dev_prefetchd="ready"}'
OUTSIDE = 'prefetchd_entries{state="Progressing",reason="OutsidePullWindow",required="true"}'
MISSING = 'prefetchd_entries{state="Progressing",reason="Queued",required="true"}'
# Alert, series (the node's labels are added; with values of its own, or not), values as promtool writes them, minutes until
# it fires, its labels besides.
FIRES = [
    ("PrefetchdNodeNotReady", ["prefetchd_ready"], "0x300", 30, NODE),
    # One image more than those that wait for their pullWindow.
    ("PrefetchdNodeNotReady", ["prefetchd_ready", (OUTSIDE, "2x300"), (MISSING, "1x300")], "0x300", 30, NODE),
    ("PrefetchdNodeFailing", ['prefetchd_readiness_info{phase="Failing",reason="ImagesNotReady"}'], "1x300", 10,
     NODE + ',phase="Failing",reason="ImagesNotReady"'),
    ("PrefetchdImagesFailing", ['prefetchd_entries{state="Failing",reason="NotFound",required="true"}'], "2x300", 15,
     'namespace="prefetchd",reason="NotFound"'),
    ("PrefetchdImagesClosed",
     ['prefetchd_image_verdicts{policy="Never",result="Refused",reason="RecordedForOthers"}'], "1x300", 5,
     NODE + ',reason="RecordedForOthers"'),
    ("PrefetchdKubeletUnknown",
     ['prefetchd_image_verdicts{policy="Never",result="Unknown",reason="FactsUnknown"}'], "1x300", 15, NODE),
    ("PrefetchdKubeletNewer", ["prefetchd_kubelet_newer"], "1x300", 15, NODE),
    ("PrefetchdRecordsUnreadable", ["prefetchd_kubelet_records_readable"], "0x300", 5, NODE),
    ("PrefetchdKubeletContradicted", ["prefetchd_kubelet_contradictions"], "1x300", 10, NODE),
    ("PrefetchdListRefused", ['prefetchd_list_source_error{source="images.yaml"}'], "1x300", 1,
     'namespace="prefetchd",source="images.yaml"'),
    ("PrefetchdListsDiffer", ['prefetchd_list_info{hash="a"}', 'prefetchd_list_info{hash="b"}'], "1x300", 60,
     'namespace="prefetchd"'),
    ("PrefetchdRuntimeDown", ["prefetchd_runtime_up"], "0x300", 5, NODE),
    ("PrefetchdDiskPressure", ["prefetchd_disk_pressure"], "1x300", 10, NODE),
    # The rate is seen from the second sample on.
    ("PrefetchdCredentialProviderFails",
     ['prefetchd_credential_lookups_total{source="provider",outcome="error"}'], "0+1x300", 16, NODE),
    ("PrefetchdUnlistedImages", ["prefetchd_unlisted_images"], "2x300", 60, NODE),
    ("PrefetchdProblems", ["prefetchd_problems"], "1x300", 10, NODE),
    ("PrefetchdAgentsMissing", ["unrelated"], "1x300", 15, ""),
    ("PrefetchdAgentDown", ['up{job="prefetchd/prefetchd"}'], "0x300", 15, NODE + ',job="prefetchd/prefetchd"'),
    ("PrefetchdPodsUnavailable", [('kube_daemonset_status_desired_number_scheduled{daemonset="prefetchd"}', "3x300"),
                                  'kube_daemonset_status_number_available{daemonset="prefetchd"}'], "2x300", 30,
     'namespace="prefetchd",daemonset="prefetchd"'),
    # One of two nodes without a ready agent waits for a pullWindow.
    ("PrefetchdPodsUnavailable", [('kube_daemonset_status_desired_number_scheduled{daemonset="prefetchd"}', "3x300"),
                                  'kube_daemonset_status_number_available{daemonset="prefetchd"}', (OUTSIDE, "2x300")],
     "1x300", 30, 'namespace="prefetchd",daemonset="prefetchd"'),
    # No agent at all; one that is not ready and cannot say so on its Node; one that has gone.
    ("PrefetchdLabelStale", [LABELLED], "1x300", 15, 'node="n1"'),
    ("PrefetchdLabelStale", [LABELLED, ("prefetchd_ready", "0x300")], "1x300", 15, 'node="n1"'),
    ("PrefetchdLabelStale", [LABELLED, ("prefetchd_ready", "1x10 stale")], "1x300", 26, 'node="n1"'),
]
# What is as it should be: nothing fires.
GOOD = ["prefetchd_build_info 1", "prefetchd_ready 1", 'prefetchd_readiness_info{phase="Ready",reason="AllReady"} 1',
        'prefetchd_entries{state="Failing",reason="NotFound",required="false"} 1',
        'prefetchd_image_verdicts{policy="Never",result="Refused",reason="ImageAbsent"} 1',
        'prefetchd_image_verdicts{policy="Always",result="Unknown",reason="FactsUnknown"} 1',
        "prefetchd_kubelet_newer 0", "prefetchd_kubelet_records_readable 1", "prefetchd_kubelet_contradictions 0",
        'prefetchd_list_source_error{source="images.yaml"} 0', 'prefetchd_list_info{hash="a"} 1', "prefetchd_runtime_up 1",
        "prefetchd_disk_pressure 0", 'prefetchd_credential_lookups_total{source="provider",outcome="error"} 3',
        "prefetchd_unlisted_images 0", "prefetchd_problems 0", LABELLED + " 1",
        'kube_node_labels{label_prefetchd_dev_prefetchd="notready",node="n2"} 1', 'up{job="prefetchd/prefetchd"} 1',
        'up{job="other"} 0', 'kube_daemonset_status_desired_number_scheduled{daemonset="prefetchd"} 3',
        'kube_daemonset_status_number_available{daemonset="prefetchd"} 3',
        'kube_daemonset_status_desired_number_scheduled{daemonset="other"} 3',
        'kube_daemonset_status_number_available{daemonset="other"} 2',
        # The pods of a touch DaemonSet never become ready.
        'kube_daemonset_status_desired_number_scheduled{daemonset="prefetchd-touch-1",namespace="prefetchd-touch"} 3',
        'kube_daemonset_status_number_available{daemonset="prefetchd-touch-1",namespace="prefetchd-touch"} 0']


# A node that waits for a pullWindow only, beside a ready one.
OUTSIDE_WINDOW = ["prefetchd_build_info 1", "prefetchd_ready 0", OUTSIDE + " 2",
                  'prefetchd_entries{state="Ready",reason="Present",required="true"} 3',
                  'prefetchd_entries{state="Failing",reason="NotFound",required="false"} 1', "prefetchd_retries_waiting 0",
                  'prefetchd_readiness_info{phase="Progressing",reason="ImagesNotReady"} 1',
                  'kube_daemonset_status_desired_number_scheduled{daemonset="prefetchd"} 2',
                  'kube_daemonset_status_number_available{daemonset="prefetchd"} 1']


def on_node(series):
    name, _, labels = series.partition("{")
    if "node=" in labels:
        return series
    if "namespace=" in labels:
        return f'{name}{{node="n1",{labels}'
    return f"{name}{{{NODE}{',' + labels if labels else '}'}"


def promtool(documents, series, expectations):
    """Problems; `expectations`: (minutes, alerts that fire, as labels without their severity)."""
    (rules,) = of_kind(documents, "PrometheusRule")
    tests = [{"interval": "1m", "input_series": [{"series": on_node(one), "values": values} for one, values in series],
              "promql_expr_test": [
                  {"expr": 'sum without (severity) (ALERTS{alertstate="firing"})', "eval_time": f"{minutes}m",
                   "exp_samples": [{"labels": labels, "value": 1} for labels in alerts]}
                  for minutes, alerts in expectations]}]
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "rules.json"), "w", encoding="utf-8") as out:
            json.dump(rules["spec"], out)
        with open(os.path.join(folder, "test.json"), "w", encoding="utf-8") as out:
            json.dump({"rule_files": ["rules.json"], "evaluation_interval": "1m", "tests": tests}, out)
        result = subprocess.run(["promtool", "test", "rules", "test.json"], cwd=folder, capture_output=True, text=True)
    return [] if result.returncode == 0 else [result.stdout + result.stderr]


def check_alert(documents, row):
    alert, series, values, minutes, labels = row
    fires = f'{{alertname="{alert}",alertstate="firing"{"," + labels if labels else ""}}}'
    there = [] if alert == "PrefetchdAgentsMissing" else [("prefetchd_build_info", "1x300")]
    return promtool(documents, [one if isinstance(one, tuple) else (one, values) for one in series] + there, [(minutes - 1, []), (minutes + 1, [fires])])


def check_quiet(documents, series):
    return promtool(documents, [(one.rsplit(" ", 1)[0], one.rsplit(" ", 1)[1] + "x300") for one in series], [(200, [])])


def check_same_on_gke(documents, on_gke):
    """Managed Service for Prometheus gets the same alerts; each group says how often."""
    (rules,), (theirs,) = of_kind(documents, "PrometheusRule"), of_kind(on_gke, "ClusterRules")
    groups = [dict(group, interval="1m") for group in rules["spec"]["groups"]]
    return [] if theirs["spec"]["groups"] == groups else ["the groups differ"]


def check_all_alerts_are_tried(documents):
    (rules,) = of_kind(documents, "PrometheusRule")
    there = {rule["alert"] for group in rules["spec"]["groups"] for rule in group["rules"] if "alert" in rule}
    return sorted(there ^ {row[0] for row in FIRES})
