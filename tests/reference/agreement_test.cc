// Readers and schemas agree: documents are changed in all the ways in which people go wrong, and each must be
// valid for both, or for none. A schema cannot know rules between fields; these are named here.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "config/agent_config.h"
#include "config/config_file.h"
#include "list/image_list.h"
#include "reference/validator.h"
#include "rows.h"
#include "status/check_document.h"

namespace prefetch::reference::agreement_test {
namespace {

using doc::Node;
using tests::JsonOf;
using tests::Validated;
using Kind = Node::Kind;
using Strings = std::vector<std::string>;

// The reader's mistakes; empty: it accepts the document.
using ReadBy = std::function<std::string(const std::string& json)>;

// A scalar is no document: it is the text of a plain list, with the name of an image.
std::string ReadList(const std::string& json) {
  if (json != "null" && json.find_first_of("{[\"") != 0) return "list.json: is no document";
  auto content = list::DecodeSource("list.json", json, {.refresh = true, .touch = true});
  return content ? "" : content.error().message();
}

std::string ReadAgent(const std::string& json) {
  doc::Problems problems("agent.yaml");
  auto raw = config::ReadConfigFile(json, problems);
  if (!problems.empty()) return problems.ToStatus().error().message();
  if (!raw) return "it is no YAML";
  auto config = config::Validate(*raw);
  return config ? "" : config.error().message();
}

std::string ReadCheck(const std::string& json) {
  auto request = status::ParseCheckRequest(json);
  return request ? "" : request.error().message();
}

struct Agreement {
  std::string name;
  Document document;
  ReadBy read;
  std::string whole;  // a valid document with every field
  Fields fields;
  std::vector<std::string> rules;  // of the reader, which a schema cannot have: parts of messages
};

// Calls `use` with the document after each change of one place, and puts the place back.
void ChangeEach(Node& root, Node& here, const std::function<void(const std::string&)>& use,
                const std::string& path = "") {
  const Node kept = here;
  for (const char* other : {"null", "true", "5", "-1", "1.5", R"("")", R"("nonsense")", R"("1h")", R"("/a")",
                            "[]", R"(["x"])", "[5]", "{}", R"({"x":"y"})"}) {
    here = JsonOf(other);
    use(path + " = " + other);
  }
  here = kept;
  if (here.kind == Kind::kMapping) {
    here.Set("noSuchField", Node::Bool(true));
    use(path + " with an unknown field");
    here = kept;
    for (std::size_t i = 0; i < here.members.size(); i++) {
      const std::string below = path + "." + here.members[i].key;
      const doc::Member taken = here.members[i];
      here.members.erase(here.members.begin() + static_cast<std::ptrdiff_t>(i));
      use("without " + below);
      here.members.insert(here.members.begin() + static_cast<std::ptrdiff_t>(i), taken);
      ChangeEach(root, here.members[i].value, use, below);
    }
  }
  for (std::size_t i = 0; i < here.items.size(); i++) {
    ChangeEach(root, here.items[i], use, path + "[" + std::to_string(i) + "]");
  }
}

bool IsAboutARule(std::string_view line, const std::vector<std::string>& rules) {
  return line.empty() || std::any_of(rules.begin(), rules.end(), [&](const std::string& rule) {
           return line.find(rule) != std::string_view::npos;
         });
}

bool AreAllAboutRules(const std::string& mistakes, const std::vector<std::string>& rules) {
  const std::vector<std::string_view> lines = base::Split(mistakes, '\n');
  return std::all_of(lines.begin(), lines.end(),
                     [&](std::string_view line) { return IsAboutARule(line, rules); });
}

TEST_TABLE(Agree, OnEveryChange, Agreement) {
  Node root = JsonOf(row.whole);
  ASSERT_EQ(row.read(doc::WriteJson(root)), "");
  std::vector<std::string> changes = {"unchanged"}, documents = {doc::WriteJson(root)};
  ChangeEach(root, root, [&](const std::string& change) {
    changes.push_back(change);
    documents.push_back(doc::WriteJson(root));
  });
  const std::vector<std::string> verdicts = Validated(SchemaOf(row.document), documents);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < documents.size(); i++) {
    const std::string mistakes = row.read(documents[i]);
    const bool valid = verdicts[i] == "ok";
    refused += valid ? 0 : 1;
    if (mistakes.empty()) {
      EXPECT_TRUE(valid) << changes[i] << ": the schema refuses it: " << verdicts[i];
    } else if (valid) {
      EXPECT_TRUE(AreAllAboutRules(mistakes, row.rules))
          << changes[i] << ": the reader refuses it: " << mistakes;
    }
  }
  EXPECT_GT(refused, documents.size() / 2);
}

// "images[].readyAs.secrets" of all that stands in a document.
void CollectPaths(const Node& node, const std::string& path, std::set<std::string>& paths) {
  if (!path.empty()) paths.insert(path);
  for (const doc::Member& member : node.members) {
    CollectPaths(member.value, path.empty() ? member.key : path + "." + member.key, paths);
  }
  for (const Node& item : node.items) CollectPaths(item, path + "[]", paths);
}

// A field that is in no whole document is not compared: a new one needs its place there, too.
TEST_P(Agree, OnEveryField) {
  std::set<std::string> there;
  CollectPaths(JsonOf(GetParam().whole), "", there);
  for (const Field& field : GetParam().fields) {
    // An empty readyAs is a pod without credentials; its members are in the entry.
    if (field.path.starts_with("defaults.readyAs.") || field.path == "images[].readyAs.serviceAccount.uid")
      continue;
    EXPECT_TRUE(there.contains(field.path)) << field.path;
  }
}

constexpr const char* kWholeList = R"({"apiVersion":"prefetchd.dev/v1alpha1","kind":"ImageList",
"defaults":{"required":true,"readyFor":"IfNotPresent","refresh":"IfDigestChanged","refreshInterval":"1h","maxAge":"24h",
"onUnreachable":"Keep","onAccessDenied":"Keep","onTagMissing":"NotReady","onStale":"Keep","priority":3,"open":"Never",
"pullTimeout":"30m","platforms":["linux/amd64"],"nodeSelector":{"pool":"ci"},"readyAs":{},"pin":true,
"pullWindow":{"start":"22:00","end":"06:00","days":["Mon"],"timeZone":"UTC"}},
"images":[{"image":"ghcr.io/acme/runner:v3","required":false,"readyFor":"Always","refresh":"IfDigestChanged",
"refreshInterval":"10m","maxAge":"1h30m","onUnreachable":"NotReady","onAccessDenied":"NotReady","onTagMissing":"Keep",
"onStale":"NotReady","priority":-7,"open":"Always","pullTimeout":"2h","platforms":["linux/amd64","linux/arm64/v8"],
"nodeSelector":{"pool":"gpu"},"pin":false,"pullWindow":{"start":"00:00","end":"24:00","days":["Sat","Sun"],"timeZone":"UTC"},
"readyAs":{"secrets":[{"namespace":"ci","name":"registry","uid":"6f1c"}],
"serviceAccount":{"namespace":"ci","name":"runner"}}},{"image":"nginx"}]})";

