// Tests on a real API server: the agent writes to its Node with the shipped rights, and the shipped policies
// refuse other writes.
#include <gtest/gtest.h>

#include "cluster/as_pod.h"
#include "rig/expect_ok.h"

namespace prefetch::cluster::gate_test {
namespace {

constexpr const char* kNode = "/api/v1/nodes/n1";

std::string LabelOf(const doc::Node& node) {
  return doc::TextAt(node, {"metadata", "labels", "prefetchd.dev/prefetchd"});
}

doc::Node OurCondition(const doc::Node& node) {
  for (const doc::Node& condition : doc::ItemsAt(node, {"status", "conditions"})) {
    if (doc::TextAt(condition, {"type"}) == "ImagesPrefetched") return condition;
  }
  return {};
}

std::string ConditionOf(const doc::Node& node) {
  const doc::Node condition = OurCondition(node);
  return doc::TextAt(condition, {"status"}) + "/" + doc::TextAt(condition, {"reason"});
}

std::string ConditionMessageOf(const doc::Node& node) {
  return doc::TextAt(OurCondition(node), {"message"});
}

std::string TaintsOf(const doc::Node& node) {
  std::string keys;
  for (const doc::Node& taint : doc::ItemsAt(node, {"spec", "taints"}))
    keys += doc::TextAt(taint, {"key"}) + " ";
  return keys;
}

bool IsTainted(const doc::Node& node) {
  return TaintsOf(node).find("prefetchd.dev/not-ready") != std::string::npos;
}

std::string VersionOf(const doc::Node& node) {
  return doc::TextAt(node, {"metadata", "resourceVersion"});
}

// In no version of the Node the taint was away before the condition was true, and it came back never.
void ExpectTaintHeld(const std::vector<doc::Node>& versions) {
  EXPECT_FALSE(versions.empty());
  bool gone = false;
  for (const doc::Node& node : versions) {
    const std::string told = VersionOf(node) + ": " + TaintsOf(node) + ConditionOf(node);
    EXPECT_FALSE(gone && IsTainted(node)) << "a startup taint comes back never: " << told;
    const bool just_gone = !gone && !IsTainted(node);
    EXPECT_TRUE(!just_gone || ConditionOf(node).starts_with("True/")) << "the taint went too early: " << told;
    gone = gone || just_gone;
  }
}

TEST(Gate, LabelConditionAndStartupTaintThroughTheShippedRights) {
  ASSERT_NE(SharedControlPlane(), nullptr);
  RealNode node(*SharedControlPlane());
  AsPod as_pod(node, {"node-gate"});
  const std::string image = node.Push("team/app"), second = node.Push("team/tool");
  node.node().HasList({image});
  ApiAnswer tainted = node.api().MergePatch(
      kNode, R"({"spec":{"taints":[{"key":"prefetchd.dev/not-ready","effect":"NoSchedule"},)"
             R"({"key":"owner.test/other","effect":"NoSchedule"}]}})");
  ASSERT_TRUE(tainted.ok());
  node.host().proxy().Freeze(true);
  node.StartAgent({"--node-label", "--node-condition", "--startup-taint"});
  auto says = [&](const std::string& label, const std::string& condition) {
    return rig::Eventually(seconds(30), [&] {
      doc::Node is = node.api().Get(kNode).body;
      return LabelOf(is) == label && ConditionOf(is).starts_with(condition);
    });
  };
  EXPECT_TRUE(says("notready", "False/")) << node.api().Get(kNode).text;
  // A round of writes ends with the taint. Once the next one has begun, the first one has done what it does.
  node.node().HasList({image, second});
  EXPECT_TRUE(rig::Eventually(seconds(30), [&] {
    doc::Node is = node.api().Get(kNode).body;
    return !IsTainted(is) || ConditionMessageOf(is).starts_with("0 of 2 required");
  }));
  const ApiAnswer still = node.api().Get(kNode);
  ASSERT_TRUE(IsTainted(still.body)) << "while no required image is here: " << still.text;
  node.host().proxy().Freeze(false);
  EXPECT_TRUE(says("ready", "True/")) << node.node().AgentLog();
  EXPECT_TRUE(rig::Eventually(seconds(10), [&] {
    return TaintsOf(node.api().Get(kNode).body) == "owner.test/other ";
  })) << TaintsOf(node.api().Get(kNode).body);
  // Closed by a pod with a secret of its own: it is told within seconds.
  MakeNamespace(node.api(), "team-a");
  PutPullSecret(node.api(), "team-a", "pull", kHost, kBob.name, kBob.password);
  node.HasCredentials(false);
  node.pods().Ask({.policy = "Always", .images = {image}, .namespace_name = "team-a", .secrets = {"pull"}});
  EXPECT_TRUE(says("notready", "False/")) << node.node().AgentLog();
  EXPECT_EQ(node.pods().Ask({.images = {image}})[0].answer, PodAnswer::kRefused);
  EXPECT_EQ(TaintsOf(node.api().Get(kNode).body), "owner.test/other ");
  ExpectTaintHeld(node.api().VersionsSince("/api/v1/nodes", "n1", VersionOf(tainted.body)));
  EXPECT_EQ(node.node().AgentLog().find("is forbidden"), std::string::npos)
      << "the shipped rights are enough";
}

// One write, and what the server has to say to it.
struct Write {
  const char* what;
  const char* method;  // MERGE, STATUS (a merge patch of the status), POST, DELETE, GET
  const char* path;
  const char* body;
  const char* refusal;  // a part of the message; "": it is allowed; "RBAC": 403
};

ApiAnswer Send(Api& api, const Write& write) {
  const std::string method = write.method;
  if (method == "MERGE") return api.MergePatch(write.path, write.body);
  if (method == "POST") return api.Post(write.path, write.body);
  if (method == "DELETE") return api.Delete(write.path);
  return api.Get(write.path);
}

constexpr const char* kEventsPath = "/api/v1/namespaces/default/events";
constexpr const char* kLabelRefused = "an agent changes no labels but those below prefetchd.dev/";
constexpr const char* kTaintRefused = "an agent changes no taints but its startup taint";
constexpr const char* kStatusRefused = "an agent changes nothing else of a node's status";
constexpr const char* kSpecRefused = "an agent changes nothing else of a node's spec";
constexpr const char* kOwnNode = "an agent writes only to the node that its token was issued for";
constexpr const char* kOwnEvents = "an agent tells events only of the node that its token was issued for";

constexpr const char* kEventBody =
    R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e1"},"source":{"component":"prefetchd"},)"
    R"("involvedObject":{"kind":"Node","name":"n1"},"reason":"R","message":"m","type":"Normal"})";

constexpr const char* kEventOfAnotherNode =
    R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e2"},"source":{"component":"prefetchd"},)"
    R"("involvedObject":{"kind":"Node","name":"n2"},"reason":"R","message":"m","type":"Normal"})";

const Write kWrites[] = {
    {"its own label", "MERGE", kNode, R"({"metadata":{"labels":{"prefetchd.dev/prefetchd":"ready"}}})", ""},
    {"its own label away", "MERGE", kNode, R"({"metadata":{"labels":{"prefetchd.dev/prefetchd":null}}})", ""},
    {"a label of somebody else", "MERGE", kNode, R"({"metadata":{"labels":{"team":"a"}}})", kLabelRefused},
    {"a role", "MERGE", kNode, R"({"metadata":{"labels":{"node-role.kubernetes.io/control-plane":""}}})",
     kLabelRefused},
    {"a label away", "MERGE", kNode, R"({"metadata":{"labels":{"kubernetes.io/os":null}}})", kLabelRefused},
    {"another value of a label", "MERGE", kNode, R"({"metadata":{"labels":{"kubernetes.io/os":"plan9"}}})",
     kLabelRefused},
    {"an annotation", "MERGE", kNode, R"({"metadata":{"annotations":{"a":"b"}}})",
     "annotations, finalizers or owners"},
    {"a finalizer", "MERGE", kNode, R"({"metadata":{"finalizers":["a.test/b"]}})",
     "annotations, finalizers or owners"},
    {"an owner", "MERGE", kNode,
     R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n2","uid":"u"}]}})",
     "annotations, finalizers or owners"},
    {"a taint", "MERGE", kNode,
     R"({"spec":{"taints":[{"key":"owner.test/other","effect":"NoSchedule"},{"key":"a","effect":"NoExecute"}]}})",
     kTaintRefused},
    {"its own taint, added", "MERGE", kNode,
     R"({"spec":{"taints":[{"key":"owner.test/other","effect":"NoSchedule"},)"
     R"({"key":"prefetchd.dev/not-ready","effect":"NoSchedule"}]}})",
     kTaintRefused},
    {"another's taint away", "MERGE", kNode, R"({"spec":{"taints":[]}})", kTaintRefused},
    {"unschedulable", "MERGE", kNode, R"({"spec":{"unschedulable":true}})", kSpecRefused},
    {"a provider", "MERGE", kNode, R"({"spec":{"providerID":"a://b"}})", kSpecRefused},
    {"addresses", "MERGE", "/api/v1/nodes/n1/status",
     R"({"status":{"addresses":[{"type":"InternalIP","address":"192.0.2.9"}]}})", kStatusRefused},
    {"capacity", "MERGE", "/api/v1/nodes/n1/status", R"({"status":{"capacity":{"cpu":"1000"}}})",
     kStatusRefused},
    {"images", "MERGE", "/api/v1/nodes/n1/status", R"({"status":{"images":[{"names":["a"]}]}})",
     kStatusRefused},
    {"conditions of others", "MERGE", "/api/v1/nodes/n1/status", R"({"status":{"conditions":[]}})",
     "an agent changes no condition but ImagesPrefetched"},
    {"another node", "MERGE", "/api/v1/nodes/n2",
     R"({"metadata":{"labels":{"prefetchd.dev/prefetchd":"ready"}}})", kOwnNode},
    {"a new node", "POST", "/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n3"}})",
     "RBAC"},
    {"its node away", "DELETE", kNode, "", "RBAC"},
    {"all nodes", "GET", "/api/v1/nodes", "", "RBAC"},
    {"secrets", "GET", "/api/v1/namespaces/prefetchd/secrets", "", "RBAC"},
    {"pods", "GET", "/api/v1/namespaces/prefetchd/pods", "", "RBAC"},
    {"kubelet through the server", "GET", "/api/v1/nodes/n1/proxy/configz", "", "RBAC"},
    {"a pod", "POST", "/api/v1/namespaces/prefetchd/pods",
     R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})",
     "RBAC"},
    {"an event of its node", "POST", kEventsPath, kEventBody, ""},
    {"an event of another node", "POST", kEventsPath, kEventOfAnotherNode, kOwnEvents},
    {"an event in kubelet's name", "POST", kEventsPath,
     R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e3"},"source":{"component":"kubelet"},)"
     R"("involvedObject":{"kind":"Node","name":"n1"},"reason":"R","message":"m","type":"Normal"})",
     "in its own name"},
};

