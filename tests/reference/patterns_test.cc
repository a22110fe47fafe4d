// Patterns of the schemas, value by value: reader and schema accept the same ones. Rules that no pattern can
// have are in agreement_test.cc.
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <vector>

#include "config/agent_config.h"
#include "config/config_file.h"
#include "deploy/kustomization.h"
#include "doc/json.h"
#include "image/kubelet_version.h"
#include "list/image_list.h"
#include "reference/validator.h"
#include "rows.h"

namespace prefetch::reference::patterns_test {
namespace {

using tests::Validated;
using Strings = std::vector<std::string>;

struct ValueCase {
  std::string name;
  Document document;
  std::string before, after;  // of the value in JSON
  std::vector<std::string> accepted, refused;
};

bool IsRead(Document document, const std::string& json) {
  if (document == Document::kList) {
    return static_cast<bool>(list::DecodeSource("list.json", json, {.refresh = true, .touch = true}));
  }
  doc::Problems problems("agent.yaml");
  auto raw = config::ReadConfigFile(json, problems);
  if (!raw || !problems.empty()) return false;
  raw->given["list"] = config::SourcedTexts{{"/lists"}, "--list"};
  return static_cast<bool>(config::Validate(*raw));
}

TEST_TABLE(Values, AreAcceptedOrRefusedByReaderAndSchema, ValueCase) {
  std::vector<std::string> values = row.accepted, documents;
  values.insert(values.end(), row.refused.begin(), row.refused.end());
  for (const std::string& value : values) documents.push_back(row.before + "\"" + value + "\"" + row.after);
  const std::vector<std::string> verdicts = Validated(SchemaOf(row.document), documents);
  for (std::size_t i = 0; i < values.size(); i++) {
    const bool wanted = i < row.accepted.size();
    EXPECT_EQ(IsRead(row.document, documents[i]), wanted) << "the reader, " << values[i];
    EXPECT_EQ(verdicts[i] == "ok", wanted) << "the schema, " << values[i] << ": " << verdicts[i];
  }
}

std::string Hex(std::size_t digits) {
  return std::string(digits, 'a');
}

const std::string kListHead = R"({"apiVersion":"prefetchd.dev/v1alpha1","kind":"ImageList","images":[)";
const std::string kAgentHead = R"({"apiVersion":"prefetchd.dev/v1alpha1","kind":"AgentConfiguration",)";
const std::vector<std::string> kNoDurations = {"",  "1",  "1d", "h",    "1h30", "one hour", "1 h", "-1h",
                                               "0", "0s", "-0", "0h0m", ".s",   "1,5h",     "1H"};

TEST_ROWS(
    Schemas, Values,
    {"Reference", Document::kList, kListHead + R"({"image":)", "}]}",
     Strings{"nginx", "library/nginx", "a.b", "a__b/c--d_e", "localhost/app", "localhost:5000/app:v1",
             "Reg/app", "reg.io:05000/a/b.c:V_1.2-x", "[::1]:5000/app", "[fe80::1]/app",
             "index.docker.io/nginx", "q.io/a@sha256:" + Hex(64), "q.io/a:v1@sha512:" + Hex(128),
             "a:" + std::string(128, 'x'), "foo-bar/baz", Hex(63), "xn--nxasmq6b.example/app",
             "1.2.3.4:65535/a", "q_x.io/a"},
     Strings{"",
             "/nginx",
             "nginx/",
             "Nginx",
             "q.io/Nginx",
             "q.io/a b",
             " nginx",
             "q.io/a:",
             "q.io/a:.v1",
             "a:" + std::string(129, 'x'),
             "https://q.io/a",
             "docker://q.io/a",
             "user@q.io/a",
             "q.io/a@sha256:abc",
             "q.io/a@md5:" + Hex(32),
             "q.io/a@sha256:" + std::string(64, 'A'),
             "q.io/a@sha256:" + Hex(65),
             Hex(64),
             "q.io:0/a",
             "q.io:65536/a",
             "q.io:99999/a",
             "q.io:/a",
             "q..io/a",
             "-q.io/a",
             "a___b",
             "a.-b/c",
             "q.io//a",
             "[::1/a",
             "[]/a",
             "a:v1:v2",
             std::string(64, 'l') + ".io/a",
             "q.io/a:v1@"}},
    {"RefreshInterval", Document::kList,
     kListHead + R"({"image":"a","refresh":"IfDigestChanged","refreshInterval":)", "}]}",
     Strings{"1m", "60s", "1h30m", "+2h", "1.5h", "90.0s", "0h61s", "60000ms", "24h"},
     [] {
       std::vector<std::string> refused = kNoDurations;
       for (const char* one : {"59s", "1s", "059s", "30.5s", "+5s"}) refused.emplace_back(one);
       return refused;
     }()},
    {"PullTimeout", Document::kList, kListHead + R"({"image":"a","pullTimeout":)", "}]}",
     Strings{"1m", "60s", "2h"}, kNoDurations},
    {"StartJitter", Document::kAgent, kAgentHead + R"("limits":{"startJitter":)", "}}",
     Strings{"0s", "0", "5m", "-0s"}, Strings{"-1s", "1", "", "never"}},
    {"StallTimeout", Document::kAgent, kAgentHead + R"("limits":{"stallTimeout":)", "}}",
     Strings{"1m", "10m"}, kNoDurations},
    {"GateTimeout", Document::kAgent, kAgentHead + R"("gateTimeout":)", "}", Strings{"15m", "1ns", ".5h"},
     kNoDurations},
    {"KubeletVersion", Document::kAgent, kAgentHead + R"("kubeletVersion":)", "}",
     Strings{image::kOldestKnownKubelet.ToString(), "v1.34.9", "1.34.1-eks-a1b2", "1.34.1+k3s1", "1.100",
             "2.0", "10.4", "01.031", image::kNewestKnownKubelet.ToString()},
     Strings{"1.30", "1.20", "1.30.9", "0.9", "1", "1.", "v", "1.x", "1.34.1.2", "1.34.", "1.34.x", "1.00031",
             "latest", "V1.34", "1,34"}},
    {"KubeletRules", Document::kAgent, kAgentHead + R"("kubeletRules":)", "}",
     Strings{image::kOldestKnownKubelet.ToString(), image::kNewestKnownKubelet.ToString(), "1.33", "v1.36.2"},
     Strings{"1.30", "1." + std::to_string(image::kNewestKnownMinor + 1), "1.99", "2.31", "1", "newest"}},
    {"Listen", Document::kAgent, kAgentHead + R"("listen":)", "}",
     Strings{":9477", "127.0.0.1:0", "[::1]:9477", "localhost:65535", ":09477"},
     Strings{"9477", ":", "127.0.0.1", ":65536", "::1:9477", ":-1", ":http", "[]:1"}},
    {"KubeletAddress", Document::kAgent, kAgentHead + R"("kubeletApi":true,"kubeletAddress":)", "}",
     Strings{"10.0.0.7:10250", "[fd00::7]:10250", "node:1"},
     Strings{":10250", "10.0.0.7:0", "10.0.0.7", "10.0.0.7:70000"}});

// A reference from another schema, or an editor's cache, needs a name of its own for each.
TEST(Ids, AreDistinct) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; i < std::size(deploy::kSchemas); i++) {
    const std::string name = deploy::kSchemas[i];
    const doc::Node schema = SchemaOf(static_cast<Document>(i));
    ASSERT_NE(schema.Find("$id"), nullptr) << name;
    EXPECT_TRUE(schema.Find("$id")->text.ends_with("/" + name + ".json")) << schema.Find("$id")->text;
    for (const std::string& other : ids) EXPECT_NE(schema.Find("$id")->text, other);
    ids.push_back(schema.Find("$id")->text);
  }
}

}  // namespace
}  // namespace prefetch::reference::patterns_test
