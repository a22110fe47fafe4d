#include "ctl/agent_client.h"

#include <gtest/gtest.h>

#include <string>

#include "ctl/commands.h"
#include "ctl/fake_agent.h"
#include "ctl/ran.h"
#include "rows.h"

namespace prefetch::ctl::agent_client_test {
namespace {

using base::Code;

struct AddressCase {
  std::string name;
  std::string address;
  std::string asked;  // empty: it is no address
};

TEST_TABLE(Address, IsAskedOrRefused, AddressCase) {
  tests::FakeAgent agent;
  auto client = AgentClient::Make(agent, row.address);
  ASSERT_EQ(client.ok(), !row.asked.empty());
  if (!client) {
    EXPECT_EQ(client.error().code(), Code::kInvalidArgument);
    EXPECT_LACKS(client.error().message(), "SECRET");
    return;
  }
  (void)client->StatusJson({});
  EXPECT_EQ(agent.asked().front(), row.asked);
}

TEST_ROWS(Rows, Address, {"Socket", "unix:///run/a.sock", "GET http://localhost/v1/status /run/a.sock"},
          {"Path", "/run/a.sock", "GET http://localhost/v1/status /run/a.sock"},
          {"Url", "http://n1:9477", "GET http://n1:9477/v1/status "},
          {"UrlWithSlashes", "http://n1:9477//", "GET http://n1:9477/v1/status "},
          {"BracketsOfIPv6", "http://[fd00::1]:9477", "GET http://[fd00::1]:9477/v1/status "},
          {"BracketsOfIPv4", "http://[10.0.0.1]:9477", "GET http://10.0.0.1:9477/v1/status "},
          {"RelativeSocket", "unix://run/a.sock", ""}, {"Https", "https://n1:9477", ""},
          {"Host", "n1:9477", ""}, {"Nothing", "", ""}, {"NoHost", "http://", ""},
          {"PortOutOfRange", "http://n1:99999", ""},
          {"UrlWithPath", "http://n1/agent/", "GET http://n1/agent/v1/status "},
          {"Query", "http://n1/agent?q", ""}, {"Fragment", "http://n1#f", ""},
          {"Credentials", "http://u:SECRET@n1:9477", ""}, {"CredentialsOfHttps", "https://u:SECRET@n1", ""});

struct ErrorCase {
  std::string name;
  base::Error error;
  Code code;
  std::string advice;
};

TEST_TABLE(Away, WithWhatHelps, ErrorCase) {
  tests::FakeAgent agent;
  agent.Goes(row.error);
  auto answer = agent.Client().StatusJson({});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code(), row.code);
  EXPECT_TRUE(answer.error().message().starts_with("cannot ask the agent at unix:///run/a.sock: it broke ("));
  EXPECT_HAS(answer.error().message(), row.advice);
}

TEST_ROWS(Rows, Away, {"NoSocket", base::NotFound("it broke"), Code::kNotFound, "Name another with --agent"},
          {"NotForUs", base::PermissionDenied("it broke"), Code::kPermissionDenied, "run as root"},
          {"NobodyThere", base::Unavailable("it broke"), Code::kUnavailable, "is prefetchd running"},
          {"Late", base::DeadlineExceeded("it broke"), Code::kDeadlineExceeded, "see its log"},
          {"EndlessIsNoPatience", base::ResourceExhausted("it broke"), Code::kInternal,
           "is that a prefetchd?"});

struct CheckCase {
  std::string name;
  int status;
  std::string body;
  Code code;
  std::string says;
};

TEST_TABLE(Refusal, OfACheckHasItsCode, CheckCase) {
  tests::FakeAgent agent;
  agent.Answers("/v1/check", row.status, row.body);
  auto result = agent.Client().Check({}, {.questions = {{}}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code(), row.code) << result.error().message();
  EXPECT_HAS(result.error().message(), row.says);
}

TEST_ROWS(Rows, Refusal,
          {"NoPull", 403, R"({"error":"not from here"})", Code::kPermissionDenied, "refuses: not from here"},
          {"BadToken", 401, R"({"error":"it has expired"})", Code::kPermissionDenied,
           "refuses the token: it has expired"},
          {"OlderAgent", 400, R"({"error":"unknown field"})", Code::kInvalidArgument,
           "unknown field (is it as new as this prefetchctl?)"},
          {"NoWords", 400, "<html>", Code::kInvalidArgument, "it does not say why"},
          {"Busy", 429, "", Code::kResourceExhausted, "it is busy"},
          {"BusyToo", 503, "", Code::kResourceExhausted, "it is busy"},
          {"Stranger", 404, "", Code::kInternal, "is that a prefetchd"},
          {"NoAnswer", 200, R"({"apiVersion":"prefetchd.dev/v1","kind":"CheckResult","answers":[]})",
           Code::kInternal, "gave an unexpected answer"});

TEST(AgentClient, PassesNoTerminalCodesOn) {
  tests::FakeAgent agent;
  agent.Answers("/v1/check", 400, "{\"error\":\"\\u001b[31mred\"}");
  EXPECT_EQ(agent.Client().Check({}, {.questions = {{}}}).error().message().find('\x1b'), std::string::npos);
}

TEST(AgentClient, ADocumentThatIsNoneSaysWhoSentIt) {
  tests::FakeAgent agent;
  agent.Answers("/v1/status", 200, "[]");
  auto status = agent.Client().Status({});
  ASSERT_FALSE(status);
  EXPECT_HAS(status.error().message(), "the agent at unix:///run/a.sock sent no status document");
}

struct ExplainCase {
  std::string name;
  std::string image;
  int status;
  std::string body;
  int exit;
  std::string says;  // on standard error
};

TEST_TABLE(Explained, EndsWithItsCode, ExplainCase) {
  tests::FakeAgent agent;
  agent.Answers("/v1/images/" + row.image, row.status, row.body);
  ExplainOptions options{.image = row.image, .timeout = std::chrono::seconds(5), .json = true};
  Ran ran = tests::Run([&](auto& out, auto& err) { return Explain({}, agent.Client(), options, out, err); });
  EXPECT_EQ(ran.exit, row.exit);
  EXPECT_EQ(ran.out, row.exit == kOk ? row.body : "");
  EXPECT_HAS(ran.err, row.says);
}

const std::string kImage =
    R"({"apiVersion":"prefetchd.dev/v1","kind":"ImageStatus","node":"n","image":"q.io/a:v1"})";

TEST_ROWS(Rows, Explained, {"Known", "q.io/a:v1", 200, kImage, kOk, ""},
          {"NotOnTheList", "q.io/a:v1", 404, kImage, kOk, ""},
          {"NoName", "q.io/A", 200, kImage, kBadInput, "lowercase"},
          {"Refused", "q.io/a:v1", 400, "", kBadInput, "refuses"},
          {"NotOverTheNetwork", "q.io/a:v1", 404, R"({"error":"no such path"})", kUnreachable,
           "local socket"},
          {"Stranger", "q.io/a:v1", 200, "<html>", kUnreachable, "the agent's answer"},
          {"Busy", "q.io/a:v1", 503, "", kUnreachable, "busy"});

}  // namespace
}  // namespace prefetch::ctl::agent_client_test