void ExpectRefused(const ApiAnswer& answer, const std::string& refusal) {
  if (refusal.empty()) {
    EXPECT_TRUE(answer.ok()) << answer.text;
  } else if (refusal == "RBAC") {
    EXPECT_EQ(answer.status, 403) << answer.text;
  } else {
    EXPECT_EQ(answer.status, 422) << answer.text;
    EXPECT_NE(answer.text.find(refusal), std::string::npos) << answer.text;
  }
}

TEST(Gate, TheServerRefusesWhatThePoliciesForbid) {
  ASSERT_NE(SharedControlPlane(), nullptr);
  RealNode node(*SharedControlPlane());
  AsPod as_pod(node, {"node-gate"});
  ASSERT_TRUE(
      node.api()
          .MergePatch(kNode, R"({"spec":{"taints":[{"key":"owner.test/other","effect":"NoSchedule"}]}})")
          .ok());
  EXPECT_TRUE(
      node.api().Post("/api/v1/nodes", R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n2"}})").ok());
  Api agent = as_pod.Agent();
  as_pod.WaitForPolicy(kLabelRefused, [&] {
    return agent.MergePatch(std::string(kNode) + "?dryRun=All", R"({"metadata":{"labels":{"team":"a"}}})");
  });
  // Events have a policy of their own.
  as_pod.WaitForPolicy(
      kOwnEvents, [&] { return agent.Post(std::string(kEventsPath) + "?dryRun=All", kEventOfAnotherNode); });
  for (const Write& write : kWrites) {
    SCOPED_TRACE(write.what);
    ExpectRefused(Send(agent, write), write.refusal);
  }
  // A token that names no node, or another one, writes nothing here.
  Api anywhere = agent.As(as_pod.Token("")), elsewhere = agent.As(as_pod.Token("n2"));
  for (Api* api : {&anywhere, &elsewhere}) {
    ExpectRefused(Send(*api, kWrites[0]), kOwnNode);
    ExpectRefused(Send(*api, {"", "POST", kEventsPath, kEventBody, ""}), kOwnEvents);
  }
  (void)node.api().Delete("/api/v1/nodes/n2");
}

}  // namespace
}  // namespace prefetch::cluster::gate_test