// With NeverVerifyAllowlistedImages, an allowlist may be declared, too.
constexpr const char* kWholeAgent = R"({"apiVersion":"prefetchd.dev/v1alpha1","kind":"AgentConfiguration",
"list":["/lists"],"auditIgnore":["registry.k8s.io/*"],"instance":"ci","runtimeEndpoint":"unix:///run/c.sock",
"imageCredentialProviderConfig":"/c","imageCredentialProviderBinDir":"/b","dockerConfig":["/d"],"kubelet":"auto",
"kubeletRoot":"/k","kubeletConfig":"/k/c","kubeletConfigDir":"/k/d","kubeletProc":"/p","kubeletVersion":"1.36.2",
"kubeletRules":"1.37","kubeletVerification":"NeverVerifyAllowlistedImages","kubeletAllowlist":["a.io/b"],
"kubeletApi":true,"kubeletAddress":"10.0.0.7:10250","kubeletCa":"/ca","registry":"auto","registryConfigPath":"/certs",
"registryContainerdConfig":"/cc","registriesConf":"/rc","registrySplitConfigPath":true,"registryHostRoot":"/host",
"registryCa":"/rca","registryHttpProxy":"http://p:1","registryHttpsProxy":"http://p:1","registryNoProxy":"a.io",
"registryTrustedMirrors":["m:5000"],"registryTrustedRealms":["t.io"],"registrySkipMirrors":false,"fetch":"auto","touch":true,
"touchImageVolumes":true,"kubeApi":true,"nodeLabel":true,"nodeResultLabel":"acme.io/images","nodeCondition":true,
"startupTaint":true,"startupTaintKey":"acme.io/cold","gateTimeout":"15m","acceptFleetWideNodeWrites":true,"listen":":9477","local":"/run/p.sock",
"checkPull":true,"fleetTokens":true,"coreDumps":false,"logLevel":"info","logFormat":"json","unpin":false,"once":true,"timeout":"5m",
"pullSecrets":[{"name":"team","path":"/s/.dockerconfigjson","allowRepositories":["a.io/team"],"sources":["t.yaml"]}],
"providerServiceAccount":{"namespace":"ci","name":"pull"},"providerEnvironment":{"AWS_REGION":"eu-west-1"},
"limits":{"parallelPulls":4,"parallelPullsWhenReady":2,"perRegistryPulls":4,"parallelPullsFar":8,"largeImageBytes":2147483648,
"diskMinFreeBytes":0,"diskHighPercent":80,"stallTimeout":"10m","pullLimit":"2h","startJitter":"0s","downloadBytesPerSecond":1000000},
"preflight":{"namespaces":["ci"],"serviceAccounts":["ci/*"],"always":"ask","unlisted":"ask","pull":"any"}})";

constexpr const char* kWholeCheck = R"({"checks":[{"image":"quay.io/acme/app:v1","policy":"Never",
"identity":{"secrets":["team/pull/9a41","team/pull"],"serviceAccount":"team/runner/77"}},{"image":"nginx"}],
"pull":true,"wait":"5s","within":"20s"})";

TEST_ROWS(Schemas, Agree,
          {"List", Document::kList, ReadList, kWholeList, ListFields(),
           Strings{"has no effect", "contradicts", "of the tz database", "must differ from start",
                   "must be from 1m", "must not be shorter", "readyAs is one pod", "must be whole seconds"}},
          {"Agent", Document::kAgent, ReadAgent, kWholeAgent, AgentFields(),
           Strings{"--list: at least one", "needs", "has a meaning only with", "must be from 1s",
                   "must not be more than parallelPulls", "must not be longer than pullLimit",
                   "must be at least", "allowlist", "must be a label of a domain"}},
          {"Check", Document::kCheck, ReadCheck, kWholeCheck, CheckRequestFields(),
           Strings{"must be namespace/name/uid, or namespace/name"}});

}  // namespace
}  // namespace prefetch::reference::agreement_test
